"""Calls of FlexAttention: compiled into one Triton kernel, or run op by op by its fallback.

A call is an op or an annotation whose name says so. The fallback may itself lie inside a compiled region, so where a
call lies says nothing; what runs in it does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.counted_ranges import CountedRanges
from foretrace.trace.distinct import either
from foretrace.trace.kineto import Category

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.trace.raw import I64

__all__ = ["FlexCalls", "flex_calls"]

_NAME: Final = re.compile(r"flex_?attention", re.IGNORECASE)
_NOT_A_CALL: Final = re.compile(r"backward|^triton_|^autograd::|create_block_mask|CompiledFxGraph", re.IGNORECASE)
_FUSED: Final = re.compile(r"flex_(?:attention|decoding)|tem_fused", re.IGNORECASE)
_PRODUCTS: Final = ("aten::bmm", "aten::baddbmm", "aten::mm")


@dataclass(frozen=True)
class FlexCalls(CountedRanges):
    """The counted calls that ran op by op."""

    @cached_property
    def backward(self) -> I64:
        """The counted activities of the backward of all calls."""
        return self.facts.backward_within(self.spans)


def flex_calls(facts: Facts) -> FlexCalls:
    """Find the calls in which batched products ran and no fused kernel did."""
    trace = facts.trace
    calls = _calls(facts)
    found = FlexCalls(facts, calls)
    if not len(calls):
        return found
    rows = trace.rows
    products = trace.ops.row[facts.ops(*_PRODUCTS)]
    held = found.spans.holding(rows.thread[products], rows.ts[products])
    unfused = np.zeros(len(calls), bool)
    unfused[held[held >= 0]] = True
    names = facts.activity_names
    fused = names.flags(names.matching(lambda name: _FUSED.search(name) is not None))(facts.counted)
    inside = found.of_activity[fused]
    unfused[inside[inside >= 0]] = False
    return FlexCalls(facts, calls[unfused])


def _calls(facts: Facts) -> I64:
    """Rows of the calls, none inside another."""
    trace = facts.trace
    wanted = facts.op_names.matching(_is_call)
    rows = trace.ops.row[facts.ops(*wanted)].astype(np.int64) if wanted else np.zeros(0, np.int64)
    annotations = trace.rows_of(Category.ANNOTATION)
    if annotations.size:
        distinct, number = np.unique(trace.rows.name[annotations], return_inverse=True)
        named = np.array([_is_call(trace.strings[int(name)]) for name in distinct], bool)
        if named.any():
            rows = either(rows, facts.counted_rows(annotations[named[number.reshape(-1)]]))
    kept: list[int] = []
    reach: dict[int, int] = {}
    order = rows[np.lexsort((-trace.rows.dur[rows], trace.rows.ts[rows]))]
    for row in order:
        thread, end = int(trace.rows.thread[row]), int(trace.rows.end[row])
        if int(trace.rows.ts[row]) >= reach.get(thread, -1):
            kept.append(int(row))
            reach[thread] = end
    return np.array(kept, np.int64)


def _is_call(name: str) -> bool:
    return _NAME.search(name) is not None and _NOT_A_CALL.search(name) is None
