"""A metric: a named number with a unit, and what it was counted from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from foretrace.analysis.timeline import Count, Spread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.analysis.metrics.quantity import Quantity
    from foretrace.trace.raw import I64

__all__ = ["Figure", "Metric", "Unit", "absent", "counted", "over_steps"]


class Unit(StrEnum):
    """What a metric's number is of."""

    COUNT = "count"
    NS = "ns"
    BYTES = "bytes"
    SHARE = "share"
    """0 to 1."""
    TEXT = "text"


@dataclass(frozen=True, eq=False)
class Figure:
    """A measured value, before it has a name."""

    value: Count | Spread | float | str | None
    values: tuple[float, ...] = ()
    """One for each step it is over; empty where it is of the whole recording."""
    missing: str | None = None
    """Why there is no value, in one sentence."""
    low: float | None = None
    """Where the trace leaves room: the least it can be ..."""
    high: float | None = None
    """... and the most."""
    more: tuple[int, ...] = ()
    """How many launches in each step have no activity in the file: so many more there may be. Empty where none has."""
    note: str = ""
    """What to know of the value, in one sentence."""
    vacuous: bool = False
    """The op or annotation that it is narrowed to never ran, so that nothing was there to be counted."""
    activities: I64 | None = None
    """Positions in ``trace.activities`` of what was counted, in the steps it is over."""
    rows: I64 | None = None
    """The same as rows, where what was counted are ops or runtime calls."""


def absent(why: str) -> Figure:
    """No value, and why."""
    return Figure(None, missing=why)


def counted(totals: I64, *, activities: I64 | None = None, rows: I64 | None = None) -> Figure:
    """A count for each step."""
    values = [int(total) for total in totals]
    return Figure(Count.of(values), tuple(values), activities=activities, rows=rows)


def over_steps(times: Sequence[int] | I64, *, activities: I64 | None = None, rows: I64 | None = None) -> Figure:
    """A time for each step, in nanoseconds."""
    values = [int(time) for time in np.asarray(times)]
    return Figure(Spread.of(values), tuple(values), activities=activities, rows=rows)


@dataclass(frozen=True)
class Metric:
    """A named number of one trace."""

    quantity: Quantity
    unit: Unit
    text: str
    """What it is, in one sentence."""
    figure: Figure
    per: str = "step"
    """``step``, or ``recording`` where it is of all of it."""

    @property
    def name(self) -> str:
        """How a prediction names it."""
        return str(self.quantity)

    @property
    def value(self) -> Count | Spread | float | str | None:
        """The value; None where the trace does not hold it."""
        return self.figure.value

    @property
    def missing(self) -> str | None:
        """Why there is no value."""
        return self.figure.missing

    @property
    def number(self) -> float | None:
        """The one number to go by: the count when equal in all steps (else the median), the median time."""
        value = self.value
        if isinstance(value, Count):
            return value.value
        if isinstance(value, Spread):
            return value.median
        return None if isinstance(value, str) else value

    def to_json(self) -> dict[str, Any]:
        """The keys of ``metrics[]``."""
        value = self.value
        return {
            "name": self.name,
            "value": value.to_json() if isinstance(value, Count | Spread) else value,
            "unit": str(self.unit),
            "per": self.per,
            "text": self.text,
            "note": self.figure.note or None,
            "missing": self.missing,
        }
