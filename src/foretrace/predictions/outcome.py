"""Hold predictions against a trace: hit, miss, or unresolved where the trace cannot say."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from foretrace.analysis.metrics import measure
from foretrace.analysis.metrics.measure import ground_of
from foretrace.analysis.metrics.metric import Metric, Unit
from foretrace.analysis.metrics.quantity import FINDING
from foretrace.analysis.timeline import Count, Spread
from foretrace.predictions.evidence import Evidence, evidence_of
from foretrace.predictions.explain import explanation, instead, nearest
from foretrace.predictions.findings_counted import ANY, count_findings, examination, found_by, proven
from foretrace.predictions.grammar import parse
from foretrace.predictions.values import exact_text, value_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.findings.rule import Finding
    from foretrace.predictions.prediction import Prediction
    from foretrace.trace.model import Trace

__all__ = ["Outcome", "Verdict", "check", "found_text", "value_texts"]

Verdict = Literal["hit", "miss", "unresolved"]

_SHOWN: Final = 3


@dataclass(frozen=True)
class Outcome:
    """What became of a prediction."""

    prediction: Prediction
    outcome: Verdict
    metric: Metric
    """What was measured."""
    evidence: tuple[Evidence, ...] = ()
    """Of a miss, the events behind the number, the most time first."""
    reason: str = ""
    """Why it is unresolved; of a miss, what there is instead."""
    finding: Finding | None = None
    """Of a miss, the finding that explains it."""

    @property
    def found(self) -> str:
        """What was found, as people read it: ``1 a step``; a miss that rounds to its bound with all digits."""
        return found_text(self.metric, exactly=self.hair)

    @property
    def hair(self) -> bool:
        """It missed by less than a rounded value shows."""
        number, unit = self.metric.number, self.metric.unit
        if self.outcome != "miss" or number is None:
            return False
        near = {value_text(bound, unit) for bound in (self.prediction.low, self.prediction.high) if bound is not None}
        return value_text(number, unit) in near and not self.prediction.admits(number)

    @property
    def expected(self) -> str:
        """The bound, as exact as what was found."""
        return self.prediction.bound_text(exact_text if self.hair else value_text)

    @property
    def text(self) -> str:
        """The outcome in a few sentences."""
        if self.outcome == "hit":
            return f"found {self.found}."
        if self.outcome == "unresolved":
            return self.reason
        parts = [f"expected {self.expected}, found {self.found}."]
        parts += [f"{_line(item)}." for item in self.evidence[:_SHOWN]]
        if len(self.evidence) > _SHOWN:
            parts.append(f"And {len(self.evidence) - _SHOWN} more.")
        if self.reason:
            parts.append(self.reason)
        if self.finding is not None:
            parts.append(f"{self.finding.code}: {self.finding.title}.")
        return " ".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The keys of ``outcomes[]``."""
        value = self.metric.value
        return {
            "prediction": str(self.prediction),
            "because": self.prediction.because,
            "outcome": self.outcome,
            "expected": self.prediction.to_json(),
            "found": value.to_json() if isinstance(value, Count | Spread) else value,
            "evidence": [item.to_json() for item in self.evidence],
            "finding": self.finding.to_json() if self.finding is not None else None,
            "text": self.text,
        }


def _line(item: Evidence) -> str:
    parts = [item.label, f"{item.per_step.value:,} a step"]
    if item.time_ns.median:
        parts.append(value_text(item.time_ns.median, Unit.NS))
    where = f", from {' > '.join(item.path)}" if item.path else ", outside any op"
    return ", ".join(parts) + where


def found_text(metric: Metric, *, exactly: bool = False) -> str:
    """A metric's value as people read it, e.g. ``1 a step``, ``2.623 ms a step (2.610 to 2.631)``."""
    value, range_text = value_texts(metric, exactly=exactly)
    if not isinstance(metric.value, Count | Spread):
        return value
    each = " a step" if metric.per == "step" else " in the recording"
    return f"{value}{each} ({range_text})" if range_text else value + each


def value_texts(metric: Metric, *, exactly: bool = False) -> tuple[str, str]:
    """(the value, the range over the steps or nothing) as people read them; ``exactly`` rounds nothing."""
    value, unit = metric.value, metric.unit
    text = exact_text if exactly else value_text
    if value is None:
        return "nothing", ""
    if isinstance(value, str):
        return value, ""
    if isinstance(value, Count):
        low, high = text(value.min, unit), text(value.max, unit)
        return text(value.value, unit), f"{low} to {high}, varies" if value.varies else ""
    if isinstance(value, Spread):
        middle, low, high = (text(time, unit) for time in (value.median, value.min, value.max))
        number, _, word = low.rpartition(" ")
        low = number if high.endswith(f" {word}") else low
        return middle, "" if text(value.min, unit) == high else f"{low} to {high}"
    return text(value, unit), ""


def check(trace: Trace, *predictions: str | Prediction) -> list[Outcome]:
    """Hold predictions against a trace, in their order.

    Raises:
        PredictionError: a prediction does not parse, or no trace can answer it.
    """
    return [_outcome(trace, one) for one in parsed(predictions)]


def parsed(predictions: Sequence[str | Prediction]) -> list[Prediction]:
    """Predictions, those written as text read. Raises ``PredictionError`` for the first that does not parse."""
    return [parse(one) if isinstance(one, str) else one for one in predictions]


def _outcome(trace: Trace, prediction: Prediction) -> Outcome:
    if prediction.metric.name == FINDING:
        return _finding_outcome(trace, prediction)
    ground = ground_of(trace)
    metric = measure(trace, prediction.metric)
    if metric.value is None:
        return Outcome(prediction, "unresolved", metric, reason=metric.missing or "")
    verdict = _verdict(prediction, metric)
    if metric.figure.vacuous and verdict == "hit":
        # That nothing ran in an op that never ran is no evidence: the name may be misspelt.
        note = metric.figure.note + nearest(ground, prediction.metric)
        return Outcome(prediction, "unresolved", metric, reason=note)
    if verdict == "unresolved":
        return Outcome(prediction, "unresolved", metric, reason=metric.figure.note)
    if verdict == "hit":
        return Outcome(prediction, "hit", metric)
    evidence = evidence_of(ground, metric.figure)
    found = explanation(examination(trace).findings, metric, evidence)
    return Outcome(prediction, "miss", metric, evidence, instead(ground, metric), found)


def _verdict(prediction: Prediction, metric: Metric) -> Verdict:
    value, figure = metric.value, metric.figure
    if isinstance(value, str):
        return "hit" if prediction.admits_text(value) else "miss"
    if isinstance(value, Count):
        values = figure.values or (value.value,)
        held = all(prediction.admits(one) for one in values)
        if figure.more:
            # What was launched and not recorded may be there as well: of bytes nobody knows how many.
            most = [
                one + (more if metric.unit is Unit.COUNT else more and math.inf)
                for one, more in zip(values, figure.more, strict=True)
            ]
            if held is not all(prediction.admits(one) for one in most):
                return "unresolved"
        return "hit" if held else "miss"
    number = metric.number
    if number is None:
        return "unresolved"
    if any(figure.more) and prediction.admits(number) is not prediction.admits(math.inf):
        return "unresolved"
    if figure.low is not None and figure.high is not None:
        ends = {prediction.admits(figure.low), prediction.admits(figure.high)}
        if len(ends) > 1 or (prediction.low == prediction.high and prediction.low is not None):
            return "unresolved"
    return "hit" if prediction.admits(number) else "miss"


def _finding_outcome(trace: Trace, prediction: Prediction) -> Outcome:
    metric = count_findings(trace, prediction.metric)
    if metric.value is None:
        return Outcome(prediction, "unresolved", metric, reason=metric.missing or "")
    verdict = _verdict(prediction, metric)
    if verdict == "hit":
        return Outcome(prediction, "hit", metric)
    rule = prediction.metric.select.pattern or ""
    found = found_by(trace, rule)
    if not found:
        return Outcome(prediction, "miss", metric)
    # The events and the explanation are of one finding, the one with the most at stake; the others are named.
    figure = metric.figure if len(found) == 1 else proven(trace, Count(1, 1, 1), found[:1])
    return Outcome(prediction, "miss", metric, evidence_of(ground_of(trace), figure), _all_codes(found, rule), found[0])


def _all_codes(found: Sequence[Finding], rule: str) -> str:
    """Which findings were counted; that notes were not, where any rule was asked for."""
    codes = Counter(one.code for one in found)
    names = ", ".join(f"{number} x {code}" if number > 1 else code for code, number in codes.items())
    if rule.lower() == ANY:
        first = f" The events below are of {found[0].code}." if len(found) > 1 else ""
        return f"Found {names}; notes do not count.{first}"
    return f"Found {names}; the events below are of the first." if len(found) > 1 else ""
