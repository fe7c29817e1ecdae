"""Compare two traces: conditions first, then structure, then times, then what it amounts to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from foretrace._version import __version__
from foretrace.analysis.metrics import Quantity, measure
from foretrace.analysis.timeline import Count
from foretrace.differences.activity_changes import activity_changes
from foretrace.differences.conditions import conditions, same_text
from foretrace.differences.matching import match
from foretrace.differences.range_changes import left_out_changes, range_changes
from foretrace.differences.side import Side
from foretrace.differences.summary import summary
from foretrace.differences.times import kernel_times, step_times

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foretrace.differences.change import Change
    from foretrace.differences.conditions import Condition
    from foretrace.differences.side import Range
    from foretrace.differences.times import TimeChange
    from foretrace.trace.model import Trace

__all__ = ["COUNTS", "Difference", "diff"]

COUNTS = ("kernels", "memcpys", "memsets", "launches", "syncs")
"""The counts of a step that are compared."""


@dataclass(frozen=True)
class Difference:
    """What changed between two traces."""

    before: Trace
    after: Trace
    conditions: tuple[Condition, ...]
    """What differs before anything is compared."""
    alike: str
    """What was found the same, in one sentence."""
    counts: dict[str, tuple[Count, Count]]
    """Counts of a step, before and after, that both traces hold; ops without the ranges that a compiler opens."""
    activities: tuple[Change, ...]
    """Changes of kernels, copies and fills, those that bear most on device time first."""
    ranges: tuple[Change, ...]
    """Changes of ops and annotations."""
    step_times: tuple[TimeChange, ...]
    kernel_times: tuple[TimeChange, ...]
    """Kernels that are the same and took another time."""

    @property
    def structure(self) -> tuple[Change, ...]:
        """All structural changes."""
        return (*self.activities, *self.ranges)

    @property
    def times(self) -> tuple[TimeChange, ...]:
        """All times that were compared."""
        return (*self.step_times, *self.kernel_times)

    @property
    def structure_changed(self) -> bool:
        """Something is launched or called that was not, or no more, or otherwise."""
        return bool(self.structure)

    @property
    def times_changed(self) -> bool:
        """Some time changed by more than noise."""
        return any(time.verdict.changed for time in self.times)

    @property
    def same(self) -> bool:
        """Neither structure nor times changed, under equal conditions."""
        return not (self.structure_changed or self.times_changed or self.conditions)

    @cached_property
    def summary(self) -> str:
        """What it amounts to."""
        return summary(self)

    def to_json(self) -> dict[str, Any]:
        """The JSON of ``diff``."""
        return {
            "schema": 1,
            "foretrace": __version__,
            "before": self.before.file,
            "after": self.after.file,
            "same": self.same,
            "conditions": [condition.to_json() for condition in self.conditions],
            "counts": {
                name: {"before": ours.to_json(), "after": theirs.to_json()}
                for name, (ours, theirs) in self.counts.items()
            },
            "structure": [change.to_json() for change in self.structure],
            "times": [time.to_json() for time in self.times],
            "summary": self.summary,
        }


def diff(before: Trace, after: Trace) -> Difference:
    """Compare two traces: what appeared, went, moved, or has another number, name or launch; then times.

    Steps are those that figures are over (a cold first one is left out); where a trace has none, all of it is one.
    Ops are aligned by their path and shapes, kernels by the op they come from.
    """
    ours, theirs = Side(before), Side(after)
    foreign = ours.range_names ^ theirs.range_names
    places = ours.places(foreign), theirs.places(foreign)
    found = match(*places)
    (inside_before, outside_before), (inside_after, outside_after) = ours.ranges(foreign), theirs.ranges(foreign)
    differing, same = conditions(ours, theirs)
    return Difference(
        before=before,
        after=after,
        conditions=tuple(differing),
        alike=same_text(same),
        counts=_counts(before, after) | _op_counts(ours, theirs, inside_before, inside_after),
        activities=tuple(activity_changes(found, *places)),
        ranges=(
            *range_changes(inside_before, inside_after, found.pairs),
            *left_out_changes(outside_before, outside_after),
        ),
        step_times=tuple(step_times(ours, theirs)),
        kernel_times=tuple(kernel_times(found.pairs, ours, theirs)),
    )


def _counts(before: Trace, after: Trace) -> dict[str, tuple[Count, Count]]:
    found = {}
    for name in COUNTS:
        ours, theirs = (measure(trace, Quantity(name)).value for trace in (before, after))
        if isinstance(ours, Count) and isinstance(theirs, Count):
            found[name] = (ours, theirs)
    return found


def _op_counts(
    ours: Side, theirs: Side, before: Mapping[Any, Range], after: Mapping[Any, Range]
) -> dict[str, tuple[Count, Count]]:
    """Ops a step; the ranges that a compiler opens are recorded like ops and are left out."""
    if not (len(ours.trace.ops) and len(theirs.trace.ops)):
        return {}
    return {"ops": (_total(ours, before), _total(theirs, after))}


def _total(side: Side, ranges: Mapping[Any, Range]) -> Count:
    totals = np.zeros(side.ground.slots, np.int64)
    for one in ranges.values():
        if one.is_op:
            totals += one.counts
    return Count.of(totals.tolist())
