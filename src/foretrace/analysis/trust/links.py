"""Doubts about who launched what: activity without a launch, launches without activity, graphs, ids."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.analysis.trust.doubt import Doubt, kinds_text
from foretrace.trace.distinct import distinct
from foretrace.trace.kineto import Category
from foretrace.trace.nesting import forest
from foretrace.units import count_text, time_scale, time_text

if TYPE_CHECKING:
    from foretrace.analysis.timeline import Timeline
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

__all__ = [
    "external_ids",
    "graph_replay",
    "launches_without_activity",
    "missing_activity",
    "outside_steps",
    "unlinked_activity",
]

# Damage after which events are missing that the recording held: what is left is no true count.
_INCOMPLETE: Final = ("cut-off", "given-up", "broken-event", "garbage")


def unlinked_activity(trace: Trace, steps: Timeline) -> Doubt | None:
    """Activity whose launch is not in the file, and what it does to other tools' totals."""
    acts = trace.activities
    lost = np.flatnonzero(~acts.linked)
    if not lost.size:
        return None
    time = int(acts.dur[lost].sum())
    host = trace.rows_of(Category.CPU_OP, Category.ANNOTATION, Category.RUNTIME, Category.DRIVER)
    calls = trace.count(Category.RUNTIME, Category.DRIVER)
    begin = int(trace.rows.ts[host].min()) if host.size else 0
    early = bool(calls) and bool((acts.ts[lost] <= begin + _queue(trace)).all())
    verb = "was" if len(lost) == 1 else "were"
    why = (
        f"{verb} launched before the recording"
        if early
        else (f"{verb} recorded without a launch" if calls else f"{verb} recorded, but no launches were")
    )
    head = f"{kinds_text(trace, lost)} ({time_text(time)}) {why}."
    return Doubt("unlinked-activity", len(lost), time, head + _other_totals(trace, steps, lost, time))


def _queue(trace: Trace) -> int:
    """How late the first linked activity of the recording started: what is unlinked before it was queued earlier."""
    acts = trace.activities
    good = acts.linked & acts.timed
    return int(acts.ts[good].min()) if good.any() else 0


def _other_totals(trace: Trace, steps: Timeline, lost: I64, time: int) -> str:
    """What a step has without and with them, both as a mean over the steps, so that they compare at a glance."""
    acts = trace.activities
    if not steps.steps:
        return " It belongs to no op." if len(lost) == 1 else " They belong to no op."
    number = len(steps.steps)
    kernels = acts.category == Category.KERNEL
    mine = acts.step >= 0
    own, added = int(np.count_nonzero(kernels & mine)), int(np.count_nonzero(kernels[lost]))
    own_time = int(acts.dur[mine].sum())
    scale = time_scale((own_time + time) / number)
    true, shown = scale(own_time / number), scale((own_time + time) / number)
    if added:
        each = _each(own, number)
        true = f"{each} {'kernel' if each == '1' else 'kernels'} in {true}"
        shown = f"{_each(own + added, number)} in {shown}"
    else:
        true = f"{true} of device time"
    incomplete = any(repair.code in _INCOMPLETE for repair in trace.repairs)
    step = "What is left of a step" if incomplete else "A step"
    return f" {step} has {true}; PyTorch's table adds them: {shown}."


def _each(total: int, number: int) -> str:
    return f"{total // number:,}" if total % number == 0 else f"{total / number:,.1f}"


def missing_activity(trace: Trace, _steps: Timeline) -> Doubt | None:
    """Launches whose activity is not in the file."""
    if not trace.has_device_activity:
        return None
    missing = launches_without_activity(trace)
    if not missing.size:
        return None
    names = Counter(trace.name(int(row)) for row in missing)
    shown = ", ".join(f"{name} {number:,}" for name, number in names.most_common(3))
    return Doubt(
        "missing-activity",
        len(missing),
        0,
        f"{count_text(len(missing), 'launch has', 'launches have')} no device activity in the file ({shown}): it ended "
        "after the recording did, was dropped, or had nothing to do. Device times are low by what it took.",
    )


def launches_without_activity(trace: Trace) -> I64:
    """Launches with no activity, less those inside another launch and those that a graph capture only recorded."""
    rows = trace.rows
    pointed = np.zeros(len(rows), bool)
    pointed[trace.activities.launch[trace.activities.linked]] = True
    missing = trace.launches[~pointed[trace.launches]]
    if not missing.size:
        return missing
    launches = trace.launches
    woods = forest(rows.thread[launches], rows.ts[launches], rows.end[launches])
    nested = np.zeros(len(rows), bool)
    nested[launches[woods.parents() >= 0]] = True
    missing = missing[~nested[missing]]
    captured = _captures(trace)
    if captured is None or not missing.size:
        return missing
    thread, low, high = captured
    inside = forest(thread, low, high).innermost(rows.thread[missing], rows.ts[missing])
    return missing[inside < 0]


def _captures(trace: Trace) -> tuple[Any, Any, Any] | None:
    """(thread, begin, end) of stream captures."""
    rows = trace.rows
    open_at: dict[int, int] = {}
    found: list[tuple[int, int, int]] = []
    calls = trace.rows_of(Category.RUNTIME, Category.DRIVER)
    begins = np.array([name.endswith("StreamBeginCapture") for name in trace.strings])
    ends = np.array([name.endswith("StreamEndCapture") for name in trace.strings])
    calls = calls[begins[rows.name[calls]] | ends[rows.name[calls]]]
    for row in calls[np.argsort(rows.ts[calls], kind="stable")]:
        thread = int(rows.thread[row])
        if begins[rows.name[row]]:
            open_at[thread] = int(rows.ts[row])
        elif thread in open_at:
            found.append((thread, open_at.pop(thread), int(rows.end[row])))
    if not found:
        return None
    return tuple(np.array(column, np.int64) for column in zip(*found, strict=True))  # type: ignore[return-value]


def graph_replay(trace: Trace, _steps: Timeline) -> Doubt | None:
    """Activity behind graph launches, whose ops are unknown."""
    acts = trace.activities
    inside = np.flatnonzero(acts.graph & acts.linked)
    if not inside.size:
        return None
    time, total = int(acts.dur[inside].sum()), int(acts.dur[acts.linked].sum())
    launches = len(distinct(acts.launch[inside]))
    share = f"{100 * time / total:.0f} % of device time" if total else "no device time"
    return Doubt(
        "graph-replay",
        len(inside),
        time,
        f"{kinds_text(trace, inside)} ran inside {count_text(launches, 'graph replay')} ({share}): which op each came "
        "from is not in the file; their owner is what surrounds the graph launch.",
    )


def outside_steps(trace: Trace, steps: Timeline) -> Doubt | None:
    """Linked activity launched outside every step."""
    acts = trace.activities
    outside = np.flatnonzero(acts.linked & (acts.step < 0))
    if not steps.steps or not outside.size:
        return None
    time = int(acts.dur[outside].sum())
    return Doubt(
        "outside-steps",
        len(outside),
        time,
        f"{kinds_text(trace, outside)} ({time_text(time)}) {'was' if len(outside) == 1 else 'were'} launched outside "
        "every step and count in no per-step figure.",
    )


def external_ids(trace: Trace, _steps: Timeline) -> Doubt | None:
    """External ids that do not name ops."""
    if trace.external_ids not in ("correlation", "disagrees"):
        return None
    what = "repeat the correlation" if trace.external_ids == "correlation" else "do not name the op around the launch"
    return Doubt(
        "external-ids",
        len(trace.activities),
        0,
        f"External ids on device activity {what}, as some releases write them. Ops are found by the time of the "
        "launch instead; a tool that joins on these ids names wrong ops.",
    )
