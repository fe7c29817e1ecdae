"""Where work comes from: the path of annotations and ops around each range and each launch, as numbers.

A path is the chain of annotations and ops around a moment on its thread, outermost first; steps are no part of it.
Equal chains of names have one number, so that a file of any size has as many paths as it has distinct places.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.trace.kineto import Category
from foretrace.trace.model import NONE, TimeFault

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretrace.trace.model import Trace
    from foretrace.trace.nesting import Forest
    from foretrace.trace.raw import I32, I64

__all__ = ["Paths", "paths"]

_RANGES: Final = (Category.CPU_OP, Category.ANNOTATION)


@dataclass(frozen=True, eq=False)
class Paths:
    """The paths of one trace. Path -1 is the empty one: outside every annotation and op."""

    of_row: I64
    """For each row, the number of its own path, itself last; -1 for what is neither op nor annotation."""
    of_activity: I64
    """For each activity, the path around its launch; -1 outside everything, and for unlinked activity."""
    above: list[int]
    """For each path, the path one level up."""
    last: list[str]
    """For each path, the name it ends with."""
    is_op: list[bool]
    """For each path, whether it ends with an op (else with an annotation)."""
    _woods: Forest
    _of_range: I64
    _names: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def names(self, path: int) -> tuple[str, ...]:
        """The names along a path, outermost first."""
        known = self._names.get(path)
        if known is None:
            chain: list[str] = []
            at = path
            while at >= 0:
                chain.append(self.last[at])
                at = self.above[at]
            known = self._names[path] = tuple(reversed(chain))
        return known

    def ops(self, path: int, but: Callable[[str], bool] = lambda _: False) -> tuple[str, ...]:
        """The names of the ops along a path, outermost first, without those that ``but`` leaves out."""
        chain: list[str] = []
        at = path
        while at >= 0:
            if self.is_op[at] and not but(self.last[at]):
                chain.append(self.last[at])
            at = self.above[at]
        return tuple(reversed(chain))

    def around(self, thread: I32, time: I64) -> I64:
        """The path around each moment of a thread."""
        inner = self._woods.innermost(thread, time)
        if not self._of_range.size:
            return inner
        return np.where(inner >= 0, self._of_range[np.maximum(inner, 0)], NONE)

    def __len__(self) -> int:
        return len(self.last)


def paths(trace: Trace) -> Paths:
    """Number the paths of a trace, level by level."""
    rows = trace.rows
    is_range = np.isin(rows.category, np.array(_RANGES, np.uint8)) & (rows.fault == TimeFault.NONE)
    is_range[trace.steps.row] = False
    ranges = np.flatnonzero(is_range)
    woods = rows.forest(ranges)
    parent, depth = woods.parents(), woods.depths()
    of_range = np.full(len(ranges), NONE, np.int64)
    above: list[int] = []
    last: list[str] = []
    is_op: list[bool] = []
    # One key for (path above, name, op or annotation); -1 above is 0 here.
    names = 2 * rows.name[ranges].astype(np.int64) + (rows.category[ranges] == Category.CPU_OP)
    width = 2 * len(trace.strings) + 2
    by_depth = np.argsort(depth, kind="stable")
    cuts = np.flatnonzero(np.diff(depth[by_depth])) + 1
    for level in np.split(by_depth, cuts) if len(ranges) else []:
        outer = np.where(parent[level] >= 0, of_range[np.maximum(parent[level], 0)], NONE)
        keys, inverse = np.unique((outer + 1) * width + names[level], return_inverse=True)
        of_range[level] = len(last) + inverse
        above.extend((keys // width - 1).tolist())
        last.extend(trace.strings[number] for number in (keys % width // 2).tolist())
        is_op.extend((keys % width % 2 == 1).tolist())
    of_row = np.full(len(rows), NONE, np.int64)
    of_row[ranges] = of_range
    acts = trace.activities
    found = Paths(
        of_row=of_row,
        of_activity=np.full(len(acts), NONE, np.int64),
        above=above,
        last=last,
        is_op=is_op,
        _woods=woods,
        _of_range=of_range,
    )
    linked = np.flatnonzero(acts.linked)
    launch = acts.launch[linked]
    found.of_activity[linked] = found.around(rows.thread[launch], rows.ts[launch])
    return found
