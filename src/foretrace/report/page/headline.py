"""The page's first sentence, and the few figures under it: device, step, kernels, device time, bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from foretrace.report.escape import plain
from foretrace.units import count_text, share_text, time_scale, time_text

if TYPE_CHECKING:
    from foretrace.analysis.timeline import Count, PerStep, Spread
    from foretrace.report.data import Reading

__all__ = ["Figure", "device_names", "facts", "figures", "headline"]

_BOUND: Final = {"device": "device-bound", "cpu": "CPU-bound", "mixed": "neither device- nor CPU-bound"}


@dataclass(frozen=True)
class Figure:
    """One number that stands for itself: what it is, how much, and what to know about it."""

    label: str
    value: str
    note: str = ""


def device_names(reading: Reading) -> str:
    """The devices that worked, else the first that the file lists; empty where it lists none."""
    devices = reading.trace.devices
    worked = {row.device for row in reading.kernels if row.device is not None}
    names = [device.name for device in devices if device.id in worked] or [device.name for device in devices[:1]]
    unique = [plain(name) or "an unnamed device" for name in dict.fromkeys(names)]
    text = " and ".join(unique)
    return f"{len(worked)} x {text}" if len(worked) > 1 and len(unique) == 1 else text


def facts(reading: Reading) -> list[str]:
    """What file this is: device, events, rank, steps."""
    trace = reading.trace
    parts = [device_names(reading) or "no device listed", count_text(trace.events, "event")]
    if trace.rank is not None:
        parts.append(f"rank {trace.rank}" + (f" of {trace.world_size}" if trace.world_size else ""))
    names = [plain(name) for name in trace.step_names]
    if len(names) == 1:
        parts.append(names[0])
    elif names:
        parts.append(f"{len(names)} steps, {names[0]} to {names[-1].rpartition('#')[2]}")
    return parts


def headline(reading: Reading) -> str:
    """One sentence: device, step, kernels, device time, bound."""
    per_step = reading.timeline.per_step
    subject = "A step" if reading.timeline.steps else "The file"
    if not reading.trace.has_device_activity:
        ops = count_text(len(reading.trace.ops), "op")
        return f"{subject} takes {_time(per_step.cpu_time_ns)} on the CPU ({ops} in the file); no device activity."
    where = f" on {device_names(reading)}" if device_names(reading) else ""
    if not (per_step.kernels.max or per_step.memcpys.max or per_step.memsets.max):
        return f"{subject}{where} launches nothing on the device; it takes {_time(per_step.cpu_time_ns)} on the CPU."
    done = [_counted(per_step.kernels, "kernel")]
    if per_step.memcpys.max:
        done.append(_counted(per_step.memcpys, "copy", "copies"))
    if per_step.memsets.max:
        done.append(_counted(per_step.memsets, "memset"))
    listed = done[0] if len(done) == 1 else ", ".join(done[:-1]) + " and " + done[-1]
    return f"{subject}{where} runs {listed} in {_time(per_step.device_time_ns)} of device time{_bound(per_step)}."


def _bound(per_step: PerStep) -> str:
    share, period = per_step.busy_share, per_step.period_ns
    if share is None or period is None:
        return ""
    over = {
        "device": f"of the {time_text(period)} from one step to the next",
        "host": f"of the {time_text(period)} from one step to the next",
        "window": f"of the {time_text(period)} from its first to its last device activity",
    }[per_step.period_of]
    return f" and is {_BOUND[per_step.bound]}: the device is busy {share_text(share)} {over}"


def figures(reading: Reading) -> list[Figure]:
    """Kernels, copies, device time, busy share, period, lag and CPU time of a step (of the file without steps)."""
    per_step = reading.timeline.per_step
    if not reading.trace.has_device_activity:
        return [
            Figure("CPU time", time_text(per_step.cpu_time_ns.median), _range(per_step.cpu_time_ns, per_step.steps))
        ]
    copies = f"{_counted(per_step.memcpys, 'memcpy', 'memcpys')}, {_counted(per_step.memsets, 'memset', 'memsets')}"
    found = [
        Figure("kernels", f"{per_step.kernels.value:,}", _varies(per_step.kernels) or copies),
        Figure(
            "device time", time_text(per_step.device_time_ns.median), _range(per_step.device_time_ns, per_step.steps)
        ),
    ]
    if per_step.busy_share is not None and per_step.period_ns is not None:
        unit = "one window, no period" if per_step.period_of == "window" else f"of {time_text(per_step.period_ns)}"
        found.append(Figure("busy share", share_text(per_step.busy_share), unit))
    found.append(
        Figure("CPU time", time_text(per_step.cpu_time_ns.median), _range(per_step.cpu_time_ns, per_step.steps))
    )
    found.append(Figure("lag", time_text(per_step.lag_ns.median), "wait from launch to start"))
    return found


def _counted(count: Count, noun: str, plural: str | None = None) -> str:
    if not count.varies:
        return count_text(count.min, noun, plural)
    return f"{count.value:,} {plural or noun + 's'} ({count.min:,} to {count.max:,})"


def _varies(count: Count) -> str:
    return f"varies: {count.min:,} to {count.max:,}" if count.varies else ""


def _time(spread: Spread) -> str:
    return time_text(spread.median)


def _range(spread: Spread, steps: int) -> str:
    if steps < 2:  # noqa: PLR2004 - one is no range
        return "one step" if steps else "whole file"
    scale = time_scale(spread.median)
    low, high = scale.number(spread.min), scale.number(spread.max)
    return f"{low} to {high} {scale.unit}" if low != high else "the same in each"
