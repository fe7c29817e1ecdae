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
    from collections.abc import Sequence

    import msgspec

    from foretrace.trace.raw import I64

__all__ = ["nanoseconds", "nanoseconds_column", "plain_column"]

_LIMIT: Final = 2**63 - 1
_NUMBER: Final = re.compile(rb"([-+]?)([0-9]*+)(?:\.([0-9]*+))?+(?:[eE]([-+]?[0-9]++))?+")
_DIGITS: Final = 19
_DECIMALS: Final = 3
_PLAIN: Final = re.compile(rb"[0-8]?[0-9]{1,15}(?:\.[0-9]{1,3})?")
_POINT, _ZERO = b".0"


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
    value = int(kept.lstrip(b"0") or b"0") * int(10 ** max(taken - len(digits), 0))
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


def plain_column(texts: Sequence[bytes | msgspec.Raw]) -> tuple[I64, bool] | None:
    """Nanoseconds for many decimal texts, and whether any has a point; None where not all are plain.

    Plain are digits with at most a point and up to three more digits, which fit int64.
    """
    joined = b",".join(texts)
    if not texts or joined.translate(None, b"0123456789.,"):
        return None
    byte = np.frombuffer(joined + b",", np.uint8)
    marks = np.flatnonzero(byte < _ZERO)
    digits = np.diff(marks, prepend=-1) - 1
    is_point = byte[marks] == _POINT
    ends = np.flatnonzero(~is_point)
    # As many ends as texts, digits before each end and point, and no two points between ends.
    if len(ends) != len(texts) or not digits.all() or (is_point[1:] & is_point[:-1]).any():
        return None
    # The mark before an end is its text's point or another end; before the first stands, by wrapping, the last.
    decimals = np.where(is_point[ends - 1], digits[ends], 0)
    if decimals.max() > _DECIMALS:
        return None
    scale = np.array([1000, 100, 10, 1])[decimals]
    # Text that is longer than int64 reads as the furthest.
    value = np.fromstring(joined.translate(None, b"."), np.int64, sep=",")
    if (value > _LIMIT // scale).any():
        return None
    return value * scale, len(marks) > len(ends)


def nanoseconds_column(texts: list[bytes]) -> tuple[I64, bool]:
    """Nanoseconds for many decimal texts, plain or not, and whether any has a point."""
    is_plain = np.array([_PLAIN.fullmatch(text) is not None for text in texts], bool)
    rows, others = np.flatnonzero(is_plain), np.flatnonzero(~is_plain)
    values = np.empty(len(texts), np.int64)
    plain = plain_column([texts[row] for row in rows])
    if plain:
        values[rows] = plain[0]
    values[others] = [nanoseconds(texts[row]) for row in others]
    return values, any(b"." in text for text in texts)
