"""The axes of a grid, and what people write for their values: ``1,8``, ``512:16384:x2``, ``bf16,fp16``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from foretrace.capture.shapes import AttentionShape, dtype_name
from foretrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["AXES", "Grid", "axis_name", "axis_values"]

_RANGE: Final = re.compile(r"(?P<low>\d+):(?P<high>\d+):(?P<how>[x+]?)(?P<step>\d+(?:\.\d+)?)")
_MOST: Final = 100_000  # values of one axis: beyond this it is a slip of the hand
_WORDS: Final = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
_MODES: Final = {"forward": False, "training": True}
# Other words for an axis, as people and the command line use them.
_ALIASES: Final = {
    "seq": "length",
    "kv_seq": "kv_length",
    "mode": "training",
    "b": "batch",
    "h": "heads",
    "d": "head_dim",
}


def _sizes(text: str) -> list[int]:
    values: list[int] = []
    for part in _parts(text):
        if part.isdecimal():
            values.append(int(part))
            continue
        match = _RANGE.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is neither a number nor a range such as 512:16384:x2 or 64:256:+64")
        values += _range(int(match["low"]), int(match["high"]), match["how"], float(match["step"]), part)
    return values


def _range(low: int, high: int, how: str, step: float, part: str) -> list[int]:
    factor = how == "x"
    if high < low or (factor and (step <= 1 or low < 1)) or (not factor and step <= 0):
        raise ValueError(f"the range {part!r} does not grow from its first to its second number")
    values: list[int] = []
    value = float(low)
    while round(value) <= high:
        values.append(round(value))
        if len(values) > _MOST:
            raise ValueError(f"the range {part!r} has more than {_MOST:,} values")
        value = value * step if factor else value + step
    return values


def _dtypes(text: str) -> list[str]:
    return [dtype_name(word) for word in _parts(text)]


def _flags(text: str) -> list[bool]:
    return [_one_of(_WORDS, word) for word in _parts(text)]


def _trainings(text: str) -> list[bool]:
    return [_one_of(_MODES | _WORDS, word) for word in _parts(text)]


def _one_of(words: Mapping[str, bool], word: str) -> bool:
    if word.lower() not in words:
        raise ValueError(f"{word!r} is none of {', '.join(words)}")
    return words[word.lower()]


def _parts(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise ValueError("a value is missing")
    return parts


# Axis -> how its text is read. The order is that of the loops, the last fastest.
AXES: Final[dict[str, Callable[[str], list[Any]]]] = {
    "training": _trainings,
    "dtype": _dtypes,
    "mask": _parts,
    "causal": _flags,
    "batch": _sizes,
    "heads": _sizes,
    "kv_heads": _sizes,
    "head_dim": _sizes,
    "length": _sizes,
    "kv_length": _sizes,
}


def axis_name(word: str) -> str:
    """The axis that a word means. Raises ``UsageError`` when there is no such axis."""
    name = word.strip().lower().replace("-", "_")
    name = _ALIASES.get(name, name)
    if name not in AXES:
        raise UsageError(f"there is no axis {word.strip()!r}; use {', '.join(AXES)}.")
    return name


def axis_values(name: str, value: Any, where: str = "") -> list[Any]:
    """The values of one axis from a value, a sequence of values, or text. Raises ``UsageError``."""
    pieces = [value] if isinstance(value, str) or not isinstance(value, Iterable) else list(value)
    values: list[Any] = []
    try:
        for piece in pieces:
            values += AXES[name](piece if isinstance(piece, str) else str(piece))
    except (ValueError, UsageError) as error:
        raise UsageError(f"{where}{name.replace('_', '-')}: {str(error).rstrip('.')}.") from error
    if not values:
        raise UsageError(f"{where}{name.replace('_', '-')} has no values; give one or leave it out.")
    return list(dict.fromkeys(values))


class Grid:
    """Every combination of the values of some axes; combinations that do not fit together are left out."""

    def __init__(self, axes: Mapping[str, list[Any]]) -> None:
        self.axes = dict(axes)

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return math.prod(len(values) for values in self.axes.values())

    def shapes(self, defaults: Mapping[str, Any]) -> tuple[list[AttentionShape], list[str]]:
        """The shapes, and why each combination that was left out does not fit together.

        ``defaults`` has a value for each axis that the grid does not name, save ``kv_heads`` and ``kv_length``,
        which are as many as ``heads`` and as long as ``length``.
        """
        names = [name for name in AXES if name in self.axes or name in defaults]
        shapes: list[AttentionShape] = []
        misfits: list[str] = []
        for values in product(*(self.axes.get(name) or [defaults[name]] for name in names)):
            sizes = dict(zip(names, values, strict=True))
            sizes.setdefault("kv_heads", sizes["heads"])
            sizes.setdefault("kv_length", sizes["length"])
            try:
                shapes.append(AttentionShape(**sizes))
            except UsageError as error:
                misfits.append(str(error))
        return shapes, misfits
