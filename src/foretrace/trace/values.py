"""Values of events as both readers take them, one by one and by the column: a file may write them in several ways.

A column that holds what nearly all do, numbers or nothing, is taken as a whole; any other value by value.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.trace.grammar import LONGEST_INTEGER
from foretrace.trace.raw import MISSING, MISSING32, MISSING_FLOAT

if TYPE_CHECKING:
    import numpy.typing as npt

    from foretrace.trace.raw import F64, I32, I64

__all__ = ["id_text", "real_column", "string", "strings", "triple_columns", "whole_column", "whole_column32"]

_INT32: Final = 2**31 - 1
_INT64: Final = 2**63 - 1

_INTEGER: Final = re.compile(r"[ \t\n\r]*[-+]?[0-9]+[ \t\n\r]*")
_TRIPLE: Final = re.compile(
    r"[ \t\n\r]*\[[ \t\n\r]*([-+]?[0-9]+)[ \t\n\r]*,[ \t\n\r]*([-+]?[0-9]+)[ \t\n\r]*,"
    r"[ \t\n\r]*([-+]?[0-9]+)[ \t\n\r]*\][ \t\n\r]*"
)
_TOO_LONG: Final = 10 ** (LONGEST_INTEGER - 1)
_NO_TRIPLE: Final = [None, None, None]


def _whole(value: Any, limit: int, missing: int) -> int:
    """An id or count that may be written as a number or as text."""
    if type(value) is int:
        return value if -limit <= value <= limit else missing
    if type(value) is float:
        return int(value) if abs(value) <= limit else missing
    if type(value) is str and _INTEGER.fullmatch(value):
        digits = value.strip()
        return _whole(int(digits), limit, missing) if len(digits) < LONGEST_INTEGER else _long(digits, limit, missing)
    return missing


def _long(digits: str, limit: int, missing: int) -> int:
    """More digits than ``int`` takes at once: only zeros can stand before what fits."""
    sign = "-" if digits.startswith("-") else ""
    rest = digits.lstrip("+-").lstrip("0") or "0"
    return _whole(int(sign + rest), limit, missing) if len(rest) < LONGEST_INTEGER else missing


def _whole_column(values: list[Any], limit: int, missing: int) -> I64:
    kinds = set(map(type, values))
    if kinds == {type(None)}:
        return np.full(len(values), missing, np.int64)
    if kinds == {int, type(None)}:
        values = [missing if value is None else value for value in values]
    if kinds <= {int, type(None)}:
        try:
            column = np.array(values, np.int64)
        except OverflowError:
            pass
        else:
            column[(column < -limit) | (column > limit)] = missing
            return column
    return np.array([_whole(value, limit, missing) for value in values], np.int64)


def whole_column(values: list[Any]) -> I64:
    """Ids and counts, written as numbers or as text; what is none, or does not fit, is ``MISSING``."""
    return _whole_column(values, _INT64, MISSING)


def whole_column32(values: list[Any]) -> I32:
    """The same in 32 bits, with ``MISSING32``."""
    return _whole_column(values, _INT32, MISSING32).astype(np.int32)


def _real(value: Any) -> float:
    if type(value) is float:
        return value + 0.0
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return MISSING_FLOAT
    return MISSING_FLOAT


def real_column(values: list[Any]) -> F64:
    """Numbers as doubles; what is none, or does not fit, is ``MISSING_FLOAT``."""
    return np.array([value if type(value) is float else _real(value) for value in values], np.float64) + 0.0


def _triple(value: Any, limit: int, missing: int) -> tuple[int, int, int]:
    """Grid and block: a list of three values, or the text of a list of three integers."""
    if type(value) is str:
        found = _TRIPLE.fullmatch(value)
        value = list(found.groups()) if found else None
    if type(value) is not list or len(value) != 3 or any(type(item) in (list, dict) for item in value):  # noqa: PLR2004
        return (missing, missing, missing)
    x, y, z = value
    return (_whole(x, limit, missing), _whole(y, limit, missing), _whole(z, limit, missing))


def triple_columns(values: list[Any], *, narrow: bool = False) -> npt.NDArray[np.int64]:
    """Grids or blocks as three columns: (3, number of values); ``narrow`` ones fit 32 bits."""
    limit, missing = (_INT32, MISSING32) if narrow else (_INT64, MISSING)
    listed = [_NO_TRIPLE if value is None else value for value in values]
    if set(map(type, listed)) <= {list} and set(map(len, listed)) <= {3}:
        numbers = list(chain.from_iterable(listed))
        if set(map(type, numbers)) <= {int, type(None)}:
            return _whole_column(numbers, limit, missing).reshape(-1, 3).T
    return np.array([_triple(value, limit, missing) for value in values], np.int64).reshape(-1, 3).T


def id_text(value: Any) -> str:
    """A process or thread id as text; a number is cut to a whole one."""
    if type(value) is str:
        return value
    if type(value) is int:
        return str(value) if abs(value) < _TOO_LONG else ""
    if isinstance(value, bool):
        return str(int(value))
    number = _whole(value, _INT64, MISSING)
    return "" if number == MISSING else str(number)


def string(value: Any) -> str:
    """A string's text; anything else is no text."""
    return value if type(value) is str else ""


def strings(values: list[Any]) -> list[str]:
    """The texts of many values."""
    return values if set(map(type, values)) <= {str} else [string(value) for value in values]
