"""Why a prediction missed: the finding that explains it, and what there is instead of what was expected."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.metrics import Quantity, Unit, measure
from foretrace.analysis.metrics.quantity import EVERYTHING
from foretrace.findings.rule import Severity
from foretrace.trace.distinct import distinct
from foretrace.trace.kineto import Category
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.analysis.metrics.basis import Basis, Ground
    from foretrace.analysis.metrics.metric import Metric
    from foretrace.findings.rule import Finding
    from foretrace.predictions.evidence import Evidence

__all__ = ["explanation", "instead", "nearest"]

_SHOWN: Final = 4
# Of metrics that no single event explains: the beginning of the codes of the rules that look at the same thing.
_BOUND: Final = frozenset({"busy_share", "bound", "period", "lag"})


def explanation(findings: Sequence[Finding], metric: Metric, evidence: Sequence[Evidence]) -> Finding | None:
    """The finding that says why: of those that rest on the same events, the one with the most at stake.

    One that follows from another gives way to it. ``findings`` are in the order of what is at stake.
    """
    problems = [found for found in findings if found.severity is Severity.FINDING]
    events: frozenset[int] = frozenset().union(*(item.events for item in evidence)) if evidence else frozenset()
    hits = [found for found in problems if any(proof.event in events for proof in found.evidence)]
    if not hits and metric.quantity.name in _BOUND:
        hits = [found for found in problems if "bound" in found.name]
    if not hits:
        return None
    codes = {found.code for found in hits}
    causes = [found for found in hits if found.because not in codes]
    return (causes or hits)[0]


def instead(ground: Ground, metric: Metric) -> str:
    """What there is where less was found than expected, in one sentence; empty where the evidence says it."""
    quantity, figure = metric.quantity, metric.figure
    if figure.vacuous and quantity.scope is not None:
        return figure.note + nearest(ground, quantity)
    if quantity.name in ("period", "busy_share", "bound"):
        return _bound_words(ground)
    if quantity.name == "backend" and metric.figure.activities is not None:
        return "`foretrace why` says what keeps each other backend from these calls."
    if figure.note:
        return figure.note
    if quantity.select == EVERYTHING or metric.unit not in (Unit.COUNT, Unit.NS) or metric.number:
        return ""
    basis = ground.basis(quantity.scope)
    if quantity.name in ("ops", "launches", "syncs"):
        rest = measure(ground.trace, Quantity(quantity.name, scope=quantity.scope))
        return _names_there(ground, rest, quantity.select.pattern)
    return _roles_there(ground, basis)


def nearest(ground: Ground, quantity: Quantity) -> str:
    """`` Did you mean ...?``: the most alike name of the scope's kind, or that it is one of the other kind."""
    scope = quantity.scope
    if scope is None:
        return ""
    trace = ground.trace
    rows = trace.ops.row if scope.kind == "op" else trace.rows_of(Category.ANNOTATION)
    names = {trace.strings[number] for number in distinct(trace.rows.name[rows])}
    steps = {trace.strings[number] for number in distinct(trace.rows.name[trace.steps.row])}
    if scope.kind == "annotation" and scope.name in steps:
        return " It is a step, and figures are of a step already."
    names -= steps
    others = trace.rows_of(Category.ANNOTATION) if scope.kind == "op" else trace.ops.row
    if scope.name in {trace.strings[number] for number in distinct(trace.rows.name[others])}:
        return f" It is an {'annotation' if scope.kind == 'op' else 'op'} here."
    close = get_close_matches(scope.name, names, n=1, cutoff=0.7)
    return f" Did you mean {close[0]}?" if close else ""


def _bound_words(ground: Ground) -> str:
    figures = ground.timeline.per_step
    if figures.period_ns is None or figures.busy_share is None:
        return ""
    return (
        f"The device is busy {time_text(figures.busy_ns.median)} of a period of {time_text(figures.period_ns)} "
        f"({share_text(figures.busy_share)})."
    )


def _names_there(ground: Ground, rest: Metric, wanted: str | None) -> str:
    rows = rest.figure.rows
    if rows is None or not rows.size:
        return ""
    trace = ground.trace
    numbers, counts = np.unique(trace.rows.name[rows], return_counts=True)
    names = {trace.strings[number]: int(count) for number, count in zip(numbers, counts, strict=True)}
    close = get_close_matches(wanted, names, n=1, cutoff=0.7) if wanted else []
    if close:
        return f"Did you mean {close[0]}?"
    most = sorted(names, key=lambda name: -names[name])[:_SHOWN]
    return f"There are {', '.join(most)}{' and others' if len(names) > len(most) else ''}."


def _roles_there(ground: Ground, basis: Basis) -> str:
    acts, trace = ground.trace.activities, ground.trace
    chosen = np.flatnonzero(basis.activities & (acts.category == Category.KERNEL))
    if not chosen.size:
        return "No kernel runs here."
    numbers, counts = np.unique(trace.rows.name[acts.row[chosen]], return_counts=True)
    roles: dict[str, int] = {}
    for number, count in zip(numbers, counts, strict=True):
        role = ground.decoded(int(number)).role
        roles[role] = roles.get(role, 0) + int(count)
    each = [
        f"{roles[role] / ground.slots:.3g} {role.replace('_', ' ')}"
        for role in sorted(roles, key=lambda role: (-roles[role], role))[:_SHOWN]
    ]
    return f"The kernels here are {', '.join(each)}{' and others' if len(roles) > _SHOWN else ''}."
