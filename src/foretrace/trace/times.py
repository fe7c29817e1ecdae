"""Exact nanoseconds from the microseconds a trace writes as decimal text.

Absolute microseconds with three decimals need 61 bits and do not survive a float64; so the text is read as an
integer number of nanoseconds, rounded to the nearest where it has more than three decimals (halves away from
zero). A time that is no number is MISSING; one outside int64 is the furthest that int64 holds, which is absurd enough.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.trace.raw import MISSING

if TYPE_CHECKING:
    from foretrace.trace.raw import I64

__all__ = ["nanoseconds", "nanoseconds_column"]

_LIMIT: Final = 2**63 - 1
_NUMBER: Final = re.compile(rb"([-+]?)([0-9]*+)(?:\.([0-9]*+))?+(?:[eE]([-+]?[0-9]++))?+")
_DIGITS: Final = 19
_DECIMALS: Final = 3
_WIDEST: Final = 32
_WHOLE_DIGITS: Final = 16
_DOT, _ZERO = b".0"


def nanoseconds(text: bytes) -> int:
    """Nanoseconds for the decimal text of microseconds, in quotes or not, white space around it ignored."""
    if text[:1] == b'"':
        text = text[1:-1]
    found = _NUMBER.fullmatch(text.strip(b" \t\n\r"))
    if not found:
        return MISSING
    sign, whole, fraction, exponent = found.groups()
    fraction = fraction or b""
    digits = whole + fraction
    if not digits:
        return MISSING
    # Digits that belong to the whole number of nanoseconds: a cut, since only the next one decides the rounding.
    taken = len(whole) + _exponent(exponent) + _DECIMALS
    significant = digits.lstrip(b"0")
    if not significant:
        return 0
    furthest = -_LIMIT if sign == b"-" else _LIMIT
    if taken - (len(digits) - len(significant)) > _DIGITS:
        return furthest
    kept = digits[: max(taken, 0)]
    value = int(kept or b"0") * int(10 ** max(taken - len(digits), 0))
    value += 0 <= taken < len(digits) and digits[taken] >= 0x35  # noqa: PLR2004 - the digit five
    if value > _LIMIT:
        return furthest
    return -value if sign == b"-" else value


def _exponent(digits: bytes | None) -> int:
    """An exponent, bounded where it makes no difference any more."""
    if not digits:
        return 0
    size = int(digits.lstrip(b"+-").lstrip(b"0")[:13] or b"0")
    return -size if digits[:1] == b"-" else size


def nanoseconds_column(texts: list[bytes]) -> tuple[I64, bool]:
    """Nanoseconds for many decimal texts, and whether any has a point."""
    if not texts:
        return np.empty(0, np.int64), False
    width = max(map(len, texts))
    if width == 0 or width > _WIDEST:
        return _one_by_one(texts)
    # One row of bytes for each text; zero bytes fill it up at the right.
    table = np.array(texts, dtype=f"S{width}").view(np.uint8).reshape(len(texts), width)
    value = np.zeros(len(texts), np.int64)
    decimals = np.full(len(texts), -1, np.int64)
    plain = np.ones(len(texts), bool)
    for column in range(width):
        byte = table[:, column]
        digit = byte - np.uint8(_ZERO)
        is_digit = digit <= 9  # noqa: PLR2004 - ten digits; the subtraction wraps
        is_dot = byte == _DOT
        plain &= is_digit | (is_dot & (decimals < 0) & (column > 0)) | (byte == 0)
        value = np.where(is_digit, value * 10 + digit, value)
        decimals += is_digit & (decimals >= 0)
        decimals[is_dot] = 0
    # A point must have digits on both sides. With 16 digits before it the product can pass int64 once: it is negative.
    size = np.count_nonzero(table, axis=1)
    plain &= (decimals <= _DECIMALS) & (decimals != 0) & (size > 0)
    plain &= size - np.where(decimals > 0, decimals + 1, 0) <= _WHOLE_DIGITS
    value *= np.array([1, 100, 10, 1, 1000], np.int64)[np.where(plain, decimals, -1)]
    plain &= value >= 0
    for row in np.nonzero(~plain)[0].tolist():
        value[row] = nanoseconds(texts[row])
    return value, bool((table == _DOT).any())


def _one_by_one(texts: list[bytes]) -> tuple[I64, bool]:
    values = np.array([nanoseconds(text) for text in texts], np.int64)
    return values, any(b"." in text for text in texts)
