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
from foretrace.trace.distinct import either, is_among

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.findings.engine import Examination
    from foretrace.findings.rule import Finding
    from foretrace.trace.model import Trace

__all__ = ["ANY", "count_findings", "examination", "finding_metrics", "found_by", "proven"]

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
    everything = rule.lower() == ANY
    per = "step" if ground_of(trace).timeline.used and not everything else "recording"
    text = "Findings of any rule, without notes." if everything else f"Findings of {rule}: {_words(found)}."
    if unasked:
        why = unasked[0].because
        return Metric(quantity, Unit.COUNT, text, absent(f"{rule} cannot be asked: {why}."), per)
    total = len(found) if everything else sum(one.count for one in found)
    value = Count(int(total) if total == int(total) else total, math.floor(total), math.ceil(total))
    return Metric(quantity, Unit.COUNT, text, proven(trace, value, found), per)


def _words(found: list[Finding]) -> str:
    return found[0].title if found else "none"


def proven(trace: Trace, value: Count, findings: Sequence[Finding]) -> Figure:
    """The figure with the events that prove these findings and their like in the other steps.

    A finding shows the events of one step, by their positions in the file's event list. It is device activity where
    there is any.
    """
    events = np.array(sorted({proof.event for one in findings for proof in one.evidence}), np.int64)
    rows = np.flatnonzero(is_among(trace.rows.index, events))
    shown = np.flatnonzero(is_among(trace.activities.row, rows))
    ground = ground_of(trace)
    if not shown.size:
        path = ground.paths.of_row
        like = np.flatnonzero((path >= 0) & is_among(path, path[rows]))
        like = like[ground.row_slot(like) >= 0]
        return Figure(value, rows=either(rows[path[rows] < 0], like))
    place = ground.paths.of_activity * (len(trace.strings) + 1) + trace.rows.name[trace.activities.row]
    alike = is_among(place, place[shown]) & (ground.activity_slot >= 0)
    return Figure(value, activities=np.flatnonzero(alike))


def finding_metrics(trace: Trace) -> list[Metric]:
    """The count of each rule that found something, in the order of what is at stake."""
    codes = dict.fromkeys(found.code for found in examination(trace).findings)
    return [count_findings(trace, Quantity(FINDING, Select(pattern=code))) for code in codes]
