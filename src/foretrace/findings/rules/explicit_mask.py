"""SDPA is given an explicit square mask where `is_causal` may do.

## What it looks for

Calls with a mask of query length by key length, both equal, one plane for all heads, and `is_causal` false.

## Why it matters

A mask rules out flash, and the kernels that take one compute the masked half as well. If it is the causal mask,
`is_causal=True` gives the same result, skips half of the products, and admits every fused backend. What is in the
mask a trace cannot show.

## How to confirm it

Print the mask once: `torch.equal(mask, torch.ones_like(mask).tril())`. Compare the outputs, then profile again.

## What usually helps

`F.scaled_dot_product_attention(q, k, v, is_causal=True)` with no mask. For padding use nested tensors or packed
sequences; in Hugging Face models a mask is left out when nothing is padded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.amounts import amount
from foretrace.findings.backends import verdicts
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.findings.sdpa_calls import SdpaKind, mask_text, shape_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT106", name="explicit-mask", needs=Needs.OPS | Needs.LAUNCHES | Needs.SHAPES, since="0.1")

_TRIANGLES: Final = ("aten::tril", "aten::triu")
_MASKED_SHARE: Final = 0.5
_HEADS: Final = -3
_CHANGE: Final = """\
if the mask is the causal one, leave it out:
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)"""


def may_be_causal(kind: SdpaKind) -> bool:
    """Whether the mask has the shape of a causal one: square, and one plane for all heads."""
    call = kind.call
    if call is None or call.mask is None or call.causal:
        return False
    length, dims = call.query.length, call.mask.dims
    square = length > 1 and length == call.key.length and dims[-2:] == (length, length)
    return square and (len(dims) < -_HEADS or dims[_HEADS] == 1 or call.query.heads == 1)


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all calls."""
    facts = facts_of(trace)
    sdpa = facts.sdpa
    calls = sdpa.where(may_be_causal)
    inside = sdpa.activities(calls)
    if inside.size:
        yield _finding(facts, calls, inside)


def _finding(facts: Facts, calls: I64, inside: I64) -> Finding:
    sdpa = facts.sdpa
    kind = sdpa.kinds[int(np.bincount(sdpa.kind[calls]).argmax())]
    call = kind.call
    length = call.query.length if call else 0
    triangles = facts.ops(*_TRIANGLES)
    made = (
        f" The trace builds a triangle ({amount(len(triangles) / facts.steps)} {facts.per})." if triangles.size else ""
    )
    flash = verdicts(facts, kind).get("flash")
    out = f" flash: {flash.text}." if flash is not None and not flash.eligible else ""
    return RULE.finding(
        f"SDPA gets a {length:,} x {length:,} mask where is_causal may do",
        count=facts.per_step(len(calls)),
        at_stake_ns=_MASKED_SHARE * facts.device_ns(inside),
        confidence=Confidence.LIKELY if triangles.size else Confidence.POSSIBLE,
        evidence=facts.evidence_of_ops(np.concatenate((sdpa.op[calls][:4], triangles[:4]))),
        text=(
            f"{kind.backend or 'SDPA'} ran on {shape_text(call) if call else ''} with a "
            f"{mask_text(call) if call else ''} and is_causal false.{out} The mask is square and the same for all "
            f"heads, as a causal one is, but a trace cannot show what is in it.{made}"
        ),
        change=_CHANGE,
        because="FT105" if kind.backend == "math" else None,
    )
