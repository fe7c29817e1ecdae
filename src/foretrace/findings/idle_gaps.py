"""When the device idles in the counted steps, and what the CPU did meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.intervals import gaps
from foretrace.trace.model import NONE

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.trace.raw import I64

__all__ = ["NOTHING", "SHORTEST_GAP_NS", "GapGroup", "Gaps", "IdleGaps", "gaps_of", "held_back"]

# Shorter gaps are the device's own between two kernels.
SHORTEST_GAP_NS: Final = 10_000
"""What counts as a gap."""
# From launch to start work takes some microseconds; what is queued for longer waits for something else than the host.
_QUEUED_NS: Final = 100_000
# A host range that is not much longer than the gap is what filled it.
_FILLS: Final = 2
# More are not looked at one by one: the longest tell the story.
_MOST: Final = 4096
NOTHING: Final = "Python, outside any op"
"""What the CPU is in where no op, annotation or runtime call is recorded."""


@dataclass(frozen=True, eq=False)
class GapGroup:
    """Gaps during which the CPU was in one thing."""

    host_name: str
    total_ns: int
    count: int
    rows: I64
    """The host ranges that fill them, one for each gap; -1 where there is none."""
    following: I64
    """The activity that ends each gap."""


@dataclass(frozen=True)
class IdleGaps:
    """Gaps by what the CPU was in, the most idle time first."""

    total_ns: int
    groups: list[GapGroup]
    held_back_ns: int
    """How much of it is no fault of the host: see `held_back`."""

    @property
    def main(self) -> GapGroup | None:
        """The group with the most idle time."""
        return self.groups[0] if self.groups else None


@dataclass(frozen=True, eq=False)
class Gaps:
    """The gaps of the busiest device within the counted steps."""

    facts: Facts = field(repr=False)
    begin: I64
    end: I64
    following: I64
    """The activity that ends each."""

    @cached_property
    def held_back(self) -> I64:
        """How much of each gap is no fault of the host: see `held_back`."""
        return held_back(self.facts, self.begin, self.end, self.following)

    def within(self, begin: I64, end: I64) -> I64:
        """How much of each stretch of time [begin, end) the device idles, in nanoseconds."""
        before = np.concatenate(([0], np.cumsum(self.end - self.begin)))

        def idle_until(time: I64) -> I64:
            at = np.searchsorted(self.begin, time, side="right")
            over = np.maximum(0, self.end[np.maximum(at - 1, 0)] - time)
            result: I64 = before[at] - np.where(at > 0, over, 0)
            return result

        return idle_until(end) - idle_until(begin) if len(self.begin) else np.zeros(len(begin), np.int64)

    def longer_than(self, ns: float) -> IdleGaps:
        """The gaps of at least this length, grouped."""
        length = self.end - self.begin
        kept = np.flatnonzero(length >= max(SHORTEST_GAP_NS, ns))
        total, held = int(length[kept].sum()), int(self.held_back[kept].sum())
        kept = kept[np.argsort(-length[kept], kind="stable")][:_MOST]
        rows = _filling(self.facts, self.begin[kept], self.end[kept], self.following[kept])
        named: dict[str, list[int]] = {}
        for at, row in enumerate(rows.tolist()):
            named.setdefault(self.facts.trace.name(row) if row >= 0 else NOTHING, []).append(at)
        groups = [
            GapGroup(name, int(length[kept[some]].sum()), len(some), rows[some], self.following[kept[some]])
            for name, some in named.items()
        ]
        groups.sort(key=lambda group: -group.total_ns)
        return IdleGaps(total, groups, held)


def held_back(facts: Facts, begin: I64, end: I64, following: I64) -> I64:
    """How long, at the end of each gap, the activity that ends it was launched already and did not start.

    A stream that waits for an event, another rank's part of a collective, or work that is not in the file holds it
    back. 0 where it is no longer than launches take.
    """
    launch = facts.trace.activities.launch[following]
    launched = np.where(launch >= 0, facts.trace.rows.end[np.maximum(launch, 0)], end)
    queued = end - np.maximum(begin, launched)
    result: I64 = np.where(queued >= _QUEUED_NS, queued, 0)
    return result


def gaps_of(facts: Facts) -> Gaps:
    """Find them: all activity of the device fills the time, whoever launched it."""
    acts = facts.trace.activities
    counted = facts.counted
    if not counted.size:
        return Gaps(facts, counted, counted, counted)
    device = acts.device[counted]
    if (device == device[0]).all():
        busiest = device[0]
    else:
        devices, number = np.unique(device, return_inverse=True)
        busiest = devices[np.argmax(np.bincount(number.reshape(-1), weights=acts.dur[counted]))]
    mine = counted[device == busiest]
    begin, end = int(acts.ts[mine].min()), int(acts.end[mine].max())
    on = np.flatnonzero(acts.timed & (acts.device == busiest) & (acts.ts < end) & (acts.end > begin))
    on = on[np.argsort(acts.ts[on], kind="stable")]
    low, high = gaps(acts.ts[on], acts.end[on])
    inside = (low >= begin) & (high <= end)
    low, high = low[inside], high[inside]
    at = np.searchsorted(acts.ts[on], high)
    return Gaps(facts, low, high, on[np.minimum(at, len(on) - 1)])


def _filling(facts: Facts, low: I64, high: I64, following: I64) -> I64:
    """For each gap the outermost host range, on the thread that ends the gap, that is not much longer than the gap."""
    trace, rows = facts.trace, facts.trace.rows
    launch = trace.activities.launch[following]
    result = np.full(len(low), NONE, np.int64)
    known = np.flatnonzero(launch >= 0)
    if not known.size:
        return result
    middle = (low[known] + high[known]) // 2
    around = trace.host_forest.innermost(rows.thread[launch[known]], middle)
    length = high[known] - low[known]
    above = np.where(around >= 0, trace.host_rows[np.maximum(around, 0)], NONE)
    result[known] = above
    is_step = np.zeros(len(rows) + 1, bool)
    is_step[trace.steps.row] = True
    active = np.flatnonzero(above >= 0)
    while active.size:
        parent = facts.host_parents(above[active])
        short = (parent >= 0) & ~is_step[parent] & (rows.dur[np.maximum(parent, 0)] <= _FILLS * length[active])
        active, above_short = active[short], parent[short]
        above[active] = above_short
        result[known[active]] = above_short
    result[is_step[result]] = NONE
    return result
