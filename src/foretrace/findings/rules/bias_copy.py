"""The bias of an `addmm` is copied into the output before the product.

## What it looks for

A device copy that belongs to `aten::addmm` (or `baddbmm`) itself, launched before its GEMM.

## Why it matters

A one-dimensional bias goes into the GEMM's epilogue for free. A full matrix, or a layout the epilogue cannot take, is
first copied into the output, and the GEMM adds to it: one more write and read of the whole output. Inductor makes
such an `addmm` of a product and an addition.

## How to confirm it

`foretrace read TRACE --tree` shows a memcpy or copy kernel beside the GEMM, under `aten::addmm`.

## What usually helps

A bias of one dimension, as `nn.Linear` has it. For a full matrix compare with the separate addition, and with a
Triton GEMM that fuses it: `torch.compile(f, mode="max-autotune-no-cudagraphs")`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.shapes import op_inputs
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import is_among
from foretrace.trace.raw import MISSING
from foretrace.units import bytes_text, share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT302", name="bias-copy", needs=Needs.OPS | Needs.LAUNCHES, since="0.1")

_OPS: Final = ("aten::addmm", "aten::addmm_", "aten::baddbmm", "aten::baddbmm_")
# A copy below this is lost among the launches.
_NOTICEABLE_NS: Final = 2_000
_CHANGE: Final = """\
give the bias one dimension, so that it goes into the GEMM's epilogue; for a full matrix let Triton fuse it:
    f = torch.compile(f, mode="max-autotune-no-cudagraphs")"""


_NEWER: Final = "newer releases of PyTorch put a bias of one dimension into the GEMM's epilogue: update"


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all copies."""
    facts = facts_of(trace)
    ops = facts.ops(*_OPS)
    if not ops.size:
        return
    mine = facts.counted[is_among(trace.activities.owner[facts.counted], ops)]
    copies = facts.activities_where(lambda said: said.role == "copy", mine)
    products = facts.activities_where(lambda said: said.role == "gemm", mine)
    copies = copies[is_among(trace.activities.owner[copies], trace.activities.owner[products])]
    if copies.size and facts.worth(facts.device_ns(copies)) and facts.device_ns(copies) >= _NOTICEABLE_NS:
        yield _finding(facts, copies, products)


def _finding(facts: Facts, copies: I64, products: I64) -> Finding:
    acts = facts.trace.activities
    with_copy = products[is_among(acts.owner[products], acts.owner[copies])]
    spent, whole = facts.device_ns(copies), facts.device_ns(with_copy)
    moved = acts.bytes[copies]
    moved = moved[moved != MISSING]
    size = f" ({bytes_text(int(np.median(moved)))})" if moved.size else ""
    dims = op_inputs(facts.trace, int(acts.owner[copies[0]]))["dims"] or ()
    shape = f" {dims[0]}" if dims and isinstance(dims[0], list) else ""
    plain = bool(dims) and isinstance(dims[0], list) and len(dims[0]) == 1
    return RULE.finding(
        f"addmm copies its bias{size} before the product",
        count=facts.per_step(len(copies)),
        at_stake_ns=spent,
        confidence=Confidence.LIKELY,
        evidence=facts.evidence_of(copies),
        text=(
            f"The bias{shape} is copied into the output, and the GEMM adds to it: {time_text(spent)} {facts.per}, "
            f"{share_text(spent / max(1.0, whole))} on top of the products it belongs to."
        ),
        change=_NEWER if plain else _CHANGE,
    )
