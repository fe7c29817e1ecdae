"""The kernel table: device activity by name, owner, launch call and launch configuration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.trace.kineto import Category
from foretrace.trace.model import NONE
from foretrace.trace.raw import MISSING, MISSING32

if TYPE_CHECKING:
    from foretrace.analysis.timeline import Timeline
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

__all__ = ["KIND_NAMES", "OUTSIDE", "KernelRow", "kernel_table", "owner_names"]

KIND_NAMES: Final = {Category.KERNEL: "kernel", Category.MEMCPY: "memcpy", Category.MEMSET: "memset"}
OUTSIDE: Final = "outside any op"


@dataclass(frozen=True, eq=False)
class KernelRow:
    """Device activity that is alike in name, owner, launch call, registers, block, shared memory and graph."""

    name: str
    kind: str
    """``kernel``, ``memcpy`` or ``memset``."""
    calls: int
    calls_in_steps: int
    """Of these, in the steps that per-step figures are over (in the whole file where there are none)."""
    per_step: float | None
    """Calls a step; None for unlinked activity."""
    time_ns: int
    time_in_steps_ns: int
    share: float | None
    """Of the linked device time in those steps; None for unlinked activity."""
    owner: str | None
    """Name of the owner op, else of the innermost annotation or Python frame, else ``outside any op``; None when
    unlinked."""
    owner_kind: str | None
    """``op``, ``range`` or ``outside``."""
    launch: str | None
    """Name of the runtime call."""
    unlinked: bool
    graph: bool
    registers: int | None
    shared_memory: int | None
    block: tuple[int, int, int] | None
    grid: tuple[int, int, int] | None
    """The commonest grid of these calls."""
    bytes: int | None
    """Bytes moved by all these copies."""
    reported_occupancy_pct: int | None
    device: int | None
    min_ns: int
    max_ns: int
    first: int
    """Position in ``trace.activities`` of the first of them."""
    members: I64
    """Positions in ``trace.activities``, in file order."""


def owner_names(trace: Trace) -> tuple[list[str], I64]:
    """(texts, for each activity the position of its owner's name, or -1 where it is unlinked)."""
    acts = trace.activities
    outer = np.where(acts.outer >= 0, trace.rows.name[np.maximum(acts.outer, 0)], len(trace.strings))
    if len(trace.ops):
        op = trace.rows.name[trace.ops.row[np.maximum(acts.owner, 0)]]
        name = np.where(acts.owner >= 0, op, outer)
    else:
        name = outer
    return [*trace.strings, OUTSIDE], np.where(acts.linked, name, NONE).astype(np.int64)


# An odd multiplier spreads each key over all 64 bits (the golden ratio's, as in Fibonacci hashing).
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)


def _groups(keys: list[Any]) -> tuple[I64, I64]:
    """(for each row the number of its group, how often each occurs): rows of a group are equal in all keys.

    Keys are mixed into one 64-bit number and that is sorted; then each row is compared with its group's first, so
    that a collision cannot join what differs.
    """
    mixed = np.zeros(len(keys[0]), np.uint64)
    with np.errstate(over="ignore"):
        for key in keys:
            mixed = (mixed ^ (mixed >> np.uint64(29)) ^ key.astype(np.int64).view(np.uint64)) * _SPREAD
    _, first, code = np.unique(mixed, return_index=True, return_inverse=True)
    if not all((key == key[first[code]]).all() for key in keys):
        _, code = np.unique(np.stack([key.astype(np.int64) for key in keys]), axis=1, return_inverse=True)
    return code, np.bincount(code)


def kernel_table(trace: Trace, steps: Timeline) -> list[KernelRow]:
    """One row for each kind of activity, the longest in steps first, unlinked rows by their time among them."""
    acts = trace.activities
    if not len(acts):
        return []
    texts, owner = owner_names(trace)
    launch_name = np.where(acts.launch >= 0, trace.rows.name[np.maximum(acts.launch, 0)], NONE)
    owner_kind = np.where(acts.owner >= 0, 2, np.where(acts.outer >= 0, 1, 0))
    name = trace.rows.name[acts.row]
    code, sizes = _groups(
        [
            name,
            owner,
            owner_kind,
            launch_name,
            acts.registers,
            acts.block[:, 0],
            acts.block[:, 1],
            acts.block[:, 2],
            acts.shared_memory,
            acts.graph,
            acts.category,
        ]
    )
    grids = _commonest_grids(acts.grid, code, len(sizes))
    order = np.argsort(code, kind="stable")
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    used = np.zeros(len(trace.steps) + 1, bool)
    used[steps.used] = True
    in_steps = used[acts.step] if steps.used else acts.linked
    total = int(acts.dur[in_steps].sum())
    number = max(1, len(steps.used))
    rows = []
    for at in range(len(sizes)):
        members = order[bounds[at] : bounds[at + 1]]
        first = int(members[0])
        linked = bool(acts.linked[first])
        inside = members[in_steps[members]]
        time = int(acts.dur[members].sum())
        time_inside = int(acts.dur[inside].sum())
        per_step = len(inside) / number
        moved = acts.bytes[members]
        rows.append(
            KernelRow(
                name=texts[name[first]],
                kind=KIND_NAMES[Category(int(acts.category[first]))],
                calls=len(members),
                calls_in_steps=len(inside),
                per_step=(int(per_step) if per_step == int(per_step) else per_step) if linked else None,
                time_ns=time,
                time_in_steps_ns=time_inside,
                share=(time_inside / total if total else 0.0) if linked else None,
                owner=texts[owner[first]] if linked else None,
                owner_kind=("outside", "range", "op")[owner_kind[first]] if linked else None,
                launch=texts[launch_name[first]] if linked else None,
                unlinked=not linked,
                graph=bool(acts.graph[first]),
                registers=_known(acts.registers[first], MISSING32),
                shared_memory=_known(acts.shared_memory[first], MISSING32),
                block=_dims(acts.block[first], MISSING32),
                grid=grids[at],
                bytes=int(moved[moved != MISSING].sum()) if (moved != MISSING).any() else None,
                reported_occupancy_pct=_known(acts.occupancy_pct[first], MISSING32),
                device=_known(acts.device[first], MISSING),
                min_ns=int(acts.dur[members].min()),
                max_ns=int(acts.dur[members].max()),
                first=first,
                members=members,
            )
        )
    rows.sort(key=lambda row: (-row.time_in_steps_ns, -row.time_ns, row.first))
    return rows


def _known(value: Any, missing: int) -> int | None:
    return None if value == missing else int(value)


def _dims(values: Any, missing: int) -> tuple[int, int, int] | None:
    return None if (values == missing).any() else (int(values[0]), int(values[1]), int(values[2]))


def _commonest_grids(grid: Any, code: I64, groups: int) -> list[tuple[int, int, int] | None]:
    """For each group its commonest grid, None where no grid is known; of equally common ones the first in the file."""
    result: list[tuple[int, int, int] | None] = [None] * groups
    known = np.flatnonzero((grid != MISSING).all(axis=1))
    if not known.size:
        return result
    pair, sizes = _groups([code[known], *(grid[known, axis] for axis in range(3))])
    first = np.full(len(sizes), len(known), np.int64)
    np.minimum.at(first, pair, np.arange(len(known)))
    rows = known[first]
    for at in np.lexsort((-first, sizes)):
        result[int(code[rows[at]])] = _dims(grid[rows[at]], MISSING)
    return result
