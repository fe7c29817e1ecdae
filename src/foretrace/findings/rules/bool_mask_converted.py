"""A bool mask is turned into a float one at every attention call.

## What it looks for

Calls with a bool mask under which `where` or `masked_fill` makes a mask of zeros and minus infinities, one plane of
query length by key length at each layer.

## Why it matters

The kernels add a float mask to the scores. A bool one is converted by each call, in every layer, though it is the
same mask: several launches a call, and a read and write of the whole mask.

## How to confirm it

`foretrace read TRACE --tree` shows `aten::where` and `aten::scalar_tensor` under the call.

## What usually helps

Convert once, before the layers, in q's dtype; or pass no mask and `is_causal=True` where that is what it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.findings.amounts import amount
from foretrace.findings.facts import facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import distinct, is_among
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code="FT118", name="bool-mask-converted", needs=Needs.OPS | Needs.LAUNCHES | Needs.SHAPES, since="0.1")

_CONVERSIONS: Final = (
    "aten::where",
    "aten::masked_fill",
    "aten::masked_fill_",
    "aten::logical_not",
    "aten::zeros_like",
)
_CHANGE: Final = """\
convert once, before the layers:
    mask = torch.zeros_like(mask, dtype=q.dtype).masked_fill_(~mask, float("-inf"))"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all calls."""
    facts = facts_of(trace)
    sdpa = facts.sdpa
    # The math path makes its whole score matrix this way: that is its own finding.
    calls = sdpa.where(
        lambda kind: kind.call and kind.call.mask and kind.call.mask.dtype == "bool" and kind.backend != "math"
    )
    if not calls.size:
        return
    makers = facts.ops(*_CONVERSIONS)
    makers = facts.outermost(makers[is_among(facts.climb(makers, sdpa.op), sdpa.op[calls])])
    inside = facts.counted[facts.under(makers) >= 0] if makers.size else facts.counted[:0]
    if not inside.size:
        return
    converting = len(distinct(facts.climb(makers, sdpa.op)))
    yield RULE.finding(
        "a bool mask is made a float mask at each attention call",
        count=facts.per_step(converting),
        at_stake_ns=facts.device_ns(inside),
        confidence=Confidence.CERTAIN,
        evidence=facts.evidence_of(inside),
        text=(
            f"{amount(facts.per_step(converting))} calls {facts.per} convert their bool mask with "
            f"{amount(facts.per_step(len(inside)))} kernels, {time_text(facts.device_ns(inside))} {facts.per} on the "
            "device."
        ),
        change=_CHANGE,
    )
