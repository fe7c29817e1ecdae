"""A small memset before a kernel clears a workspace or a counter of its library.

## What it looks for

Memsets that belong to the same op as the kernel after them: a matrix product, attention, a reduction.

## Why it matters

It explains a row that looks odd and is not: the library clears a few bytes that the blocks of the next kernel use to
take turns (a tile scheduler, a semaphore of a reduction over blocks). It takes a microsecond and nobody asked for it.
It is called split-K here only where the kernel's name says so.

## How to confirm it

`foretrace read TRACE --tree` shows the memset right before the kernel, under the same op.

## What usually helps

Nothing: leave it. In a step bound by launches, a CUDA graph hides it with the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import distinct, is_among
from foretrace.trace.kineto import Category
from foretrace.trace.raw import MISSING
from foretrace.units import bytes_text, count_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT304", name="workspace-memset", needs=Needs.OPS | Needs.LAUNCHES, since="0.1", note=True)

# More than this is somebody's tensor.
_SMALL_BYTES: Final = 1 << 20
_SHOWN: Final = 3
_TWO: Final = 2
_NOT_LIBRARY: Final = ("aten::zero_", "aten::zeros", "aten::fill_", "aten::memset")


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one note over all of them."""
    facts = facts_of(trace)
    acts = trace.activities
    counted = facts.counted
    sets = counted[acts.category[counted] == Category.MEMSET]
    sets = sets[(acts.owner[sets] >= 0) & ((acts.bytes[sets] == MISSING) | (acts.bytes[sets] <= _SMALL_BYTES))]
    if sets.size:
        sets = sets[~facts.op_names.flags(_NOT_LIBRARY)(acts.owner[sets])]
    kernels = counted[acts.category[counted] == Category.KERNEL]
    sets = sets[is_among(acts.owner[sets], acts.owner[kernels])]
    if sets.size:
        yield _finding(facts, sets, kernels)


def _finding(facts: Facts, sets: I64, kernels: I64) -> Finding:
    acts = facts.trace.activities
    served = kernels[is_among(acts.owner[kernels], acts.owner[sets])]
    split = facts.activities_where(lambda said: said.split_k is True and said.role == "gemm", served)
    sizes = acts.bytes[sets]
    size = _size_text(sizes[sizes != MISSING])
    codes, order = np.unique(facts.op_names.code[acts.owner[sets]], return_counts=True)
    ranked = codes[np.argsort(-order, kind="stable")]
    owners = ", ".join(facts.op_names.strings[int(code)].removeprefix("aten::") for code in ranked[:_SHOWN])
    owners += f" and {len(ranked) - _SHOWN} more" if len(ranked) > _SHOWN else ""
    number = facts.per_step(len(sets))
    text = (
        f"{count_text(round(number), 'memset')}{size} {facts.per} under {owners}, {time_text(facts.device_ns(sets))} "
        "in all: the library clears a counter, or a buffer that its next kernel adds to."
    )
    if split.size:
        text += f" {count_text(round(facts.per_step(len(split))), 'kernel')} of them split K, as the name says."
    return RULE.finding(
        f"small memsets before kernels clear a workspace or counter: {facts.number_each(len(sets))}",
        count=number,
        at_stake_ns=0,
        confidence=Confidence.CERTAIN,
        evidence=facts.evidence_of(sets),
        text=text,
    )


def _size_text(sizes: I64) -> str:
    """The size that all have, the two there are, or the smallest and the largest; empty where none is known."""
    texts = list(dict.fromkeys(bytes_text(int(size)) for size in distinct(sizes)))
    if len(texts) > _TWO:
        return f" of {texts[0]} to {texts[-1]}"
    return f" of {' or '.join(texts)}" if texts else ""
