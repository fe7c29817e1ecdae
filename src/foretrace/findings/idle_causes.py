"""What the host does while the device waits for it: launches, or one thing that a graph would not take away."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.intervals import union, union_length
from foretrace.findings.allocations import allocation_calls
from foretrace.findings.captures import BEGINS, ENDS, outside_captures
from foretrace.findings.idle_advice import is_loader
from foretrace.trace.distinct import distinct
from foretrace.trace.kineto import SYNC_NAME
from foretrace.trace.model import TimeFault

if TYPE_CHECKING:
    import re

    from foretrace.findings.facts import Facts
    from foretrace.trace.raw import I64

__all__ = ["LAUNCH_NS", "Filler", "IdleCause", "idle_cause", "loader_rows"]

LAUNCH_NS: Final = 100_000
"""What a launch costs the host at most with its op and Python, as profiled; what takes longer is something else."""
_STACKS: Final = 2
"""So many times that where Python stacks are recorded."""
_MAIN_SHARE: Final = 0.5
# A call takes some microseconds. One that takes so long while nothing runs loads code, or makes what it needs first.
_LONG_NS: Final = 1_000_000
_OWN: Final = "aten::"
_COMPILED: Final = "CompiledFunction"
_PREPARING: Final = 3


class Filler(Enum):
    """What most of the idle time goes to."""

    LAUNCHES = auto()
    """One launch after another."""
    LOADER = auto()
    """A `DataLoader` that is asked for its next batch."""
    ALLOCATION = auto()
    """The driver allocates or frees memory."""
    FIRST_USE = auto()
    """Calls that take a millisecond and more: code is loaded, a context or a stream made."""
    CAPTURE = auto()
    """A graph is captured: its kernels do not run then."""
    HOST_OP = auto()
    """Long ops that launch nothing: they compute on the CPU."""
    COMPILED = auto()
    """Compiled code is looked up and entered, which takes longer than its launches."""
    HELD_BACK = auto()
    """None of the host's: work that was launched already does not start."""
    OTHER = auto()
    """None of them: whatever the CPU is in during the longest gaps."""


@dataclass(frozen=True)
class IdleCause:
    """What fills the idle time of a step."""

    filler: Filler
    idle_ns: float
    """The time in a step during which the device does nothing."""
    launching_ns: float
    """How much of it launches explain at most: no more can be won by fewer or cheaper ones."""
    filled_ns: float
    """How much of it the filler takes; of `OTHER`, what launches do not explain."""
    rows: I64
    """The filler's host ranges in the idle time, the longest first; none where it has none."""


def idle_cause(facts: Facts) -> IdleCause:
    """Tell what the idle time of a step goes to; the file has a period and counted activity."""
    figures = facts.timeline.per_step
    idle = max(0.0, (figures.period_ns or 0) - figures.busy_ns.median)
    total = max(1, int((facts.gaps.end - facts.gaps.begin).sum()))
    launching, nothing = min(_launching(facts), idle), np.zeros(0, np.int64)
    held = int(facts.gaps.held_back.sum())
    if held >= _MAIN_SHARE * total:
        return IdleCause(Filler.HELD_BACK, idle, launching, idle * held / total, nothing)
    main = max(_candidates(facts), key=lambda some: some.idle_ns)
    # The gaps end with the last activity: what lies after it is taken to be like the rest, up to what there is.
    filled = min(idle * main.idle_ns / total, main.spent_ns)
    if main.idle_ns >= _MAIN_SHARE * total:
        return IdleCause(main.filler, idle, launching, filled, main.longest)
    if launching >= _MAIN_SHARE * idle:
        # What something else holds up would still be idle.
        launching = min(launching, idle - filled)
        return IdleCause(Filler.LAUNCHES, idle, launching, launching, nothing)
    compiled = _Stretches(facts, Filler.COMPILED, _entered(facts))
    if compiled.idle_ns >= _MAIN_SHARE * total:
        return IdleCause(Filler.COMPILED, idle, launching, idle * compiled.idle_ns / total, compiled.longest)
    return IdleCause(Filler.OTHER, idle, launching, idle - launching, nothing)


def _launching(facts: Facts) -> float:
    """What launches take the host a step: the time from one to the next, as far as a launch can take it."""
    most = LAUNCH_NS * (_STACKS if facts.trace.has_stacks else 1)
    rows = facts.trace.rows
    launches = facts.trace.activities.launch[facts.counted]
    launches = distinct(launches[launches >= 0])
    launches = launches[np.lexsort((rows.ts[launches], rows.thread[launches]))]
    apart, same = np.diff(rows.ts[launches]), np.diff(rows.thread[launches]) == 0
    total = int(np.minimum(apart[same], most).sum())
    if facts.has_steps and launches.size:
        # The last launch of the last step is followed by the first of another.
        edges = np.flatnonzero(np.concatenate(([True], ~same, [True])))
        span = rows.ts[launches[edges[1:] - 1]] - rows.ts[launches[edges[:-1]]]
        left = facts.steps * (facts.timeline.per_step.period_ns or 0) - span
        total += int(np.clip(left, 0, most).sum())
    return facts.per_step(total)


class _Stretches:
    """Times at which the host is in one kind of thing, and how long the device idles then."""

    def __init__(self, facts: Facts, filler: Filler, rows: I64, times: tuple[I64, I64] | None = None) -> None:
        """``times``: from when until when, where that is not from start to end of each row."""
        table = facts.trace.rows
        start, end = times or (table.ts[rows], table.end[rows])
        believed = table.fault[rows] == TimeFault.NONE
        rows, start, end = rows[believed], start[believed], end[believed]
        self.filler = filler
        self.idle_ns = int(facts.gaps.within(*union(start, end)).sum())
        flag = np.zeros(len(table), bool)
        flag[facts.counted_rows(rows)] = True
        counted = flag[rows]
        self.spent_ns = facts.per_step(union_length(start[counted], end[counted])) or float(self.idle_ns)
        each = facts.gaps.within(start, end)
        order = np.argsort(-each, kind="stable")
        self.longest: I64 = rows[order[each[order] > 0]]


def _candidates(facts: Facts) -> list[_Stretches]:
    calls, names, rows = facts.runtime_rows, facts.call_names, facts.trace.rows
    every = np.arange(len(calls))
    allocates = names.flags(allocation_calls(facts))(every)
    waits = names.flags(names.matching(lambda name: SYNC_NAME.match(name) is not None))(every)
    long = ~allocates & ~waits & (rows.dur[calls] >= _LONG_NS)
    return [
        _Stretches(facts, Filler.LOADER, loader_rows(facts)),
        _Stretches(facts, Filler.ALLOCATION, outside_captures(facts, calls[allocates])),
        _Stretches(facts, Filler.CAPTURE, *_captures(facts)),
        _Stretches(facts, Filler.FIRST_USE, calls[long]),
        _Stretches(facts, Filler.HOST_OP, _host_ops(facts)),
    ]


def loader_rows(facts: Facts) -> I64:
    """Annotations (in old files ops) around a loader's next batch."""
    return facts.rows_named(is_loader)


def _entered(facts: Facts) -> I64:
    """Entries of compiled code, forward and backward, and lookups of it; what takes long compiles or does more."""
    regions, names = facts.regions, facts.op_names
    called = names.matching(lambda name: name.startswith(_COMPILED))
    rows = np.concatenate((regions.rows, regions.lookups, facts.trace.ops.row[names.of(*called)]))
    short: I64 = rows[facts.trace.rows.dur[rows] < _LONG_NS].astype(np.int64)
    return short


def _captures(facts: Facts) -> tuple[I64, tuple[I64, I64]]:
    """(the calls that begin a capture, from when until when each takes).

    Before it ``torch.cuda.graph`` waits for the device, collects garbage and empties the cache: that begins with the
    first wait after the last launches. After it the graph is made, up to the next launch, which is its first replay.
    """
    calls, names, rows = facts.runtime_rows, facts.call_names, facts.trace.rows

    def named(pattern: re.Pattern[str]) -> I64:
        found = calls[names.of(*names.matching(lambda name: pattern.match(name) is not None))]
        return found[np.argsort(rows.ts[found], kind="stable")]

    begin, ends = named(BEGINS), np.sort(rows.end[named(ENDS)])
    at = np.searchsorted(ends, rows.end[begin])
    begin, at = begin[at < len(ends)], at[at < len(ends)]
    start, end = rows.ts[begin].copy(), ends[at]
    launches, waits = facts.trace.launches, named(SYNC_NAME)
    for number, row in enumerate(begin):
        mine = launches[(rows.thread[launches] == rows.thread[row])]
        before, after = mine[rows.ts[mine] < start[number]], mine[rows.ts[mine] >= end[number]]
        # A launch or two may be part of it: what is captured is copied to where the graph finds it.
        since = int(np.sort(rows.end[before])[-_PREPARING]) if before.size >= _PREPARING else 0
        prepared = waits[(rows.thread[waits] == rows.thread[row]) & (rows.ts[waits] >= since)]
        start[number] = min(int(start[number]), int(rows.ts[prepared].min(initial=start[number])))
        end[number] = int(rows.ts[after].min()) if after.size else end[number]
    return begin, (start, end)


def _host_ops(facts: Facts) -> I64:
    """Long ops of PyTorch's own without a runtime call inside, the outermost of each nest."""
    ops, rows = facts.trace.ops, facts.trace.rows
    long = np.flatnonzero(rows.dur[ops.row] >= _LONG_NS)
    own = facts.op_names.flags(facts.op_names.matching(lambda name: name.startswith(_OWN)))
    long = long[own(long)] if long.size else long
    silent = np.ones(len(long), bool)
    calls, at = facts.runtime_rows, ops.row[long]
    for thread in distinct(rows.thread[at]):
        mine = np.flatnonzero(rows.thread[at] == thread)
        starts = np.sort(rows.ts[calls[rows.thread[calls] == thread]])
        inside = np.searchsorted(starts, rows.end[at[mine]]) > np.searchsorted(starts, rows.ts[at[mine]])
        silent[mine[inside]] = False
    return ops.row[facts.outermost(long[silent])].astype(np.int64)
