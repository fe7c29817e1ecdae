"""Which range holds which: ranges of a thread as a forest, and the innermost range around a moment.

Ranges are half-open, [start, end). Of the ranges around a moment the innermost is the one with the latest start,
then the shortest, then the later in the file. Ranges may cross (clocks of a few microseconds do that): a range's
parent is the innermost range around its *start*, and nothing is dropped.

Sorted by (thread, start, longest first, file order), the parent of a range is the nearest earlier one that has not
ended. The C function looks back from each range. Its numpy twin skips dead neighbors by doubling: if c has ended when
i starts, whatever c itself skipped has, too; so most forests take few array passes, and a plain loop does what is left.
Moments are answered in order of time, which passes over each range once. Where the scanner was built, the other passes
that go range by range are in C as well.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from foretrace.trace import preorder
from foretrace.trace.preorder import NONE, Preorder, narrowed

if TYPE_CHECKING:
    import numpy.typing as npt

    from foretrace.trace.raw import I32, I64

__all__ = ["Forest", "forest", "forest_of_chosen", "nesting_order"]

_PASSES = 40
"""Array passes over the ranges before the rest is left to a loop."""


@dataclass(frozen=True, eq=False)
class Forest(Preorder):
    """Ranges in nesting order with their times."""

    thread: I32 | I64
    start: I64
    end: I64
    bounds: dict[int, tuple[int, int]]
    """For each thread, its first position and the one after its last."""

    def innermost(self, thread: I32 | I64, time: I64) -> I64:
        """For each (thread, time): which of the given ranges is innermost there, or -1."""
        found = self._at(thread, time)
        held = found >= 0
        result = np.full(len(found), NONE, np.int64)
        result[held] = self.original[found[held]]
        return result

    def _at(self, thread: I32 | I64, time: I64) -> I64:
        """The position of the innermost range around each moment, or -1."""
        if preorder.compiled is not None and self.thread.dtype == thread.dtype == np.int32:
            asked = np.ascontiguousarray(thread), np.ascontiguousarray(time, np.int64)
            found = np.empty(len(time), np.int64)
            if preorder.compiled.nest_innermost(self.thread, self.start, self.end, self.parent, *asked, found):
                return found
        return self._at_in_numpy(thread, time)

    def _at_in_numpy(self, thread: I32 | I64, time: I64) -> I64:
        at = np.full(len(time), NONE, np.int64)
        for number, chosen in _by_thread(thread):
            if number not in self.bounds:
                continue
            low, high = self.bounds[number]
            at[chosen] = low + np.searchsorted(self.start[low:high], time[chosen], side="right") - 1
            before = chosen[at[chosen] < low]
            at[before] = NONE
        late = np.flatnonzero(at >= 0)
        late = late[self.end[at[late]] <= time[late]]
        spent = 0
        # Level by level as long as that is less work than to list all ranges.
        while late.size and spent < len(self.parent):
            spent += len(late) + preorder.LEVEL
            at[late] = self.parent[at[late]]
            late = late[at[late] >= 0]
            late = late[self.end[at[late]] <= time[late]]
        if late.size:
            late = late[np.lexsort((time[late], at[late]))]
            at[late] = _climb(self.parent.tolist(), self.end.tolist(), at[late].tolist(), time[late].tolist())
        return at

    @cached_property
    def own_lengths(self) -> I64:
        """For each position, the range's length less what lies directly inside it, in nanoseconds."""
        if preorder.compiled is None:
            return own_in_numpy(self.start, self.end, self.parent)
        own = np.empty(len(self.start), np.int64)
        preorder.compiled.nest_own(self.start, self.end, self.parent, own)
        return own

    def crossings(self, counted: npt.NDArray[np.bool_]) -> int:
        """How many of the counted ranges end after their parent does; a parent that is not counted is looked past."""
        counted = counted[self.original]
        if preorder.compiled is not None:
            crossings: int = preorder.compiled.nest_crossings(self.end, self.parent, counted)
            return crossings
        above = self.around(counted)
        inner = np.flatnonzero(counted & (above >= 0))
        return int(np.count_nonzero(self.end[inner] > self.end[above[inner]]))


def _climb(parent: list[int], end: list[int], last: list[int], time: list[int]) -> list[int]:
    """The innermost range around each moment; ``last`` is the last that had begun, and both ascend."""
    found: list[int] = []
    begun = here = NONE
    for at, now in zip(last, time, strict=True):
        if at != begun:
            begun = here = at
        while here >= 0 and end[here] <= now:
            here = parent[here]
        found.append(here)
    return found


def _by_thread(thread: I32 | I64) -> list[tuple[int, Any]]:
    """(thread, the positions that are on it), for each thread."""
    if not len(thread):
        return []
    first = int(thread[0])
    if (thread == first).all():
        return [(first, np.arange(len(thread)))]
    order = np.argsort(thread, kind="stable")
    ranked = thread[order]
    cuts = np.flatnonzero(np.diff(ranked)) + 1
    return [(int(thread[part[0]]), part) for part in np.split(order, cuts)]


def nesting_order(thread: I32 | I64, start: I64, end: I64) -> I64:
    """Positions sorted by (thread, start, longest first, file order)."""
    if preorder.compiled is not None and thread.dtype == np.int32:
        order = np.empty(len(start), np.int64)
        if preorder.compiled.nest_order(*map(np.ascontiguousarray, (thread, start, end)), order):
            return order
    return order_in_numpy(thread, start, end)


def order_in_numpy(thread: I32 | I64, start: I64, end: I64) -> I64:
    """The nesting order. Files are nearly sorted, so ties are put right apart from the sort by time."""
    order = np.argsort(start, kind="stable")
    order = order[np.argsort(narrowed(thread)[order], kind="stable")]
    tied = (start[order][1:] == start[order][:-1]) & (thread[order][1:] == thread[order][:-1])
    if tied.any():
        touched = np.zeros(len(order), bool)
        touched[1:] |= tied
        touched[:-1] |= tied
        spots = np.flatnonzero(touched)
        some = order[spots]
        order[spots] = some[np.lexsort((some, ~end[some], start[some], thread[some]))]
    return order.astype(np.int64, copy=False)


def forest(thread: I32 | I64, start: I64, end: I64) -> Forest:
    """The forest of the ranges [start, end) on their threads."""
    original = nesting_order(thread, start, end)
    return forest_of_sorted(thread[original], start[original], end[original], original)


def forest_of_chosen(order: I64, thread: I32 | I64, start: I64, end: I64, chosen: I64) -> Forest:
    """The forest of some ranges (ascending), told by their positions in ``chosen``; ``order`` sorts all ranges."""
    chosen = np.ascontiguousarray(chosen, np.int64)
    if preorder.compiled is not None and thread.dtype == np.int32:
        original, starts, ends = (np.empty(len(chosen), np.int64) for _ in range(3))
        threads = np.empty(len(chosen), np.int32)
        columns = map(np.ascontiguousarray, (order, thread, start, end))
        if preorder.compiled.nest_pick(*columns, chosen, original, threads, starts, ends):
            return forest_of_sorted(threads, starts, ends, original)
    place = np.full(len(order), NONE, np.int64)
    place[chosen] = np.arange(len(chosen))
    at = order[place[order] >= 0]
    return forest_of_sorted(thread[at], start[at], end[at], place[at])


def forest_of_sorted(thread: I32 | I64, start: I64, end: I64, original: I64) -> Forest:
    """The forest of ranges that are in nesting order; ``original`` says which each of them is."""
    count = len(original)
    firsts = np.append(0, np.flatnonzero(thread[1:] != thread[:-1]) + 1) if count else np.zeros(0, np.int64)
    lasts = np.append(firsts[1:], count)
    bounds = (
        {int(thread[low]): (int(low), int(high)) for low, high in zip(firsts, lasts, strict=False)} if count else {}
    )
    if preorder.compiled is not None and thread.dtype == np.int32:
        parent = np.empty(count, np.int64)
        preorder.compiled.nest_parents(thread, start, end, parent)
    else:
        parent = parents_in_numpy(firsts, start, end)
    return Forest(original=original, parent=parent, thread=thread, start=start, end=end, bounds=bounds)


def parents_in_numpy(firsts: I64, start: I64, end: I64) -> I64:
    """The parent of each range, for ranges in nesting order; ``firsts`` are the first positions of the threads."""
    furthest = np.empty(len(end), np.int64)
    for low, high in itertools.pairwise([*firsts.tolist(), len(end)]):
        np.maximum.accumulate(end[low:high], out=furthest[low:high])
    parent = np.arange(-1, len(start) - 1, dtype=np.int64)
    # Where all that began before has ended there is no parent: this spares long looks back.
    is_outermost = np.append(True, furthest[:-1] <= start[1:])[: len(start)]
    is_outermost[firsts] = True
    parent[is_outermost] = NONE
    active = np.flatnonzero(~is_outermost)
    active = active[end[active - 1] <= start[active]]
    for _ in range(_PASSES):
        if not active.size:
            return parent
        parent[active] = parent[parent[active]]
        active = active[end[parent[active]] <= start[active]]
    # Long chains of ranges that have their parents are not halved; each of them is passed over once this way.
    parent[active] = active - 1
    return np.array(_look_back(active.tolist(), parent.tolist(), start.tolist(), end.tolist()), np.int64)


def _look_back(late: list[int], parent: list[int], start: list[int], end: list[int]) -> list[int]:
    for at in late:
        above, begin = parent[at], start[at]
        while above >= 0 and end[above] <= begin:
            above = parent[above]
        parent[at] = above
    return parent


def own_in_numpy(start: I64, end: I64, parent: I64) -> I64:
    """The length of each range, for ranges in nesting order, less what lies directly inside it."""
    inner = np.flatnonzero(parent >= 0)
    outer = parent[inner]
    own = end - start
    np.subtract.at(own, outer, np.minimum(end[inner], end[outer]) - start[inner])
    return own
