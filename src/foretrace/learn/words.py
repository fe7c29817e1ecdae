"""Numbers in sentences, beyond those of ``foretrace.units``: lists, counts over steps, rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.learn.lesson import times_text
from foretrace.report.escape import plain
from foretrace.units import count_text, time_scale

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["and_list", "before_and_now", "counted", "tick", "times_text"]


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


def before_and_now(before: float, now: float) -> str:
    """``0.085 ms before, 0.211 ms now``: two times in one unit."""
    scale = time_scale(max(before, now))
    return f"{scale(before)} before, {scale(now)} now"
