"""Times of a step: device, busy, CPU, period, and what bounds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foretrace.analysis.intervals import union_length
from foretrace.analysis.metrics.metric import Figure, absent, over_steps
from foretrace.analysis.metrics.selected import chosen_activities
from foretrace.analysis.timeline import Spread

if TYPE_CHECKING:
    from foretrace.analysis.metrics.basis import Basis
    from foretrace.analysis.metrics.quantity import Select
    from foretrace.analysis.timeline import Step
    from foretrace.trace.raw import I64

__all__ = ["bound", "busy", "busy_share", "cpu_time", "device_time", "lag", "period"]

_SOURCE = {
    "host": "Some step has no device activity: the period is that of the steps' starts on the host.",
    "window": "One step or none: it is the time from first to last device activity.",
}


def device_time(basis: Basis, select: Select) -> Figure:
    """Sum of the durations of device activity."""
    acts = basis.trace.activities
    chosen = np.flatnonzero(chosen_activities(basis, select))
    totals = np.zeros(basis.ground.slots, np.int64)
    np.add.at(totals, basis.ground.activity_slot[chosen], acts.dur[chosen])
    return over_steps(totals, activities=chosen)


def busy(basis: Basis, select: Select) -> Figure:
    """Length of the union of device activity, on the device where it is longest."""
    chosen = np.flatnonzero(chosen_activities(basis, select))
    return over_steps(_busy(basis, chosen), activities=chosen)


def _busy(basis: Basis, chosen: I64) -> list[int]:
    acts, slots = basis.trace.activities, basis.ground.slots
    timed = chosen[acts.timed[chosen]]
    slot = basis.ground.activity_slot[timed]
    devices, device = np.unique(acts.device[timed], return_inverse=True)
    order = np.argsort(slot, kind="stable")
    bounds = np.searchsorted(slot[order], np.arange(slots + 1))
    result = []
    for at in range(slots):
        part = order[bounds[at] : bounds[at + 1]]
        lengths = []
        for number in range(len(devices)):
            on = timed[part[device[part] == number]]
            lengths.append(union_length(acts.ts[on], acts.end[on]))
        result.append(max(lengths, default=0))
    return result


def cpu_time(basis: Basis, _select: Select) -> Figure:
    """Length of the step on the host; of a scope, the length of its calls."""
    if basis.scope is None:
        return over_steps([step.cpu_time_ns for step in _steps(basis)])
    calls = basis.outermost()
    totals = np.zeros(basis.ground.slots, np.int64)
    np.add.at(totals, basis.ground.row_slot(calls), basis.trace.rows.dur[calls])
    return over_steps(totals, rows=calls)


def lag(basis: Basis, _select: Select) -> Figure:
    """The longest wait between a launch and its activity."""
    return over_steps([step.lag_ns for step in _steps(basis)])


def _steps(basis: Basis) -> list[Step]:
    line = basis.ground.timeline
    return [line.steps[at] for at in line.used] if line.window is None else [line.window]


def period(basis: Basis, _select: Select) -> Figure:
    """The median distance between the first device activities of successive steps."""
    figures = basis.ground.timeline.per_step
    if figures.period_ns is None:
        return absent("no step has device activity with times, so that there is no period.")
    return Figure(figures.period_ns, note=_SOURCE.get(figures.period_of, ""))


def busy_share(basis: Basis, select: Select) -> Figure:
    """Busy time per step over the period."""
    figures = basis.ground.timeline.per_step
    if not figures.period_ns or figures.busy_share is None:
        return absent("no step has device activity with times, so that there is no period.")
    note = _SOURCE.get(figures.period_of, "")
    if basis.scope is None and not select.given():
        return Figure(figures.busy_share, note=note)
    chosen = np.flatnonzero(chosen_activities(basis, select))
    return Figure(Spread.of(_busy(basis, chosen)).median / figures.period_ns, note=note, activities=chosen)


def bound(basis: Basis, _select: Select) -> Figure:
    """What a step waits for."""
    word = basis.ground.timeline.per_step.bound
    if word == "unknown":
        return absent("no step has device activity with times, so that its bound is unknown.")
    return Figure(word)
