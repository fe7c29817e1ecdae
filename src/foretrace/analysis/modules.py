"""Time by ``nn.Module``, where Python stacks were recorded.

The profiler writes the forward of each module as a Python frame named ``nn.Module: CLASS_N``. Activity belongs to
the innermost such frame around its launch; activity of a backward op to the frame around its forward op.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from foretrace.errors import MissingDataError
from foretrace.trace.kineto import MODULE_FRAME, Category
from foretrace.trace.model import NONE, TimeFault
from foretrace.trace.nesting import forest

if TYPE_CHECKING:
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

__all__ = ["ModuleRow", "module_table"]


@dataclass(frozen=True)
class ModuleRow:
    """All calls of one module, told by the path of modules around it."""

    path: tuple[str, ...]
    """Class names with their numbers, outermost first: ``("LlamaModel_0", "LlamaMLP_3")``."""
    calls: int
    cpu_total_ns: int
    device_self_ns: int
    device_total_ns: int
    activities: int
    """Activities launched in it and in no module inside it (forward and backward)."""

    def to_json(self) -> dict[str, Any]:
        """Plain values; the path as a list."""
        return {**vars(self), "path": list(self.path)}


def module_table(trace: Trace) -> list[ModuleRow]:
    """Modules in the order they first ran.

    Raises:
        MissingDataError: no module frames were recorded.
    """
    rows = trace.rows
    is_module = np.array([text.startswith(MODULE_FRAME) for text in trace.strings], bool)
    frames = trace.rows_of(Category.PYTHON)
    frames = frames[is_module[rows.name[frames]] & (rows.fault[frames] == TimeFault.NONE)]
    if not frames.size:
        raise MissingDataError(
            f"{trace.file}: no nn.Module frames were recorded; profile with with_stack=True (or with_modules=True) "
            "to see time by module."
        )
    woods = forest(rows.thread[frames], rows.ts[frames], rows.end[frames])
    above = woods.parents()
    path_of, paths = _paths(trace, frames, woods.original, above)
    own = np.zeros(len(paths), np.int64)
    count = np.zeros(len(paths), np.int64)
    frame = _frame_of_activity(trace, woods)
    held = np.flatnonzero(frame >= 0)
    np.add.at(own, path_of[frame[held]], trace.activities.dur[held])
    np.add.at(count, path_of[frame[held]], 1)
    total = {path: int(own[at]) for path, at in paths.items()}
    for path, at in paths.items():
        for cut in range(1, len(path)):
            total[path[:cut]] += int(own[at])
    calls = np.bincount(path_of, minlength=len(paths))
    cpu = np.zeros(len(paths), np.int64)
    np.add.at(cpu, path_of, rows.dur[frames])
    return [
        ModuleRow(
            path=path,
            calls=int(calls[at]),
            cpu_total_ns=int(cpu[at]),
            device_self_ns=int(own[at]),
            device_total_ns=total[path],
            activities=int(count[at]),
        )
        for path, at in paths.items()
    ]


def _paths(trace: Trace, frames: I64, order: I64, above: I64) -> tuple[I64, dict[tuple[str, ...], int]]:
    """(for each frame the number of its path, the paths by first run with every prefix present)."""
    rows = trace.rows
    names: list[tuple[str, ...]] = [()] * len(frames)
    paths: dict[tuple[str, ...], int] = {}
    numbers = np.zeros(len(frames), np.int64)
    for spot in order:
        label = trace.strings[rows.name[frames[spot]]][len(MODULE_FRAME) :]
        parent = int(above[spot])
        path = (*(names[parent] if parent >= 0 else ()), label)
        names[spot] = path
        numbers[spot] = paths.setdefault(path, len(paths))
    return numbers, paths


def _frame_of_activity(trace: Trace, woods: Any) -> I64:
    """For each activity the innermost module frame around its launch, or around its forward op; -1 for none."""
    acts, rows, ops = trace.activities, trace.rows, trace.ops
    result = np.full(len(acts), NONE, np.int64)
    linked = np.flatnonzero(acts.linked)
    launch = acts.launch[linked]
    result[linked] = woods.innermost(rows.thread[launch], rows.ts[launch])
    missing = linked[(result[linked] < 0) & (acts.owner[linked] >= 0)]
    if not missing.size:
        return result
    ahead = _forward_of_owner(trace, acts.owner[missing])
    known = np.flatnonzero(ahead >= 0)
    row = ops.row[ahead[known]]
    result[missing[known]] = woods.innermost(rows.thread[row], rows.ts[row])
    return result


def _forward_of_owner(trace: Trace, owner: I64) -> I64:
    """For each op, the forward op of itself or of the nearest op around it that has one."""
    forward = trace.ops.forward
    return np.append(forward, NONE)[trace.op_nesting.climb(owner, forward >= 0)]
