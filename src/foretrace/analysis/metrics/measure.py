"""Measure a quantity of a trace, or all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.copies import DIRECTIONS
from foretrace.analysis.metrics.basis import Ground
from foretrace.analysis.metrics.catalog import CATALOG, Definition, Needs
from foretrace.analysis.metrics.metric import Figure, Metric, absent
from foretrace.analysis.metrics.quantity import Quantity, Scope, Select
from foretrace.analysis.table import Table
from foretrace.analysis.timeline import Count, Spread
from foretrace.analysis.trust.contents import no_device_activity, no_events
from foretrace.errors import UsageError
from foretrace.names.decoded import ROLES
from foretrace.trace.kineto import Category
from foretrace.units import count_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.analysis.metrics.basis import Basis
    from foretrace.trace.model import Trace

__all__ = ["Metrics", "complaint", "ground_of", "measure", "metrics"]

_MEMO: Final = "_metrics_ground"

WORDS: Final[dict[str, tuple[str, ...]]] = {
    "role": (*sorted(ROLES), "attention"),
    "unit": ("tensor_core", "cuda_core", "none", "unknown"),
    "direction": DIRECTIONS,
}
"""Conditions that take one of a few words."""


def ground_of(trace: Trace) -> Ground:
    """What all metrics of a trace share, kept on it beside its other cached columns."""
    memo = vars(trace)
    if _MEMO not in memo:
        memo[_MEMO] = Ground(trace)
    found: Ground = memo[_MEMO]
    return found


def complaint(quantity: Quantity) -> tuple[str, str] | None:
    """(the word that is wrong, why) of a quantity that cannot be measured of any trace; None where all is well."""
    definition = CATALOG.get(quantity.name)
    if definition is None:
        return quantity.name, f"there is no metric {quantity.name!r}"
    if quantity.scope is not None and not definition.narrows:
        return quantity.name, f"{quantity.name} is of whole steps and cannot be narrowed to an {quantity.scope.kind}"
    for name, value in quantity.select.given().items():
        if name not in definition.takes:
            takes = ", ".join("a name" if word == "pattern" else word for word in definition.takes)
            word = value if name == "pattern" else name
            return word, f"{quantity.name} takes {takes or 'no conditions'}, not {_condition(name)}"
        words = WORDS.get(name)
        if words is not None and value.lower() not in {word.lower() for word in words}:
            return value, f"{name} is one of {', '.join(words)}"
        if name == "regex":
            try:
                re.compile(value)
            except re.error as error:
                return value, f"that is no regular expression ({error})"
    return None


def _condition(name: str) -> str:
    return "a name" if name == "pattern" else name


def measure(trace: Trace, quantity: Quantity) -> Metric:
    """One metric of a trace.

    Raises:
        UsageError: there is no such metric, or it does not take these conditions.
    """
    wrong = complaint(quantity)
    if wrong is not None:
        raise UsageError(f"{quantity}: {wrong[1]}.")
    definition = CATALOG[quantity.name]
    ground = ground_of(trace)
    lacking = _lacking(ground, definition.needs)
    text = definition.text
    per = "step" if ground.timeline.used and not definition.whole else "recording"
    if lacking is not None:
        return Metric(quantity, definition.unit, text, absent(lacking), per)
    basis = ground.basis(quantity.scope)
    figure = definition.measure(basis, quantity.select)
    if Needs.DEVICE in definition.needs and figure.values:
        figure = _with_lost_launches(basis, definition, figure)
    if quantity.scope is not None and not basis.calls.size:
        figure = replace(figure, vacuous=True, note=_never_ran(ground, quantity.scope))
    return Metric(quantity, definition.unit, text, figure, per)


def _with_lost_launches(basis: Basis, definition: Definition, figure: Figure) -> Figure:
    """The figure with what may be missing from it: launches in its steps and scope without activity in the file."""
    trace = basis.trace
    rows = basis.rows(basis.ground.lost_launches)
    if definition.counts is not None:
        kinds = [_kind_of_call(trace.name(int(row))) for row in rows]
        rows = rows[np.array([kind in definition.counts for kind in kinds], bool)]
    if not rows.size:
        return figure
    more = np.bincount(basis.ground.row_slot(rows), minlength=basis.ground.slots)
    names = ", ".join(dict.fromkeys(trace.name(int(row)) for row in rows))
    launches = count_text(len(rows), "launch has", "launches have")
    note = f"{launches} no device activity in the file ({names}), so that there may be more than was recorded."
    return replace(figure, more=tuple(more.tolist()), note=f"{figure.note} {note}".strip())


def _kind_of_call(name: str) -> Category:
    """What kind of activity a runtime call launches."""
    lower = name.lower()
    return Category.MEMSET if "memset" in lower else Category.MEMCPY if "memcpy" in lower else Category.KERNEL


def _never_ran(ground: Ground, scope: Scope) -> str:
    where = "in the steps" if ground.timeline.used else "in the recording"
    if ground.basis(scope).ranges.size:
        return f"{scope.kind} {scope.name} runs only outside the steps that figures are over."
    return f"No {scope.kind} {scope.name} ran {where}."


def _lacking(ground: Ground, needs: Needs) -> str | None:
    """Why the trace cannot say, in one sentence."""
    trace = ground.trace
    if needs and not len(trace.rows):
        doubt = no_events(trace, ground.timeline)
        return doubt.text if doubt is not None else "The file holds no timed event."
    if Needs.DEVICE in needs:
        if not trace.has_device_activity:
            doubt = no_device_activity(trace, ground.timeline)
            return doubt.text if doubt is not None else "The file holds no device activity."
        if not trace.activities.linked.any():
            return "No device activity in the file is tied to its launch, so that none belongs to a step."
    if Needs.CALLS in needs and not trace.count(Category.RUNTIME, Category.DRIVER):
        return "The file holds no runtime calls."
    if Needs.OPS in needs and not len(trace.ops):
        return "The file holds no ops."
    if Needs.HOST in needs and not trace.count(
        Category.CPU_OP, Category.ANNOTATION, Category.RUNTIME, Category.DRIVER, Category.PYTHON
    ):
        return "The file holds nothing of the host."
    return None


@dataclass(frozen=True)
class Metrics:
    """The metrics of a trace, by name."""

    trace: Trace
    scope: Scope | None
    all: tuple[Metric, ...]

    def __getitem__(self, name: str) -> Metric:
        """The metric of this name. Raises ``UsageError`` where there is none."""
        short = str(self.scope) + " " if self.scope is not None else ""
        for metric in self.all:
            if metric.name in (name, short + name):
                return metric
        raise UsageError(f"there is no metric {name!r}; the metrics are {', '.join(CATALOG)}.")

    @property
    def table(self) -> Table:
        """One row a metric, for data frames: ``name``, ``value``, ``min``, ``max``, ``unit``, ``per``, ``missing``."""
        rows = [
            {
                "name": metric.name,
                "value": metric.value if isinstance(metric.value, str) else metric.number,
                "min": metric.value.min if isinstance(metric.value, Count | Spread) else metric.number,
                "max": metric.value.max if isinstance(metric.value, Count | Spread) else metric.number,
                "unit": str(metric.unit),
                "per": metric.per,
                "missing": metric.missing,
            }
            for metric in self.all
        ]
        return Table.of("metrics", ["name", "value", "min", "max", "unit", "per", "missing"], rows)

    def __iter__(self) -> Iterator[Metric]:
        return iter(self.all)

    def __len__(self) -> int:
        return len(self.all)

    def measure(self, name: str, **conditions: str) -> Metric:
        """A metric of some of the events, e.g. ``measure("kernels", role="softmax")``.

        Raises:
            UsageError: there is no such metric, or it does not take these conditions.
        """
        try:
            select = Select(**conditions)
        except TypeError as error:
            raise UsageError(f"{name}: there is no condition {', '.join(sorted(conditions))}.") from error
        return measure(self.trace, Quantity(name, select, self.scope))


def metrics(trace: Trace, *, op: str | None = None, annotation: str | None = None) -> Metrics:
    """Every metric of a trace, narrowed to an op or an annotation if one is named.

    Kernels and device time are given by role as well, for each role that occurs.

    Raises:
        UsageError: both an op and an annotation are named.
    """
    if op is not None and annotation is not None:
        raise UsageError("metrics are narrowed to an op or to an annotation, not to both.")
    scope = Scope("op", op) if op is not None else Scope("annotation", annotation) if annotation is not None else None
    found = [
        measure(trace, Quantity(definition.name, scope=scope))
        for definition in CATALOG.values()
        if _applies(definition, scope)
    ]
    by_role = [
        measure(trace, Quantity(name, Select(role=role), scope))
        for name in ("kernels", "device_time")
        for role in _roles(trace, scope)
    ]
    return Metrics(trace, scope, tuple(found + by_role))


def _applies(definition: Definition, scope: Scope | None) -> bool:
    return definition.listed if scope is None else definition.narrows


def _roles(trace: Trace, scope: Scope | None) -> list[str]:
    """The roles of the kernels in a scope, the most time first."""
    ground = ground_of(trace)
    acts = trace.activities
    chosen = np.flatnonzero(ground.basis(scope).activities & (acts.category == Category.KERNEL))
    times: dict[str, int] = {}
    names, inverse = np.unique(trace.rows.name[acts.row[chosen]], return_inverse=True)
    totals = np.zeros(len(names), np.int64)
    np.add.at(totals, inverse, acts.dur[chosen])
    for name, total in zip(names, totals, strict=True):
        role = ground.decoded(int(name)).role
        times[role] = times.get(role, 0) + int(total)
    return sorted(times, key=lambda role: (-times[role], role))
