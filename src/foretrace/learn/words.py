"""Numbers in sentences, beyond those of ``foretrace.units``: lists, counts over steps, times that are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.learn.lesson import times_text
from foretrace.report.escape import plain
from foretrace.units import TimeScale, count_text, time_scale

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["and_list", "before_and_now", "counted", "one_unit", "shown_sum", "sizes_text", "tick", "times_text"]

_DIGITS: Final = 10_000
"""A time is not written with more digits than this before the point."""


def and_list(parts: Iterable[str], word: str = "and") -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    items = list(parts)
    if len(items) < 2:  # noqa: PLR2004 - a list has two ends
        return "".join(items)
    return f"{', '.join(items[:-1])} {word} {items[-1]}"


def counted(number: float, noun: str, plural: str | None = None) -> str:
    """``5 kernels``, ``no copies``; of a count that varies its median."""
    if number == int(number):
        return count_text(int(number), noun, plural)
    return f"{number:,.1f} {plural or noun + 's'}"


def tick(text: str) -> str:
    """A name from a trace as code; backticks and control characters in it cannot end the code or move a cursor."""
    inside = plain(text).replace("`", "'")
    return f"`{inside}`"


def sizes_text(dims: Collection[int]) -> str:
    """``[8, 16, 1024, 64]``: a tensor's sizes; ``of unknown size`` where they were not recorded."""
    return f"[{', '.join(map(str, dims))}]" if dims else "of unknown size"


def one_unit(*times_ns: float) -> TimeScale:
    """The unit for times that are compared: that of the smallest, unless the largest gets too many digits in it."""
    known = [time for time in times_ns if time > 0]
    scale = time_scale(min(known, default=0))
    largest = max(known, default=0)
    return scale if largest < _DIGITS * scale.divisor else time_scale(largest)


def before_and_now(before: float, now: float) -> str:
    """``85.0 us before, 211.0 us now``: two times in one unit."""
    scale = one_unit(before, now)
    return f"{scale(before)} before, {scale(now)} now"


def shown_sum(times_ns: Iterable[float], scale: TimeScale) -> float:
    """The sum of some times as a table in this unit shows them, so that its rows add up to what a sentence says."""
    return sum(round(time / scale.divisor, scale.decimals) for time in times_ns) * scale.divisor
