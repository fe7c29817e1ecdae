"""Times of two traces: of the step, and of each kernel that is the same in both."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from foretrace.analysis.metrics import Quantity, measure
from foretrace.analysis.timeline import DEVICE_BOUND, Spread
from foretrace.differences.noise import CPU_MARGIN, DEVICE_MARGIN, KERNEL_MARGIN, Verdict, verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.differences.matching import Pair
    from foretrace.differences.side import Side

__all__ = ["TimeChange", "kernel_times", "step_times"]

# A kernel's own change is told when it makes up this much of the step.
_WORTH: Final = 0.01
# With so many steps, CPU times are judged by the range over those after the first.
_STEADY: Final = 3


@dataclass(frozen=True)
class TimeChange:
    """One time, before and after."""

    metric: str
    """``device_time``, ``busy``, ``cpu_time`` or ``period``."""
    before: Spread
    after: Spread
    verdict: Verdict
    name: str | None = None
    """Of a kernel's time, the kernel."""
    label: str | None = None
    path: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The keys of ``times[]``."""
        return {
            "metric": self.metric,
            "name": self.name,
            "path": list(self.path) if self.name is not None else None,
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            **self.verdict.to_json(),
        }


def step_times(before: Side, after: Side) -> list[TimeChange]:
    """Device time, busy time, CPU time and period of a step; those that both traces hold."""
    steps = min(side.ground.slots for side in (before, after))
    found = []
    for metric, margin in (("device_time", DEVICE_MARGIN), ("busy", DEVICE_MARGIN), ("cpu_time", CPU_MARGIN)):
        ours, theirs = (_spread(side, metric) for side in (before, after))
        if ours is not None and theirs is not None:
            judged = [_steady(side, metric, shown) for side, shown in ((before, ours), (after, theirs))]
            found.append(TimeChange(metric, ours, theirs, verdict(*judged, steps=steps, margin=margin)))
    periods = _period(before), _period(after)
    if periods[0] is not None and periods[1] is not None:
        margin = DEVICE_MARGIN if _device_bound(before) and _device_bound(after) else CPU_MARGIN
        told = verdict(periods[0], periods[1], steps=steps - 1, margin=margin)
        found.append(TimeChange("period", periods[0], periods[1], told))
    return found


def _spread(side: Side, metric: str) -> Spread | None:
    """A time over the steps that figures are over, as ``metrics`` gives it."""
    value = measure(side.trace, Quantity(metric)).value
    return value if isinstance(value, Spread) else None


def _steady(side: Side, metric: str, whole: Spread) -> Spread:
    """What noise is judged by: of CPU time the range without the first recorded step, which the profiler slows."""
    values = measure(side.trace, Quantity(metric)).figure.values
    if metric != "cpu_time" or len(values) < _STEADY or side.ground.timeline.used[:1] != [0]:
        return whole
    rest = [int(value) for value in values[1:]]
    middle = whole.median
    return Spread(middle, min(*rest, int(middle)), max(*rest, int(middle)))


def _device_bound(side: Side) -> bool:
    share = side.ground.timeline.per_step.busy_share
    return share is not None and share >= DEVICE_BOUND


def _period(side: Side) -> Spread | None:
    """The distances between successive steps; None where there are not two steps."""
    line = side.ground.timeline
    starts = [line.steps[at].first_ns for at in line.used]
    known = [start for start in starts if start is not None]
    if len(known) < len(starts):
        known = [line.host_starts[at] for at in line.used]
    if len(known) < 2:  # noqa: PLR2004 - a distance takes two
        return None
    return Spread.of([later - earlier for earlier, later in pairwise(known)])


def kernel_times(pairs: Sequence[Pair], before: Side, after: Side) -> list[TimeChange]:
    """Kernels and copies that are the same in both traces and took another time, the largest change first."""
    steps = min(side.ground.slots for side in (before, after))
    whole = max(_device_time(before), _device_time(after))
    found = []
    for pair in pairs:
        ours, theirs = pair.before.site.time_ns, pair.after.site.time_ns
        equal = pair.same and pair.before.site.count.value == pair.after.site.count.value
        if not equal or max(ours.median, theirs.median) < _WORTH * whole:
            continue
        told = verdict(ours, theirs, steps=steps, margin=KERNEL_MARGIN)
        if told.changed:
            site = pair.before.site
            found.append(TimeChange("device_time", ours, theirs, told, site.name, pair.before.label, site.path))
    return sorted(found, key=lambda change: -abs(change.after.median - change.before.median))


def _device_time(side: Side) -> float:
    return side.ground.timeline.per_step.device_time_ns.median
