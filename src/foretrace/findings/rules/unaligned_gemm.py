"""Matrix sizes that are no multiple of 16 bytes lose the fast tensor-core path.

## What it looks for

Products of 16-bit matrices with a size that is no multiple of 8, where the kernel's name says that it runs on CUDA
cores or reads its operands in pieces of less than 16 bytes (`align1`, `align2`, `align4`).

## Why it matters

Tensor-core kernels read operands 16 bytes at a time: 8 elements of bf16 or fp16. A row whose length is no multiple of
that starts at odd addresses, and the library takes a kernel with narrow loads, or none with tensor cores.

## How to confirm it

The evidence names the op and its sizes. Pad the odd one to the next multiple of 8 (64 is better still) and compare.

## What usually helps

Round up what is free to choose: the vocabulary (50257 to 50304), hidden sizes, head sizes, the batch. Pad once, in
the weights, not in each step.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.analysis.shapes import op_inputs
from foretrace.findings.casts import SIXTEEN_BITS
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import distinct
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.names.decoded import Decoded
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT305", name="unaligned-gemm", needs=Needs.OPS | Needs.LAUNCHES | Needs.SHAPES, since="0.1")

_OPERANDS: Final = {"aten::mm": (0, 1), "aten::bmm": (0, 1), "aten::addmm": (1, 2), "aten::baddbmm": (1, 2)}
_ALIGNED: Final = 8
_RANKS: Final = (2, 3)
# Below this, the product is a matrix times a vector or nearly so, and memory bounds it.
_SMALLEST: Final = 8
_SHARE: Final = 0.01
_NARROW: Final = re.compile(r"align[124](?!\d)|_ldg[124]_")


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all products."""
    facts = facts_of(trace)
    slow = facts.activities_where(_is_slow)
    owner = trace.activities.owner[slow]
    slow = slow[owner >= 0]
    if not slow.size:
        return
    slow = slow[facts.op_names.flags(_OPERANDS)(trace.activities.owner[slow])]
    firsts, signature = facts.by_signature(trace.activities.owner[slow])
    odd = [_odd_sizes(facts, int(op)) for op in firsts]
    held = np.array([bool(sizes) for sizes in odd] or [False], bool)[signature] if slow.size else np.zeros(0, bool)
    slow = slow[held]
    signature = signature[held]
    written_out = facts.unfused.call_of_activity[np.searchsorted(facts.counted, slow)] >= 0
    for because, some in ((None, ~written_out), ("FT104", written_out)):
        if some.any() and facts.device_ns(slow[some]) >= _SHARE * facts.step_device_ns:
            sizes = [odd[int(number)] for number in distinct(signature[some])]
            yield _finding(facts, slow[some], sizes, because)


def _is_slow(said: Decoded) -> bool:
    return said.role == "gemm" and (said.unit == "cuda_core" or _NARROW.search(said.name) is not None)


def _odd_sizes(facts: Facts, op: int) -> tuple[int, ...]:
    """The sizes of a product of 16-bit matrices that are no multiple of 8; none where it is nearly a vector."""
    given = op_inputs(facts.trace, op)
    dims: Any = given["dims"] or ()
    types = given["types"] or ()
    left, right = _OPERANDS[facts.op_text(op)]
    if len(dims) <= right or len(types) <= right or types[left] not in SIXTEEN_BITS:
        return ()
    a, b = dims[left], dims[right]
    if not (isinstance(a, list) and isinstance(b, list) and len(a) in _RANKS and len(b) == len(a)):
        return ()
    sizes = (a[-2], a[-1], b[-1])
    if min(sizes) < _SMALLEST:
        return ()
    return tuple(size for size in dict.fromkeys(sizes) if size % _ALIGNED)


def _finding(facts: Facts, slow: I64, odd: list[tuple[int, ...]], because: str | None) -> Finding:
    sizes = dict.fromkeys(size for some in odd for size in some)
    first = next(iter(sizes))
    shown = ", ".join(f"{size:,}" for size in list(sizes)[:3])
    on_cores = facts.activities_where(lambda said: said.unit == "cuda_core", slow)
    where = "on CUDA cores" if on_cores.size else "with narrow loads"
    return RULE.finding(
        f"16-bit products of odd sizes ({shown}) run {where}",
        count=facts.per_step(len(slow)),
        at_stake_ns=facts.device_ns(slow),
        confidence=Confidence.CERTAIN if on_cores.size else Confidence.LIKELY,
        evidence=facts.evidence_of(slow),
        text=(
            f"{facts.what(int(slow[0])).short} and the like take {time_text(facts.device_ns(slow))} {facts.per}. "
            f"Sizes of {shown} are no multiple of {_ALIGNED}, so rows do not start at multiples of 16 bytes."
        ),
        change=f"pad {first:,} to {-(-first // _ALIGNED) * _ALIGNED:,} once, in the weights or the layout",
        because=because,
    )
