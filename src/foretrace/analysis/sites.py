"""Sites: device activity that is alike in what it is and where it comes from, counted and timed by step.

A site is one name under one path of annotations and ops, with the owner's input shapes and the launch call. It is
what evidence shows ("this copy, launched by these ops") and what two traces are compared by.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.launches import KIND_NAMES
from foretrace.analysis.shapes import shapes_text
from foretrace.analysis.timeline import Count, Spread
from foretrace.trace.kineto import Category
from foretrace.trace.model import NONE
from foretrace.trace.raw import MISSING

if TYPE_CHECKING:
    from foretrace.analysis.paths import Paths
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

__all__ = ["Site", "by_slot", "sites"]

_NO_INPUTS: Final = -2


@dataclass(frozen=True, eq=False)
class Site:
    """Activities of one name that come from one place."""

    kind: str
    """``kernel``, ``memcpy`` or ``memset``."""
    name: str
    path: tuple[str, ...]
    """Annotations and ops around the launch, outermost first; empty outside everything."""
    in_op: bool
    """An op owns it."""
    frame: str | None
    """The Python frame that launched it, where no op did."""
    shapes: str
    """Input shapes of the owner op, e.g. ``bf16[8,16,1024,64]``; empty where they were not recorded."""
    launch: str | None
    """The runtime call; None for unlinked activity."""
    graph: bool
    """Launched by a graph replay."""
    counts: I64
    """How many in each step."""
    times: I64
    """Their device time in each step, in nanoseconds."""
    bytes: int | None
    """Bytes that one of them moves; None for kernels, and where they differ or are not known."""
    first: int
    """Position in ``trace.activities`` of the first of them."""
    members: I64
    """Positions in ``trace.activities``, in file order."""

    @cached_property
    def count(self) -> Count:
        """A step."""
        return Count.of(self.counts.tolist())

    @cached_property
    def time_ns(self) -> Spread:
        """Device time a step."""
        return Spread.of(self.times.tolist())


def sites(trace: Trace, where: Paths, chosen: I64, slot: I64, slots: int) -> list[Site]:
    """The sites of some activities (``chosen``), in order of their first launch.

    ``slot`` gives for each chosen activity the step it counts for, from 0 to ``slots`` - 1.
    """
    if not chosen.size:
        return []
    acts, rows, ops = trace.activities, trace.rows, trace.ops
    name = rows.name[acts.row[chosen]].astype(np.int64)
    launch_row = acts.launch[chosen]
    launch = np.where(launch_row >= 0, rows.name[np.maximum(launch_row, 0)], NONE).astype(np.int64)
    owner = acts.owner[chosen]
    held = owner >= 0
    dims, types = (np.full(len(chosen), _NO_INPUTS, np.int64) for _ in range(2))
    dims[held], types[held] = ops.dims[owner[held]], ops.types[owner[held]]
    path = where.of_activity[chosen]
    keys = [
        acts.category[chosen].astype(np.int64),
        name,
        path,
        launch,
        dims,
        types,
        acts.graph[chosen].astype(np.int64),
    ]
    code, first = _groups(keys)
    order = np.argsort(code, kind="stable")
    bounds = np.searchsorted(code[order], np.arange(len(first) + 1))
    began = np.where(launch_row >= 0, rows.ts[np.maximum(launch_row, 0)], acts.ts[chosen])
    found = []
    for at in range(len(first)):
        some = order[bounds[at] : bounds[at + 1]]
        lead = some[int(np.argmin(began[some]))]
        members = chosen[some]
        act = int(chosen[lead])
        counts, times = by_slot(slot[some], acts.dur[members], slots)
        moved = acts.bytes[members]
        same = bool(moved[0] != MISSING and (moved == moved[0]).all())
        kind = Category(int(acts.category[act]))
        outer = int(acts.outer[act])
        frame = trace.name(outer) if outer >= 0 and rows.category[outer] == Category.PYTHON else None
        found.append(
            (
                int(began[lead]),
                Site(
                    kind=KIND_NAMES[kind],
                    name=trace.name(int(acts.row[act])),
                    path=where.names(int(path[lead])),
                    in_op=bool(held[lead]),
                    frame=frame,
                    shapes=shapes_text(trace, int(owner[lead])) if held[lead] else "",
                    launch=trace.strings[int(launch[lead])] if launch[lead] >= 0 else None,
                    graph=bool(acts.graph[act]),
                    counts=counts,
                    times=times,
                    bytes=int(moved[0]) if same and kind != Category.KERNEL else None,
                    first=act,
                    members=members,
                ),
            )
        )
    found.sort(key=lambda item: (item[0], item[1].first))
    return [site for _, site in found]


def _groups(keys: list[I64]) -> tuple[I64, I64]:
    """(for each row its group, for each group its first row): equal in all keys."""
    code = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        _, inverse = np.unique(key, return_inverse=True)
        _, code = np.unique(code * (int(inverse.max()) + 1) + inverse, return_inverse=True)
    _, first = np.unique(code, return_index=True)
    return code, first


def by_slot(slot: I64, time: I64, slots: int) -> tuple[I64, I64]:
    """(how many, how long) in each of so many steps."""
    counts: I64 = np.bincount(slot, minlength=slots)
    times = np.zeros(slots, np.int64)
    np.add.at(times, slot, time)
    return counts, times
