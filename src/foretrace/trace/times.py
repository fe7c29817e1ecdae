"""Exact nanoseconds from the microseconds a trace writes as decimal text.

Absolute microseconds with three decimals need 61 bits and do not survive a float64; so the text is read as an
integer number of nanoseconds, rounded to the nearest where it has more than three decimals (halves away from
zero). A time that is no number, or lies outside int64, is MISSING.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

from foretrace.trace.raw import MISSING

__all__ = ["has_fraction", "nanoseconds"]

_LIMIT = 2**63 - 1
_PLAIN_DIGITS = 15


def nanoseconds(text: bytes) -> int:
    """Nanoseconds for a JSON number (or a JSON string that holds one) of microseconds."""
    if text[:1] == b'"':
        text = text[1:-1].strip()
    whole, dot, fraction = text.partition(b".")
    digits = whole[1:] if whole[:1] == b"-" else whole
    if digits.isdigit() and len(digits) <= _PLAIN_DIGITS:
        if not dot:
            return int(whole) * 1000
        if fraction.isdigit() and len(fraction) <= 3:  # noqa: PLR2004 - three decimals are nanoseconds
            return int(whole + fraction + b"000"[len(fraction) :])
    return _slowly(text)


def _slowly(text: bytes) -> int:
    try:
        value = Decimal(text.decode("ascii"))
    except (InvalidOperation, UnicodeDecodeError):
        return MISSING
    if not value.is_finite() or value.adjusted() > 18:  # noqa: PLR2004 - more digits than an int64 has
        return MISSING
    result = int((value * 1000).quantize(Decimal(1), rounding=ROUND_HALF_UP))
    return result if -_LIMIT <= result <= _LIMIT else MISSING


def has_fraction(text: bytes) -> bool:
    """Whether the text shows digits below the microsecond."""
    return b"." in text
