"""Queries, keys or values in 16 bits are cast up to fp32 for attention.

## What it looks for

Copies from bf16 or fp16 to fp32 inside SDPA's math path or FlexAttention's fallback, and before products written out
by hand that run in fp32 on tensors of that size.

## Why it matters

The cast writes each tensor once more at twice the size, and everything after it moves twice the bytes; products in
fp32 run on CUDA cores unless TF32 is allowed. Fused kernels read 16-bit inputs and accumulate in fp32 on the chip:
the precision is kept without the cast.

## How to confirm it

`foretrace read TRACE --tree` shows `aten::to`, `aten::_to_copy`, `aten::copy_` with an fp32 and a 16-bit tensor.

## What usually helps

Leave q, k and v in 16 bits and call a fused backend. Where only the softmax is wanted in fp32, `torch.softmax(scores,
dim=-1, dtype=torch.float32)` casts inside its own kernel.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.shapes import op_inputs
from foretrace.findings.casts import FP32
from foretrace.findings.facts import CAUSES, Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import distinct, is_among
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT103", name="attention-upcast", needs=Needs.OPS | Needs.LAUNCHES | Needs.SHAPES, since="0.1")

# Q, K and V.
_OPERANDS: Final = 3
_CHANGE: Final = (
    "leave q, k and v in 16 bits: drop .float() before the products, or call F.scaled_dot_product_attention"
)


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding for the casts that stand alone, and one for each cause they follow from."""
    facts = facts_of(trace)
    for because, some in facts.by_cause(facts.casts.up):
        # What backward casts are gradients.
        inputs = some[~facts.in_backward(trace.activities.owner[some])]
        kept = inputs if because in CAUSES[1:] else _before_products(facts, inputs)
        if kept.size and facts.worth(facts.device_ns(kept)):
            yield _finding(facts, kept, because)


def _before_products(facts: Facts, casts: I64) -> I64:
    """Casts of a tensor of Q's or K's size, between the attention call before and the fp32 products they feed."""
    unfused, trace = facts.unfused, facts.trace
    wanted: list[int] = []
    sizes: dict[int, set[int]] = {}
    for number, scores in enumerate(unfused.kinds):
        if scores is not None and scores.dtype == FP32:
            lengths = (scores.query_length, scores.key_length)
            sizes[number] = {scores.matrices * length * scores.head_dim for length in lengths}
    if not sizes:
        return casts[:0]
    rows, ops = trace.rows, trace.ops.row
    launch = rows.ts[trace.activities.launch[casts]]
    elements = np.array([_elements(trace, int(op)) for op in trace.activities.owner[casts]], np.int64)
    end_before = -1
    for call in range(len(unfused)):
        begin = int(rows.ts[ops[unfused.first[call]]])
        size = sizes.get(int(unfused.kind[call]))
        if size:
            near = (launch >= end_before) & (launch < begin) & is_among(elements, list(size))
            wanted.extend(np.flatnonzero(near)[-_OPERANDS:].tolist())
        end_before = int(rows.end[ops[unfused.second[call]]])
    return casts[distinct(np.array(wanted, np.int64))]


def _elements(trace: Trace, op: int) -> int:
    dims = op_inputs(trace, op)["dims"] or ()
    size = dims[0] if dims else None
    return math.prod(size) if isinstance(size, list) and all(isinstance(n, int) for n in size) else -1


def _finding(facts: Facts, casts: I64, because: str | None) -> Finding:
    return RULE.finding(
        "16-bit inputs of attention are cast up to fp32",
        count=facts.per_step(len(casts)),
        at_stake_ns=facts.device_ns(casts),
        confidence=Confidence.CERTAIN if because else Confidence.LIKELY,
        evidence=facts.evidence_of(casts),
        text=(
            f"The casts alone take {time_text(facts.device_ns(casts))} {facts.per}; what follows moves twice the "
            "bytes, and its products leave the 16-bit tensor cores."
        ),
        change=_CHANGE,
        because=because,
    )
