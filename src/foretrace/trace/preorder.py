"""What follows from parents alone: depths, sums over all that lies inside, the range of the same name around.

Ranges in nesting order are a preorder: parents come first, and the parent of a range is the one before it or around
that one. So each question is one pass, however deep the ranges lie. The passes are in C where the scanner was built,
and plain loops elsewhere.
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

__all__ = ["LEVEL", "NONE", "Preorder"]

NONE = -1

LEVEL = 1000
"""What one more level costs, in ranges looked at."""


@dataclass(frozen=True)
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
        depth = np.zeros(len(self.parent), np.int64)
        if compiled is not None:
            compiled.nest_depths(self.parent, depth)
        else:
            depth[:] = _depths(self.parent.tolist())
        return self._given(depth)

    def sums(self, values: I64) -> I64:
        """For each of the given ranges, its value and those of all ranges inside it."""
        total: I64 = values[self.original].astype(np.int64, copy=False)
        if compiled is not None:
            compiled.nest_sums(self.parent, total)
        else:
            # What lies inside a range comes right after it.
            running = np.append(0, np.cumsum(total))
            total = running[np.arange(len(total)) + _sizes(self.parent.tolist())] - running[:-1]
        return self._given(total)

    def is_inside_alike(self, name: I32 | I64) -> npt.NDArray[np.bool_]:
        """Which of the given ranges lie, however deep, inside one of the same name; names are numbers from 0."""
        name = name[self.original].astype(np.int32)
        alike = np.empty(len(self.parent), np.int64)
        if compiled is None or not compiled.nest_alike(self.parent, name, alike):
            alike[:] = _alike(self.parent.tolist(), name.tolist())
        result = np.empty(len(alike), bool)
        result[self.original] = alike >= 0
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
        around = np.empty(len(self.parent), np.int64)
        if compiled is not None:
            compiled.nest_around(self.parent, np.ascontiguousarray(counted, bool), around)
        else:
            around[:] = _around(self.parent.tolist(), counted.tolist())
        return around

    def _given(self, values: I64) -> I64:
        """What is known by position, by the given ranges."""
        result = np.empty(len(values), np.int64)
        result[self.original] = values
        return result


def _depths(parent: list[int]) -> list[int]:
    depth: list[int] = []
    for above in parent:
        depth.append(depth[above] + 1 if above >= 0 else 0)
    return depth


def _sizes(parent: list[int]) -> I64:
    """How many ranges each is with all inside it."""
    sizes = [1] * len(parent)
    for at in range(len(parent) - 1, -1, -1):
        if parent[at] >= 0:
            sizes[parent[at]] += sizes[at]
    return np.array(sizes, np.int64)


def _alike(parent: list[int], name: list[int]) -> list[int]:
    alike: list[int] = []
    latest: dict[int, int] = {}
    for at, above in enumerate(parent):
        closed = at - 1
        while closed != above:
            latest[name[closed]] = alike[closed]
            closed = parent[closed]
        alike.append(latest.get(name[at], NONE))
        latest[name[at]] = at
    return alike


def _around(parent: list[int], counted: list[bool]) -> list[int]:
    around: list[int] = []
    for above in parent:
        around.append(above if above < 0 or counted[above] else around[above])
    return around
