"""Values with units: exact from what was written, and back to text."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation, Overflow
from typing import Final

from foretrace.analysis.metrics.metric import Unit
from foretrace.units import bytes_text, share_text, time_text

__all__ = ["UNIT_WORDS", "exact", "exact_text", "value_text"]

UNIT_WORDS: Final[dict[Unit, dict[str, Decimal]]] = {
    Unit.COUNT: {"": Decimal(1)},
    Unit.NS: {
        "ns": Decimal(1),
        "us": Decimal(1000),
        "µs": Decimal(1000),
        "μs": Decimal(1000),
        "ms": Decimal(1_000_000),
        "s": Decimal(1_000_000_000),
    },
    Unit.BYTES: {
        "": Decimal(1),
        "B": Decimal(1),
        "kB": Decimal(10**3),
        "KB": Decimal(10**3),
        "MB": Decimal(10**6),
        "GB": Decimal(10**9),
        "TB": Decimal(10**12),
        "KiB": Decimal(2**10),
        "MiB": Decimal(2**20),
        "GiB": Decimal(2**30),
        "TiB": Decimal(2**40),
    },
    Unit.SHARE: {"": Decimal(1), "%": Decimal("0.01")},
}
"""What a value of each unit may be written in, and how much of the unit that is."""

_DIGITS: Final = 300
"""More than that, and a float holds it no more."""


def exact(number: str, scale: Decimal) -> float:
    """A written number times a scale: a whole number as an int, any other as the nearest float.

    Raises:
        ValueError: it is no number, or one beyond all reason.
    """
    try:
        value = Decimal(number) * scale
    except (InvalidOperation, Overflow) as error:
        raise ValueError(number) from error
    if not value.is_finite() or value.adjusted() > _DIGITS:
        raise ValueError(number)
    return int(value) if value == value.to_integral_value() else float(value)


def value_text(value: float, unit: Unit) -> str:
    """A value as people read it, with its unit."""
    if unit is Unit.NS:
        return time_text(value)
    if unit is Unit.BYTES:
        return bytes_text(value)
    if unit is Unit.SHARE:
        return share_text(value)
    return f"{value:,}" if isinstance(value, int) or value != int(value) else f"{int(value):,}"


def exact_text(value: float, unit: Unit) -> str:
    """A value with all its digits, where a rounded one would hide what differs."""
    if unit is Unit.NS:
        return f"{_digits(value)} ns"
    if unit is Unit.BYTES:
        return f"{_digits(value)} B"
    if unit is Unit.SHARE:
        # The shortest decimals that tell the share from its neighbors.
        return f"{(Decimal(repr(float(value))) * 100).normalize():f} %"
    return _digits(value)


def _digits(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:,}"
