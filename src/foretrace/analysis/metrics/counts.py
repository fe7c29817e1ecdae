"""Counts of a step: device activity, launches, syncs, ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foretrace.analysis.copies import direction
from foretrace.analysis.metrics.attention import attention_rows
from foretrace.analysis.metrics.metric import Figure, absent, counted
from foretrace.analysis.metrics.selected import chosen_activities, chosen_rows
from foretrace.trace.kineto import SYNC_NAME, Category
from foretrace.trace.raw import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from foretrace.analysis.metrics.basis import Basis
    from foretrace.analysis.metrics.quantity import Select
    from foretrace.trace.raw import I64

    Mask = npt.NDArray[np.bool_]

__all__ = [
    "activity_count",
    "attention_calls",
    "calls",
    "copied_bytes",
    "copies",
    "launches",
    "ops",
    "steps",
    "syncs",
    "unlinked",
]


def activity_count(*kinds: Category) -> Callable[[Basis, Select], Figure]:
    """A metric that counts device activity of some kinds."""

    def figure(basis: Basis, select: Select) -> Figure:
        chosen = np.flatnonzero(chosen_activities(basis, select, *kinds))
        return counted(_by_slot(basis, basis.ground.activity_slot[chosen]), activities=chosen)

    return figure


def _by_slot(basis: Basis, slots: I64) -> I64:
    result: I64 = np.bincount(slots, minlength=basis.ground.slots)
    return result


def copies(way: str) -> Callable[[Basis, Select], Figure]:
    """A metric that counts the memcpys of one direction."""

    def figure(basis: Basis, select: Select) -> Figure:
        chosen = np.flatnonzero(chosen_activities(basis, select, Category.MEMCPY) & _goes(basis, way))
        return counted(_by_slot(basis, basis.ground.activity_slot[chosen]), activities=chosen)

    return figure


def _goes(basis: Basis, way: str) -> Mask:
    strings = basis.trace.strings
    result: Mask = basis.ground.by_name(lambda name: direction(strings[name]) == way)
    return result


def copied_bytes(way: str | None = None) -> Callable[[Basis, Select], Figure]:
    """A metric of the bytes that memcpys move, in one direction or all."""

    def figure(basis: Basis, select: Select) -> Figure:
        mask = chosen_activities(basis, select, Category.MEMCPY)
        if way is not None:
            mask &= _goes(basis, way)
        chosen = np.flatnonzero(mask)
        moved = basis.trace.activities.bytes[chosen]
        unknown = int(np.count_nonzero(moved == MISSING))
        if unknown:
            return absent(f"{unknown} of {len(chosen)} memcpys do not say how many bytes they moved.")
        totals = np.zeros(basis.ground.slots, np.int64)
        np.add.at(totals, basis.ground.activity_slot[chosen], moved)
        return counted(totals, activities=chosen)

    return figure


def launches(basis: Basis, select: Select) -> Figure:
    """Launches."""
    return _calls(basis, select, basis.trace.launches)


def syncs(basis: Basis, select: Select) -> Figure:
    """Runtime calls in which the host waits for the device."""
    trace = basis.trace
    calls = trace.rows_of(Category.RUNTIME, Category.DRIVER)
    names, inverse = np.unique(trace.rows.name[calls], return_inverse=True)
    waits = np.array([SYNC_NAME.match(trace.strings[name]) is not None for name in names], bool)
    return _calls(basis, select, calls[waits[inverse]] if len(names) else calls)


def _calls(basis: Basis, select: Select, calls: I64) -> Figure:
    rows = chosen_rows(basis, select, basis.rows(calls))
    return counted(_by_slot(basis, basis.ground.row_slot(rows)), rows=rows)


def ops(basis: Basis, select: Select) -> Figure:
    """Ops; of a scope, itself and those inside it."""
    inside = np.flatnonzero(basis.ops & (basis.ground.op_slot >= 0))
    rows = chosen_rows(basis, select, basis.trace.ops.row[inside].astype(np.int64))
    return counted(_by_slot(basis, basis.ground.row_slot(rows)), rows=rows)


def calls(basis: Basis, _select: Select) -> Figure:
    """Calls of the op or annotation that figures are narrowed to."""
    if basis.scope is None:
        return absent("calls are counted of an op or an annotation: name one.")
    return counted(_by_slot(basis, basis.ground.row_slot(basis.calls)), rows=basis.calls)


def attention_calls(basis: Basis, _select: Select) -> Figure:
    """Attention calls."""
    rows = attention_rows(basis)
    return counted(_by_slot(basis, basis.ground.row_slot(rows)), rows=rows)


def steps(basis: Basis, _select: Select) -> Figure:
    """Steps that per-step figures are over."""
    return Figure(len(basis.ground.timeline.used))


def unlinked(basis: Basis, _select: Select) -> Figure:
    """Activity whose launch is not in the file."""
    lost = np.flatnonzero(~basis.trace.activities.linked)
    return Figure(len(lost), activities=lost)
