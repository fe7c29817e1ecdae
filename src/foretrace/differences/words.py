"""Changes in words: what a thing is, where it comes from, how many there are."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from foretrace.units import bytes_text, time_scale, time_text

if TYPE_CHECKING:
    from foretrace.analysis.timeline import Spread
    from foretrace.differences.change import Change

__all__ = [
    "ENGINE",
    "UNIT_WORDS",
    "amount_text",
    "change_details",
    "change_text",
    "counted",
    "facts_text",
    "from_to_text",
    "number_words",
    "percent_text",
    "range_text",
    "thing_text",
    "where_text",
]

_SMALL: Final = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
UNIT_WORDS: Final = {"tensor_core": "tensor cores", "cuda_core": "CUDA cores"}
ENGINE: Final = "autograd::engine::evaluate_function: "
"""How the autograd engine names the range around a backward op."""
_PIECES: Final = 4
_NEARLY: Final = 99
"""From here on, percent keep a decimal and are not rounded up."""
_FAR: Final = 0.02
"""Two times of which one is a smaller share than this of the other have few digits left in one unit."""
_LEVELS: Final = 3
_FACTS: Final = {
    "input_dtype": "input",
    "accumulate_dtype": "accumulates in",
    "output_dtype": "output",
    "tile": "tile",
    "unit": "unit",
    "library": "library",
    "layout": "layout",
    "split_k": "split-K",
}
"""What is told of two names. Not the head dim: it is the one a kernel is built for, to which others are padded."""


def counted(number: float, noun: str, plural: str | None = None) -> str:
    """``1 kernel``, ``0 copies``, ``2.5 kernels``."""
    return f"{amount_text(number)} {noun if number == 1 else plural or noun + 's'}"


def number_words(number: float) -> str:
    """``one``, ``two`` ... ``ten``, then digits."""
    if number == int(number) and 0 <= number < len(_SMALL):
        return _SMALL[int(number)]
    return amount_text(number)


def amount_text(number: float) -> str:
    """A number a step, without digits that say nothing."""
    return f"{int(number):,}" if number == int(number) else f"{number:,.1f}"


def thing_text(change: Change, *, after: bool = False) -> str:
    """What it is: a kernel by what its name says, a copy with its size."""
    label = (change.label_after or change.name_after or "") if after else (change.label or change.name)
    if change.kind == "memcpy":
        label = label.partition(" (")[0]
        return f"{label}, {bytes_text(change.bytes)}" if change.bytes else label
    if change.kind == "memset":
        return label.partition(" (")[0]
    return label


def where_text(ops: tuple[str, ...]) -> str:
    """``aten::masked_fill (clone, copy_)``: the outermost op, and what it goes through, the innermost of it."""
    if not ops:
        return ""
    short = [ops[0].removeprefix(ENGINE)]
    for name in ops[1:]:
        word = name.removeprefix(ENGINE).removeprefix("aten::")
        if word != short[-1]:
            short.append(word)
    rest = short[1:]
    if len(rest) > _LEVELS:
        rest = ["…", *rest[-_LEVELS + 1 :]]
    return short[0] + (f" ({', '.join(rest)})" if rest else "")


def facts_text(change: Change) -> str:
    """What a kernel's new name says otherwise: ``bf16 -> fp32, tensor cores -> CUDA cores, tile 128x256 -> 64x64``."""
    parts = []
    for name, (was, now) in change.facts.items():
        if name not in _FACTS or was is None or now is None:
            continue
        if name == "output_dtype" and change.facts.get("input_dtype") == (was, now):
            continue
        if name == "unit":
            parts.append(f"{UNIT_WORDS.get(was, was)} -> {UNIT_WORDS.get(now, now)}")
        elif name == "input_dtype":
            parts.append(f"{was} -> {now}")
        else:
            parts.append(f"{_FACTS[name]} {was} -> {now}")
    if not parts and change.name_after is not None and change.label == change.label_after:
        return _tokens_text(change.name, change.name_after)
    return ", ".join(parts)


def _tokens_text(before: str, after: str) -> str:
    """What differs between two names that say the same otherwise, by their pieces: ``bz -> badd``."""
    ours, theirs = (re.split(r"[_<>,\s]+", name) for name in (before, after))
    if len(ours) == len(theirs):
        pieces = [(was, now) for was, now in zip(ours, theirs, strict=True) if was != now]
        if len(pieces) <= _PIECES:
            return ", ".join(f"{was} -> {now}" for was, now in pieces)
    return f"{before} -> {after}"


def percent_text(share: float | None) -> str:
    """``-12 %``, ``+0.4 %``; a multiple from three times up; never -100 % of what is not gone."""
    if share is None:
        return "from nothing"
    if share >= 2:  # noqa: PLR2004 - beyond that, percent are hard to read
        return f"x{share + 1:.1f}"
    percent = 100 * share
    if -100 < percent < -_NEARLY:  # noqa: PLR2004 - all of it
        return f"-{math.floor(-10 * percent) / 10:.1f} %"
    digits = 1 if abs(percent) < 10 else 0  # noqa: PLR2004 - two digits either way
    text = f"{percent:+.{digits}f}"
    return ("0" if float(text) == 0 else text) + " %"


def from_to_text(before: float, after: float) -> str:
    """Two times in one unit, ``1.065 to 0.937 ms``; ``1.195 s to 8.412 ms`` where one is far smaller."""
    scale = time_scale(max(before, after))
    if 0 < min(before, after) < _FAR * max(before, after):
        return f"{time_text(before)} to {time_text(after)}"
    return f"{scale.number(before)} to {scale(after)}"


def range_text(time: Spread) -> str:
    """``0.348 to 0.428 ms``, the range over the steps; empty where it does not show."""
    low, high = time_text(time.min), time_text(time.max)
    if low == high:
        return ""
    number, _, unit = low.rpartition(" ")
    return f"{number if high.endswith(' ' + unit) else low} to {high}"


def change_text(change: Change) -> str:
    """What changed, with its number a step where that is not one: ``Memcpy DtoD, 268 MB, 1 -> 0 a step``."""
    text = thing_text(change)
    if change.change == "renamed" and change.name_after is not None:
        there = thing_text(change, after=True)
        text = text if there == text else f"{text} -> {there}"
    if change.before == change.after:
        return text if change.before == 1 else f"{text}, {amount_text(change.before)} a step"
    return f"{text}, {amount_text(change.before)} -> {amount_text(change.after)} a step"


def change_details(change: Change) -> list[str]:
    """Where it comes from, what its name says otherwise, what launches it now: a line each."""
    where = where_text(change.ops) or " > ".join(change.path)
    lines = []
    if change.path_after is not None and change.moved:
        there = where_text(change.ops_after) or " > ".join(change.path_after)
        lines += [f"from {where or 'outside any op'}", f"to   {there or 'outside any op'}"]
    elif where:
        lines.append(f"under {where}")
    facts = facts_text(change) if change.kind == "kernel" else ""
    if facts:
        lines.append(facts)
    if change.launch is not None and change.launch[0] and change.launch[1]:
        lines.append(f"launched by {change.launch[1]} instead of {change.launch[0]}")
    return lines
