"""What fills a step on the CPU, as far as its trace names it: calls, loading, the profiler, and the rest by op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foretrace.analysis.intervals import union_length
from foretrace.analysis.overhead import LOADING, PROFILER, overhead_kind
from foretrace.trace.kineto import Category
from foretrace.trace.model import TimeFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.learn.recorded import Recorded
    from foretrace.trace.raw import I64

__all__ = ["CpuParts", "cpu_parts"]


@dataclass(frozen=True)
class CpuParts:
    """A step on the host, in nanoseconds; the parts do not overlap and add up to the step."""

    loading_ns: int
    """Kernels and modules being loaded."""
    loading: tuple[str, ...]
    """The events that say so."""
    profiler_ns: int
    """The profiler's own work."""
    profiler: tuple[str, ...]
    calls_ns: int
    """Calls of the runtime and the driver, without what was loaded in them."""
    silent: tuple[tuple[str, int], ...]
    """Op -> the time inside it in which nothing is recorded but the op itself; the longest first."""
    outside_ns: int
    """The rest: Python, between and around the ops."""
    pause_ns: int
    """The longest time without any call or loading ..."""
    pause_after: str
    """... after this call (or loading; empty at the begin of the step) ..."""
    pause_before: str
    """... and before this one (empty at its end)."""


def cpu_parts(recorded: Recorded, step: int) -> CpuParts:
    """Split a step's time on its own thread by what the trace says was going on."""
    trace = recorded.trace
    rows = trace.rows
    low, high = int(trace.steps.ts[step]), int(trace.steps.end[step])
    thread = int(rows.thread[trace.steps.row[step]])
    timed = (rows.fault == TimeFault.NONE) & (rows.ts < high) & (rows.end > low)
    own = np.flatnonzero(timed & (rows.category == Category.OVERHEAD))
    loads = [int(row) for row in own if overhead_kind(trace.name(int(row))) == LOADING]
    others = [int(row) for row in own if overhead_kind(trace.name(int(row))) == PROFILER]
    calls = timed & ((rows.category == Category.RUNTIME) | (rows.category == Category.DRIVER))
    calls = np.flatnonzero(calls & (rows.thread == thread))
    ops = np.flatnonzero(timed & (rows.category == Category.CPU_OP) & (rows.thread == thread))
    ops = ops[np.lexsort((-rows.end[ops], rows.ts[ops]))]

    def covered(*chosen: Sequence[int] | I64, within: tuple[int, int] = (low, high)) -> int:
        every = np.concatenate([np.asarray(each, np.int64) for each in chosen])
        start, end = np.clip(rows.ts[every], *within), np.clip(rows.end[every], *within)
        return union_length(start, end)

    silent: dict[str, int] = {}
    outermost: list[int] = []
    for row in map(int, ops):
        if outermost and rows.end[row] <= rows.end[outermost[-1]]:
            continue
        outermost.append(row)
        span = (max(int(rows.ts[row]), low), min(int(rows.end[row]), high))
        quiet = span[1] - span[0] - covered(loads, others, calls, within=span)
        silent[trace.name(row)] = silent.get(trace.name(row), 0) + quiet
    busy = np.concatenate([np.asarray(loads, np.int64), np.asarray(others, np.int64), calls])
    length, after, before = _pause(recorded, busy, low, high)
    return CpuParts(
        loading_ns=covered(loads),
        loading=tuple(sorted({trace.name(row) for row in loads})),
        profiler_ns=covered(loads, others) - covered(loads),
        profiler=tuple(sorted({trace.name(row) for row in others})),
        calls_ns=covered(loads, others, calls) - covered(loads, others),
        silent=tuple(sorted(silent.items(), key=lambda item: -item[1])),
        outside_ns=high - low - covered(loads, others, calls, ops),
        pause_ns=length,
        pause_after=after,
        pause_before=before,
    )


def _pause(recorded: Recorded, busy: I64, low: int, high: int) -> tuple[int, str, str]:
    """The longest stretch of the step that none of some events covers, and what stands on its two sides."""
    trace = recorded.trace
    best, after, before = 0, "", ""
    reach, last = low, ""
    for row in map(int, busy[np.argsort(trace.rows.ts[busy], kind="stable")]):
        if int(trace.rows.ts[row]) - reach > best:
            best, after, before = int(trace.rows.ts[row]) - reach, last, trace.name(row)
        if int(trace.rows.end[row]) > reach:
            reach, last = int(trace.rows.end[row]), trace.name(row)
    return (high - reach, last, "") if high - reach > best else (best, after, before)
