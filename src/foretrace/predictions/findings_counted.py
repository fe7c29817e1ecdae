"""Findings by code as a metric: how many a step, and the events that prove them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.metrics import Metric, Quantity, Select, Unit
from foretrace.analysis.metrics.measure import ground_of
from foretrace.analysis.metrics.metric import Figure, absent
from foretrace.analysis.metrics.quantity import FINDING
from foretrace.analysis.timeline import Count
from foretrace.findings.engine import examine
from foretrace.findings.rule import Severity

if TYPE_CHECKING:
    from foretrace.findings.engine import Examination
    from foretrace.findings.rule import Finding
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

__all__ = ["ANY", "count_findings", "examination", "finding_metrics", "found_by"]

ANY: Final = "any"
"""Stands for every finding that asks for a change: ``finding(any)``."""
_MEMO: Final = "_predictions_examination"


def examination(trace: Trace) -> Examination:
    """All that the rules say of a trace, asked once and kept on it."""
    memo = vars(trace)
    if _MEMO not in memo:
        memo[_MEMO] = examine(trace, steps=ground_of(trace).timeline)
    found: Examination = memo[_MEMO]
    return found


def found_by(trace: Trace, rule: str) -> list[Finding]:
    """The findings of a rule, told by its code or name; of ``any``, all that ask for a change."""
    every = examination(trace).findings
    if rule.lower() == ANY:
        return [found for found in every if found.severity is Severity.FINDING]
    return [found for found in every if rule.lower() in (found.code.lower(), found.name)]


def count_findings(trace: Trace, quantity: Quantity) -> Metric:
    """The findings of a rule, a step; no value where the rule cannot be asked of this trace."""
    rule = quantity.select.pattern or ANY
    found = found_by(trace, rule)
    unasked = [one for one in examination(trace).not_applicable if rule.lower() in (one.code.lower(), one.name)]
    per = "step" if ground_of(trace).timeline.used else "recording"
    text = "Findings of any rule." if rule.lower() == ANY else f"Findings of {rule}: {_words(found)}."
    if unasked:
        why = unasked[0].because
        return Metric(quantity, Unit.COUNT, text, absent(f"{rule} cannot be asked: {why}."), per)
    total = len(found) if rule.lower() == ANY else sum(one.count for one in found)
    value = Count(int(total) if total == int(total) else total, math.floor(total), math.ceil(total))
    events = np.array(sorted({proof.event for one in found for proof in one.evidence}), np.int64)
    return Metric(quantity, Unit.COUNT, text, _figure(trace, value, events), per)


def _words(found: list[Finding]) -> str:
    return found[0].title if found else "none"


def _figure(trace: Trace, value: Count, events: I64) -> Figure:
    """The figure with the events that prove it and their like in the other steps; device activity where there is any.

    A finding shows the events of one step, by their positions in the file's event list.
    """
    rows = np.flatnonzero(np.isin(trace.rows.index, events))
    shown = np.flatnonzero(np.isin(trace.activities.row, rows))
    if not shown.size:
        return Figure(value, rows=rows)
    ground = ground_of(trace)
    place = ground.paths.of_activity * (len(trace.strings) + 1) + trace.rows.name[trace.activities.row]
    alike = np.isin(place, place[shown]) & (ground.activity_slot >= 0)
    return Figure(value, activities=np.flatnonzero(alike))


def finding_metrics(trace: Trace) -> list[Metric]:
    """The count of each rule that found something, in the order of what is at stake."""
    codes = dict.fromkeys(found.code for found in examination(trace).findings)
    return [count_findings(trace, Quantity(FINDING, Select(pattern=code))) for code in codes]
