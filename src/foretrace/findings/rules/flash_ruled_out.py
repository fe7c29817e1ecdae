"""An argument keeps flash (and often cuDNN) from a call, so a slower fused backend runs.

## What it looks for

Calls that ran on the memory-efficient backend where the dispatch rules name an argument that rules out flash: the
dtype, a mask, the head size, unequal head sizes of K and V, unequal heads.

## Why it matters

The memory-efficient kernel takes nearly every call, and so hides that an argument (often one nobody needs) keeps the
faster kernels away. How much faster they would be depends on the device and the shape: a trace of the one does not
show the other.

## How to confirm it

`foretrace why TRACE` gives the first thing in the way for every backend. Change it and compare the two traces.

## What usually helps

fp32 inputs: cast to bf16 (autocast does not always cover the call). A mask: `is_causal` where it is the causal one. A
head size that is no multiple of 8, or K and V of different sizes: pad once in the weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.backends import verdicts
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.findings.rules.explicit_mask import may_be_causal
from foretrace.findings.sdpa_calls import SdpaKind, mask_text, shape_text
from foretrace.trace.distinct import is_among
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code="FT116", name="flash-ruled-out", needs=Needs.OPS | Needs.LAUNCHES | Needs.SHAPES, since="0.1")

_NOT_THE_CALLERS: Final = frozenset({None, "arch", "other"})
_WORDS: Final[dict[str, str]] = {
    "dtype": "the dtype",
    "attn_mask": "the mask",
    "mask_dtype": "the mask's dtype",
    "head_dim": "the head size",
    "causal_lengths": "is_causal with unequal lengths",
    "last_dim_stride": "the stride of the last dimension",
    "num_heads": "unequal head counts",
    "seq_len": "the length",
    "dropout": "dropout",
    "grad": "gradients",
}
_CHANGES: Final[dict[str, str]] = {
    "dtype": "cast q, k and v to bf16 before the call (autocast does not always cover it)",
    "attn_mask": "pass no mask where it is not needed; is_causal=True where it is the causal one",
    "head_dim": "make the head sizes of q, k and v equal and a multiple of 8, padded once in the weights",
    "causal_lengths": "say which corner is meant: torch.nn.attention.bias.causal_lower_right(Lq, Lk)",
    "last_dim_stride": "make the last dimension of q, k and v contiguous",
    "num_heads": "pass enable_gqa=True, or repeat K and V, and measure both",
}


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding for each argument that rules flash out."""
    facts = facts_of(trace)
    sdpa = facts.sdpa
    by_reason: dict[str, list[int]] = {}
    for number, kind in enumerate(sdpa.kinds):
        # A mask that may be the causal one is the matter of another rule.
        if kind.backend != "efficient" or may_be_causal(kind):
            continue
        flash = verdicts(facts, kind).get("flash")
        if flash is not None and not flash.eligible and flash.reason not in _NOT_THE_CALLERS:
            by_reason.setdefault(str(flash.reason), []).append(number)
    for reason, numbers in by_reason.items():
        yield _finding(facts, reason, numbers)


def _finding(facts: Facts, reason: str, numbers: list[int]) -> Finding:
    sdpa = facts.sdpa
    calls = np.flatnonzero(is_among(sdpa.kind, numbers))
    kind: SdpaKind = sdpa.kinds[numbers[0]]
    found = verdicts(facts, kind)
    others = [
        f"{name}: {found[name].text}" for name in ("flash", "cudnn") if name in found and not found[name].eligible
    ]
    takes = [name for name in ("cudnn",) if name in found and found[name].eligible]
    spent = facts.device_ns(sdpa.activities(calls))
    also = f" {takes[0]} can take the call as it is." if takes else ""
    asked = f"{shape_text(kind.call)} with {mask_text(kind.call)}" if kind.call else "the call"
    return RULE.finding(
        f"efficient ran, as {_WORDS.get(reason, reason)} rules out flash",
        count=facts.per_step(len(calls)),
        at_stake_ns=0,
        confidence=Confidence.CERTAIN if found["flash"].certain else Confidence.POSSIBLE,
        evidence=facts.evidence_of_ops(sdpa.op[calls]),
        text=(
            f"The memory-efficient backend ran on {asked}, {time_text(spent)} {facts.per}. {'; '.join(others)}.{also} "
            "What another backend would take here, this trace cannot show."
        ),
        change=_CHANGES.get(reason),
    )
