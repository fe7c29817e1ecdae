"""Overhead records by whose doing they are: the profiler's, the loading of code, or a full launch queue.

Kineto has a single category for all that CUPTI reports as overhead. But CUDA brings modules and kernels to the device
at their first use with a profiler or without, and a launch waits for room in the queue likewise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

__all__ = ["LOADING", "PROFILER", "Overhead", "overhead_kind", "overhead_parts"]

PROFILER: Final = "the profiler's own work"
LOADING: Final = "loading code to the device at its first use"
_QUEUE: Final = "waiting for room in the launch queue"
_SHORT: Final = {PROFILER: PROFILER, LOADING: "loading code", _QUEUE: "a full launch queue"}
# As CUPTI's kinds are spelled; what is not here is the profiler's.
_KINDS: Final = {
    "Driver Compiler": LOADING,
    "Lazy Function Loading": LOADING,
    "Runtime Triggered Module Loading": LOADING,
    "Command Buffer Full": _QUEUE,
}


@dataclass(frozen=True)
class Overhead:
    """The records of one kind."""

    kind: str
    """In words, e.g. ``the profiler's own work``."""
    short: str
    """In few words, for a title."""
    names: tuple[str, ...]
    """Of the records, in order."""
    count: int
    time_ns: int


def overhead_kind(name: str) -> str:
    """Whose doing a record of this name is, in words."""
    return _KINDS.get(name, PROFILER)


def overhead_parts(trace: Trace, rows: I64) -> list[Overhead]:
    """Some overhead records by kind, the profiler's first; a kind that has none is left out."""
    names = [trace.name(int(row)) for row in rows]
    kinds = np.array([overhead_kind(name) for name in names])
    found = []
    for kind in (PROFILER, LOADING, _QUEUE):
        chosen = np.flatnonzero(kinds == kind)
        if chosen.size:
            own = tuple(sorted({names[at] for at in chosen}))
            time = int(trace.rows.dur[rows[chosen]].sum())
            found.append(Overhead(kind, _SHORT[kind], own, len(chosen), time))
    return found
