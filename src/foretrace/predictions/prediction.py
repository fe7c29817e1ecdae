"""A prediction: what a metric should be, said before the trace is looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foretrace.analysis.metrics.metric import Unit
from foretrace.predictions.values import value_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretrace.analysis.metrics.quantity import Quantity

__all__ = ["Prediction"]


@dataclass(frozen=True)
class Prediction:
    """Bounds of a metric, or the words that a metric of text may be.

    A count is held against its bounds in every step, a time as its median over the steps.
    """

    metric: Quantity
    low: float | None = None
    """The least it may be, in the metric's unit (a count, nanoseconds, bytes, a share from 0 to 1)."""
    high: float | None = None
    """The most it may be."""
    because: str | None = None
    """Why it should be so."""
    low_open: bool = False
    """It must be more than ``low``."""
    high_open: bool = False
    """It must be less than ``high``."""
    words: tuple[str, ...] = ()
    """Of a metric of text: what it may be."""
    negated: bool = False
    """It must *not* lie within the bounds, or be one of the words."""
    unit: Unit = Unit.COUNT
    written: str = field(default="", compare=False)
    """The prediction as it was written."""

    def __str__(self) -> str:
        return self.written or f"{self.metric} {self.bound}"

    @property
    def bound(self) -> str:
        """What is expected, as it is written after the metric: ``== 5``, ``< 0.200 ms``."""
        return self.bound_text(value_text)

    def bound_text(self, text: Callable[[float, Unit], str]) -> str:
        """The bound, its values as ``text`` writes them."""
        if self.words:
            if len(self.words) == 1:
                return f"{'!=' if self.negated else '=='} {self.words[0]}"
            return f"{'not ' if self.negated else ''}in ({', '.join(self.words)})"
        low, high = self.low, self.high
        if low is not None and low == high:
            return f"{'!=' if self.negated else '=='} {text(low, self.unit)}"
        if low is not None and high is not None:
            return f"in {text(low, self.unit)}..{text(high, self.unit)}"
        if low is not None:
            return f"{'>' if self.low_open else '>='} {text(low, self.unit)}"
        if high is not None:
            return f"{'<' if self.high_open else '<='} {text(high, self.unit)}"
        return "anything"

    def admits(self, value: float) -> bool:
        """Whether a number is as predicted; exact at the bounds."""
        inside = True
        if self.low is not None:
            inside = value > self.low if self.low_open else value >= self.low
        if inside and self.high is not None:
            inside = value < self.high if self.high_open else value <= self.high
        return inside is not self.negated

    def admits_text(self, text: str) -> bool:
        """Whether a metric of text is as predicted; of several values, each one must be."""
        return all((part in self.words) is not self.negated for part in text.split(", "))

    def to_json(self) -> dict[str, Any]:
        """The keys of ``expected``."""
        return {
            "text": self.bound,
            "low": self.low,
            "high": self.high,
            "low_open": self.low_open,
            "high_open": self.high_open,
            "words": list(self.words) or None,
            "negated": self.negated,
            "unit": str(self.unit),
        }
