"""What follows from parents alone: depths, sums over all that lies inside, the range of the same name around.

Ranges in nesting order are a preorder: parents come first, and the parent of a range is the one before it or around
that one. So each question is one pass, however deep the ranges lie. The passes are in C where the scanner was built.
Elsewhere each range asks the one it has reached how far that has come, which doubles the way with each array pass.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

compiled: Any = None
"""The passes in C; None where the scanner was not built."""
with suppress(ImportError):
    from foretrace.trace import _scan as compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from foretrace.trace.raw import I32, I64

__all__ = ["LEVEL", "NONE", "Preorder", "narrowed"]

NONE = -1

LEVEL = 1000
"""What one more level costs, in ranges looked at."""


@dataclass(frozen=True, eq=False)
class Preorder:
    """Ranges in nesting order by their parents; positions count in that order, and ``original`` leads back."""

    original: I64
    """For each position, which of the given ranges it is."""
    parent: I64
    """The position of the range around this one's start, or -1."""

    def parents(self) -> I64:
        """For each of the given ranges, which of them is its parent, or -1."""
        return self._given(np.append(self.original, NONE)[self.parent])

    @cached_property
    def place(self) -> I64:
        """For each of the given ranges, its position."""
        place = np.empty(len(self.original), np.int64)
        place[self.original] = np.arange(len(place))
        return place

    def depths(self) -> I64:
        """For each of the given ranges, how many ranges lie around its start."""
        if compiled is None:
            return self._given(_depths(self.parent))
        depth = np.empty(len(self.parent), np.int64)
        compiled.nest_depths(self.parent, depth)
        return self._given(depth)

    def sums(self, values: I64) -> I64:
        """For each of the given ranges, its value and those of all ranges inside it."""
        total: I64 = values[self.original].astype(np.int64, copy=False)
        if compiled is not None:
            compiled.nest_sums(self.parent, total)
        else:
            running = np.append(0, np.cumsum(total))
            total = running[_lasts(self.parent) + 1] - running[:-1]
        return self._given(total)

    def is_inside_alike(self, name: I32 | I64) -> npt.NDArray[np.bool_]:
        """Which of the given ranges lie, however deep, inside one of the same name; names are numbers from 0."""
        name = name[self.original].astype(np.int32)
        alike = np.empty(len(self.parent), np.int64)
        done = compiled is not None and compiled.nest_alike(self.parent, name, alike)
        result = np.empty(len(alike), bool)
        result[self.original] = alike >= 0 if done else _is_inside_alike(self.parent, name)
        return result

    def is_inside(self, counted: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Which of the given ranges are counted or lie, however deep, inside one that is."""
        result = counted.copy()
        result[self.original] |= self.around(counted[self.original]) >= 0
        return result

    def climb(self, ranges: I64, counted: npt.NDArray[np.bool_]) -> I64:
        """For some of the given ranges (-1: none), the innermost counted one that each is or lies in, or -1."""
        result = np.full(len(ranges), NONE, np.int64)
        held = np.flatnonzero(ranges >= 0)
        found = self.climb_from(self.place[ranges[held]], lambda at: counted[self.original[at]])
        up = found >= 0
        result[held[up]] = self.original[found[up]]
        return result

    def climb_from(self, at: I64, counted: Callable[[I64], npt.NDArray[np.bool_]]) -> I64:
        """For positions, the innermost position that each is or lies in and that ``counted`` is true of, or -1."""
        result = np.full(len(at), NONE, np.int64)
        active, above, spent = np.arange(len(at)), at, 0
        # Level by level as long as that is less work than to look at all ranges.
        while active.size and spent < len(self.parent):
            spent += len(active) + LEVEL
            found = counted(above)
            result[active[found]] = above[found]
            above = self.parent[above]
            rest = ~found & (above >= 0)
            active, above = active[rest], above[rest]
        if active.size:
            every = counted(np.arange(len(self.parent)))
            result[active] = np.where(every[above], above, self.around(every)[above])
        return result

    def climb_out(self, ranges: I64, counted: npt.NDArray[np.bool_]) -> I64:
        """For some of the given ranges (-1: none), the outermost counted one that each is or lies in, or -1."""
        outermost = counted.copy()
        outermost[self.original] &= self.around(counted[self.original]) < 0
        return self.climb(ranges, outermost)

    def around(self, counted: npt.NDArray[np.bool_]) -> I64:
        """For each position, that of the innermost counted range around it, or -1; ``counted`` is by position."""
        if compiled is None:
            return _around(self.parent, counted)
        around = np.empty(len(self.parent), np.int64)
        compiled.nest_around(self.parent, np.ascontiguousarray(counted, bool), around)
        return around

    def _given(self, values: I64) -> I64:
        """What is known by position, by the given ranges."""
        result = np.empty(len(values), np.int64)
        result[self.original] = values
        return result


def _depths(parent: I64) -> I64:
    depth = (parent >= 0).astype(np.int64)
    reached = parent.copy()
    active = np.flatnonzero(reached >= 0)
    while active.size:
        above = reached[active]
        depth[active] += depth[above]
        reached[active] = reached[above]
        active = active[reached[active] >= 0]
    return depth


def _lasts(parent: I64) -> I64:
    """The last position inside each range, or its own: what lies inside a range comes right after it."""
    last = np.arange(len(parent))
    inner = np.flatnonzero(parent >= 0)
    # Of several ranges inside one the last stays.
    last[parent[inner]] = inner
    active = np.flatnonzero(last != np.arange(len(parent)))
    while active.size:
        before = last[active]
        last[active] = last[before]
        active = active[last[active] != before]
    return last


def _is_inside_alike(parent: I64, name: I32) -> npt.NDArray[np.bool_]:
    """Which positions lie inside one of the same name: one before them that ends after them."""
    order = np.argsort(narrowed(name), kind="stable")
    # Each name has places of its own, so that the furthest last place so far is that of a range of the same name.
    place = name[order].astype(np.int64) * len(name)
    furthest = np.maximum.accumulate(place + _lasts(parent)[order])
    result = np.zeros(len(name), bool)
    result[order[1:]] = furthest[:-1] >= (place + order)[1:]
    return result


def _around(parent: I64, counted: npt.NDArray[np.bool_]) -> I64:
    around = parent.copy()
    active = np.flatnonzero(around >= 0)
    active = active[~counted[around[active]]]
    while active.size:
        around[active] = around[around[active]]
        active = active[around[active] >= 0]
        active = active[~counted[around[active]]]
    return around


def narrowed(numbers: I32 | I64) -> npt.NDArray[np.integer]:
    """The same numbers in 16 bits if they fit, which are sorted in much less time."""
    fit = len(numbers) and numbers.min() >= 0 and numbers.max() < 1 << 16
    return numbers.astype(np.uint16) if fit else numbers
