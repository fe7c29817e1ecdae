"""Steps and what a step costs: counts, device time, busy time, period, and what bounds it.

Device time is the sum of durations; busy is the length of their union on one device. Both are of *linked* activity,
in the step whose CPU interval holds the launch. The period is the median distance between the first device
activities of successive steps; busy share is busy per step over the period.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.analysis.intervals import union_length
from foretrace.trace.distinct import distinct
from foretrace.trace.kineto import DEVICE_CATEGORIES, Category
from foretrace.trace.model import TimeFault

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from foretrace.trace.model import Trace

__all__ = ["CPU_BOUND", "DEVICE_BOUND", "Count", "PerStep", "Spread", "Step", "Timeline", "timeline"]

# A first step is cold when it is this many times the median of the others, and at least a millisecond wider.
_COLD_RATIO: Final = 1.5
_COLD_NS: Final = 1_000_000
DEVICE_BOUND: Final = 0.8
"""From this busy share up the device is the bound."""
CPU_BOUND: Final = 0.5
"""Down from this busy share the CPU is the bound."""


@dataclass(frozen=True)
class Count:
    """A count over the steps: ``value`` is the count when equal in all of them, else their median."""

    value: float
    min: int
    max: int

    @property
    def varies(self) -> bool:
        """Not the same in all steps."""
        return self.min != self.max

    @staticmethod
    def of(values: Sequence[int]) -> Count:
        """Over some steps' counts."""
        return Count(_median(values), min(values, default=0), max(values, default=0))

    def to_json(self) -> dict[str, Any]:
        """``{"value", "min", "max"}``."""
        return {"value": self.value, "min": self.min, "max": self.max}


@dataclass(frozen=True)
class Spread:
    """A time over the steps, in nanoseconds."""

    median: float
    min: int
    max: int

    @staticmethod
    def of(values: Sequence[int]) -> Spread:
        """Over some steps' times."""
        return Spread(_median(values), min(values, default=0), max(values, default=0))

    def to_json(self) -> dict[str, Any]:
        """``{"median", "min", "max"}``."""
        return {"median": self.median, "min": self.min, "max": self.max}


@dataclass(frozen=True)
class Step:
    """What one step (or the whole file, where there are none) did."""

    name: str
    cpu_time_ns: int
    """Length of the step's range on the host; of the whole host activity where there are no steps."""
    kernels: int
    memcpys: int
    memsets: int
    device_time_ns: int
    busy_ns: int
    """Of the busiest device."""
    lag_ns: int
    """How far the device had fallen behind: the longest wait between a launch's start and its activity's."""
    first_ns: int | None
    """Start of its first device activity."""
    last_ns: int | None
    """End of its last device activity."""
    cold: bool

    def to_json(self) -> dict[str, Any]:
        """The keys of ``steps[]``."""
        names = (
            "name",
            "cpu_time_ns",
            "kernels",
            "memcpys",
            "memsets",
            "device_time_ns",
            "busy_ns",
            "lag_ns",
            "cold",
        )
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class PerStep:
    """Figures over the steps, a cold first one left out."""

    steps: int
    """Steps the figures are over; 0 where the file has none and the figures are of the whole file."""
    kernels: Count
    memcpys: Count
    memsets: Count
    device_time_ns: Spread
    busy_ns: Spread
    cpu_time_ns: Spread
    lag_ns: Spread
    period_ns: float | None
    period_of: str
    """``device`` (first device activities), ``host`` (step starts), ``window`` (one step or none), ``none``."""
    busy_share: float | None
    bound: str
    """``device``, ``cpu``, ``mixed`` or ``unknown``."""

    def to_json(self) -> dict[str, Any]:
        """The keys of ``per_step``."""
        return {
            "steps": self.steps,
            **{
                name: getattr(self, name).to_json()
                for name in (
                    "kernels",
                    "memcpys",
                    "memsets",
                    "device_time_ns",
                    "busy_ns",
                    "cpu_time_ns",
                    "lag_ns",
                )
            },
            "period_ns": self.period_ns,
            "period_of": self.period_of,
            "busy_share": self.busy_share,
            "bound": self.bound,
        }


@dataclass(frozen=True)
class Timeline:
    """All steps, and the figures over them."""

    steps: list[Step]
    window: Step | None
    """The whole file as one step, where there are no steps: what per-step figures are of then."""
    used: list[int]
    """Positions of the steps that the figures are over."""
    host_starts: tuple[int, ...]
    """Start of each step's range on the host."""

    @cached_property
    def per_step(self) -> PerStep:
        """Figures over the used steps, or over the whole file."""
        chosen = [self.steps[at] for at in self.used] if self.window is None else [self.window]
        busy = Spread.of([step.busy_ns for step in chosen])
        period, source = self._period(chosen)
        share = (
            busy.median / period
            if period and source != "none" and any(s.first_ns is not None for s in chosen)
            else None
        )
        return PerStep(
            steps=len(self.used),
            kernels=Count.of([step.kernels for step in chosen]),
            memcpys=Count.of([step.memcpys for step in chosen]),
            memsets=Count.of([step.memsets for step in chosen]),
            device_time_ns=Spread.of([step.device_time_ns for step in chosen]),
            busy_ns=busy,
            cpu_time_ns=Spread.of([step.cpu_time_ns for step in chosen]),
            lag_ns=Spread.of([step.lag_ns for step in chosen]),
            period_ns=period,
            period_of=source,
            busy_share=share,
            bound=_bound(share),
        )

    def _period(self, chosen: list[Step]) -> tuple[float | None, str]:
        if len(self.used) > 1:
            starts = [step.first_ns for step in chosen]
            known = [start for start in starts if start is not None]
            if len(known) == len(starts):
                return _median([b - a for a, b in pairwise(known)]), "device"
            hosts = [self.host_starts[at] for at in self.used]
            return _median([b - a for a, b in pairwise(hosts)]), "host"
        only = chosen[0]
        if only.first_ns is None or only.last_ns is None:
            return None, "none"
        return only.last_ns - only.first_ns, "window"


def _median(values: Sequence[int]) -> float:
    """The median, 0 of none, as an int where it is whole; times in a trace stay below what a float64 holds."""
    middle = float(np.median(values)) if values else 0
    return int(middle) if middle == int(middle) else middle


def _bound(share: float | None) -> str:
    if share is None:
        return "unknown"
    return "device" if share >= DEVICE_BOUND else "cpu" if share <= CPU_BOUND else "mixed"


def timeline(trace: Trace) -> Timeline:
    """Steps, and the figures over them."""
    acts = trace.activities
    number = len(trace.steps)
    narrow = acts.step.astype(np.int16) if number < 1 << 15 else acts.step
    order = np.argsort(narrow, kind="stable")
    ranked = narrow[order]
    low = np.searchsorted(ranked, np.arange(number), side="left")
    high = np.searchsorted(ranked, np.arange(number), side="right")
    widths = trace.steps.end - trace.steps.ts
    cold = number > 1 and _is_cold([int(width) for width in widths], high > low)
    steps = [
        _step(trace, order[low[at] : high[at]], trace.step_names[at], int(widths[at]), cold=cold and at == 0)
        for at in range(number)
    ]
    window = None if number else _step(trace, np.flatnonzero(acts.linked), "whole file", _host_span(trace), cold=False)
    used = list(range(1 if cold else 0, number))
    return Timeline(steps=steps, window=window, used=used, host_starts=tuple(int(start) for start in trace.steps.ts))


def _host_span(trace: Trace) -> int:
    host = trace.rows_of(Category.CPU_OP, Category.ANNOTATION, Category.RUNTIME, Category.DRIVER, Category.PYTHON)
    host = host[trace.rows.fault[host] == TimeFault.NONE]
    return int(trace.rows.end[host].max() - trace.rows.ts[host].min()) if host.size else 0


def _is_cold(widths: list[int], works: npt.NDArray[np.bool_]) -> bool:
    """Whether the first step is cold; steps without device activity are no measure of one that has some."""
    others = _median([width for width, work in zip(widths[1:], works[1:], strict=True) if work or not works[0]])
    if not others:
        return False
    return widths[0] > _COLD_RATIO * others and widths[0] - others >= _COLD_NS


def _step(trace: Trace, chosen: Any, name: str, cpu_time_ns: int, *, cold: bool) -> Step:
    acts = trace.activities
    kinds = [int(np.count_nonzero(acts.category[chosen] == category)) for category in DEVICE_CATEGORIES]
    timed = chosen[acts.timed[chosen]]
    start, end = acts.ts[timed], acts.end[timed]
    busy = 0
    devices = acts.device[timed]
    for device in distinct(devices):
        on = devices == device
        busy = max(busy, union_length(start[on], end[on]))
    wait = start - trace.rows.ts[acts.launch[timed]]
    return Step(
        name=name,
        cpu_time_ns=cpu_time_ns,
        kernels=kinds[0],
        memcpys=kinds[1],
        memsets=kinds[2],
        device_time_ns=int(acts.dur[timed].sum()),
        busy_ns=busy,
        lag_ns=max(0, int(wait.max())) if timed.size else 0,
        first_ns=int(start.min()) if timed.size else None,
        last_ns=int(end.max()) if timed.size else None,
        cold=cold,
    )
