"""An attention mask whose rows are not aligned is padded again at every call.

## What it looks for

Calls with a mask whose last size is no multiple of 8, and the `constant_pad_nd` of it, inside the call or right
before.

## Why it matters

The memory-efficient kernel reads the mask in aligned pieces. Eager PyTorch pads a misaligned mask with a copy at each
call, layer after layer; in compiled code the same mask may raise an error.

## How to confirm it

`foretrace read TRACE --tree` shows `aten::constant_pad_nd` and a slice under the call.

## What usually helps

Allocate the mask once with its last dimension rounded up to a multiple of 8 (16 for the newest releases) and pass a
slice `[..., :length]` of it: the stride is then aligned and no copy is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.shapes import op_inputs
from foretrace.findings.amounts import amount
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.findings.sdpa_calls import SdpaKind
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT111", name="unaligned-mask", needs=Needs.OPS | Needs.LAUNCHES | Needs.SHAPES, since="0.1")

_ALIGNED: Final = 8
_PAD: Final = "aten::constant_pad_nd"
_CHANGE: Final = """\
pad once, outside the loop, and pass a slice, whose rows stay aligned:
    padded = F.pad(mask, (0, -mask.shape[-1] % 16))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=padded[..., :mask.shape[-1]])"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all calls with such a mask."""
    facts = facts_of(trace)
    sdpa = facts.sdpa
    calls = sdpa.where(_unaligned)
    if not calls.size:
        return
    wanted = {kind.call.mask.dims for kind in sdpa.kinds if kind.call and kind.call.mask and _unaligned(kind)}
    pads = np.array([op for op in facts.ops(_PAD) if _pads(facts, int(op), wanted)], np.int64)
    efficient = sdpa.where(lambda kind: _unaligned(kind) and kind.backend == "efficient")
    if pads.size or efficient.size:
        yield _finding(facts, calls, pads)


def _unaligned(kind: SdpaKind) -> bool:
    mask = kind.call.mask if kind.call else None
    if mask is None or mask.dims[-1] < _ALIGNED:
        return False
    row = mask.strides[-2] if mask.strides and len(mask.strides) > 1 else mask.dims[-1]
    # A row stride of 0 is a mask expanded over the queries: its rows are one.
    return (row or mask.dims[-1]) % _ALIGNED != 0


def _pads(facts: Facts, op: int, wanted: set[tuple[int, ...]]) -> bool:
    dims = op_inputs(facts.trace, op)["dims"] or ()
    size = dims[0] if dims else None
    return isinstance(size, list) and any(size[-2:] == list(mask[-2:]) for mask in wanted)


def _finding(facts: Facts, calls: I64, pads: I64) -> Finding:
    sdpa = facts.sdpa
    mask = next(kind.call.mask for kind in sdpa.kinds if kind.call and kind.call.mask and _unaligned(kind))
    copies = facts.counted[facts.under(pads) >= 0] if pads.size else facts.counted[:0]
    seen = len(pads) / facts.steps
    return RULE.finding(
        f"a mask with rows of {mask.dims[-1]:,} is padded again at each call",
        count=facts.per_step(len(pads) if pads.size else len(calls)),
        at_stake_ns=facts.device_ns(copies),
        confidence=Confidence.CERTAIN if pads.size else Confidence.POSSIBLE,
        evidence=facts.evidence_of_ops(pads if pads.size else sdpa.op[calls]),
        text=(
            f"The mask {list(mask.dims)} has rows that are no multiple of {_ALIGNED} elements. "
            + (
                f"It is copied into a padded one {amount(seen)} times {facts.per}."
                if pads.size
                else "The memory-efficient kernel needs aligned rows; no padding was recorded here, so it may "
                "have been done elsewhere."
            )
        ),
        change=_CHANGE,
    )
