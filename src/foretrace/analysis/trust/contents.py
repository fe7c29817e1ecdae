"""Doubts about what a file holds: nothing, no device activity, no steps, a cold first step, overhead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foretrace.analysis.overhead import overhead_parts
from foretrace.analysis.trust.doubt import Doubt
from foretrace.trace.kineto import Category
from foretrace.trace.model import TimeFault
from foretrace.units import count_text, time_text

if TYPE_CHECKING:
    from foretrace.analysis.timeline import Timeline
    from foretrace.trace.model import Trace

__all__ = ["cold_step", "no_device_activity", "no_events", "no_steps", "old_autograd", "profiler_overhead"]


def no_events(trace: Trace, _steps: Timeline) -> Doubt | None:
    """A valid file with nothing in it."""
    if len(trace.rows):
        return None
    what = (
        "no events at all" if not trace.events else f"{count_text(trace.events, 'entry', 'entries')} but no timed event"
    )
    text = (
        f"What can be read of the file holds {what}."
        if trace.repairs
        else f"The file is valid and holds {what}: nothing ran while it recorded, or the profiler was stopped first."
    )
    return Doubt("no-events", trace.events, 0, text)


def old_autograd(trace: Trace, _steps: Timeline) -> Doubt | None:
    """The first autograd profiler's list."""
    if not trace.raw.is_list or not len(trace.ops) or (trace.rows.correlation > 0).any() or trace.has_device_activity:
        return None
    return Doubt(
        "old-autograd-list",
        len(trace.ops),
        0,
        "The old autograd profiler's list: ops with CPU times only. It cannot hold launches, device activity or "
        "steps; record again with torch.profiler for those.",
    )


def no_device_activity(trace: Trace, _steps: Timeline) -> Doubt | None:
    """No kernel, memcpy or memset: a CPU run, or a recording that lost them."""
    if trace.has_device_activity or not len(trace.rows) or trace.raw.is_list:
        return None
    if len(trace.launches):
        text = (
            f"{count_text(len(trace.launches), 'launch', 'launches')} recorded, no device activity: the GPU worked but "
            "its records are missing (activity buffers dropped or flushed outside the window, another profiler "
            "attached, or the profiler's GPU library failed to start). Device times are unknown, not zero."
        )
    elif trace.devices:
        text = (
            f"{trace.devices[0].name or 'A device'} is listed but neither launches nor device activity were recorded: "
            "the program ran on the CPU, or ProfilerActivity.CUDA was not asked for. Device times are unknown."
        )
    else:
        text = "A CPU recording: no device is listed and no device activity was recorded."
    return Doubt("no-device-activity", len(trace.launches), 0, text)


def cold_step(_trace: Trace, steps: Timeline) -> Doubt | None:
    """A first step that was not like the others."""
    first = next((step for step in steps.steps if step.cold), None)
    if first is None:
        return None
    usual = steps.per_step.cpu_time_ns.median
    return Doubt(
        "cold-step",
        1,
        first.cpu_time_ns,
        f"{first.name} is cold: {time_text(first.cpu_time_ns)} on the CPU against {time_text(usual)} in the others. "
        "It is left out of all per-step figures.",
    )


def profiler_overhead(trace: Trace, steps: Timeline) -> Doubt | None:
    """The profiler's own work inside the window, and code being loaded."""
    rows = trace.rows
    own = trace.rows_of(Category.OVERHEAD)
    own = own[rows.fault[own] == TimeFault.NONE]
    if trace.has_steps and own.size:
        low, high = int(trace.steps.ts.min()), int(trace.steps.end.max())
        own = own[(rows.ts[own] < high) & (rows.end[own] > low)]
    if not own.size:
        return None
    worst = own[int(np.argmax(rows.dur[own]))]
    launches = trace.launches
    inside = launches[
        (rows.ts[launches] <= rows.ts[worst])
        & (rows.end[launches] > rows.ts[worst])
        & (rows.thread[launches] == rows.thread[worst])
    ]
    note = ""
    if inside.size:
        call = int(inside[-1])
        note = f" The longest lies in a {trace.name(call)} of {time_text(int(rows.dur[call]))}: that is no launch cost."
    where = "the steps" if steps.steps else "the window"
    first, *rest = overhead_parts(trace, own)
    told = f"{first.kind} ({', '.join(first.names)}) took {time_text(first.time_ns)} inside {where}"
    told += "".join(f", {part.kind} ({', '.join(part.names)}) {time_text(part.time_ns)}" for part in rest)
    return Doubt(
        "profiler-overhead",
        len(own),
        int(rows.dur[own].sum()),
        f"{told[0].upper()}{told[1:]}.{note}",
    )


def no_steps(trace: Trace, steps: Timeline) -> Doubt | None:
    """No ``ProfilerStep`` ranges."""
    if steps.steps or not len(trace.rows):
        return None
    repeated = _repeated_annotation(trace)
    hint = f" --step {repeated!r} would make each of those annotations a step." if repeated else ""
    return Doubt(
        "no-steps",
        0,
        0,
        "No steps (ProfilerStep#N) in the file: all figures are over the whole file as one window." + hint,
    )


def _repeated_annotation(trace: Trace) -> str | None:
    """The annotation that occurs most often, at least twice."""
    rows = trace.rows_of(Category.ANNOTATION)
    if not rows.size:
        return None
    names, counts = np.unique(trace.rows.name[rows], return_counts=True)
    best = int(np.argmax(counts))
    return trace.strings[names[best]] if counts[best] > 1 else None
