"""cuDNN's choice of a plan takes most of the CPU's time for attention.

## What it looks for

CPU time of `_cudnn_attention_forward` and `_backward` outside their launches and inner ops: at least half of a step
that the device does not bound; or single calls of a millisecond and more, in which a plan is built.

## Why it matters

cuDNN builds an execution plan for each new shape (milliseconds to seconds) and looks it up at each call (tens of
microseconds). With shapes that change from call to call, or with attention so short that the lookup is longer than
the kernel, the device waits.

## How to confirm it

Repeat one shape: the long calls should be gone. Compare with flash pinned, whose launch is cheaper.

## What usually helps

Few distinct shapes (pad or bucket lengths), a CUDA graph around the step, or another backend for small calls: `with
sdpa_kernel(SDPBackend.FLASH_ATTENTION):`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT112", name="cudnn-plan", needs=Needs.OPS, since="0.1")

_OPS: Final = ("aten::_cudnn_attention_forward", "aten::_cudnn_attention_backward")
_SHARE: Final = 0.5
# A lookup takes tens of microseconds; a plan that is built takes at least this.
_BUILT_NS: Final = 1_000_000
_CHANGE: Final = """\
few distinct shapes, a CUDA graph around the step, or a cheaper launch for small calls:
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding where plans are built, else one where looking them up dominates."""
    facts = facts_of(trace)
    ops = facts.ops(*_OPS)
    if not ops.size:
        return
    own = facts.cpu_self_of(ops)
    built = own >= _BUILT_NS
    per_step = facts.timeline.per_step
    if built.any():
        yield _building(facts, ops[built], own[built])
    elif per_step.bound != "device":
        share = facts.per_step(int(own.sum())) / max(1.0, per_step.cpu_time_ns.median)
        if share >= _SHARE:
            yield _looking_up(facts, ops, own, share)


def _building(facts: Facts, ops: I64, own: I64) -> Finding:
    return RULE.finding(
        f"cuDNN builds attention plans: {time_text(int(own.max()))} in the longest call",
        count=facts.per_step(len(ops)),
        at_stake_ns=facts.per_step(int(own.sum())),
        confidence=Confidence.LIKELY,
        evidence=facts.evidence_of_ops(ops[np.argsort(-own, kind="stable")]),
        text=(
            f"{len(ops)} {'call spends' if len(ops) == 1 else 'calls spend'} a millisecond or more on the CPU outside "
            f"launches, {time_text(int(own.sum()))} in all: as long as a plan for a new shape takes to build."
        ),
        change=_CHANGE,
    )


def _looking_up(facts: Facts, ops: I64, own: I64, share: float) -> Finding:
    each = int(np.median(own))
    return RULE.finding(
        f"cuDNN's plan lookup is {share_text(share)} of the step's CPU time",
        count=facts.per_step(len(ops)),
        at_stake_ns=facts.per_step(int(own.sum())),
        confidence=Confidence.LIKELY,
        evidence=facts.evidence_of_ops(ops),
        text=f"Each call spends {time_text(each)} on the CPU outside launches, and the device waits for it.",
        change=_CHANGE,
    )
