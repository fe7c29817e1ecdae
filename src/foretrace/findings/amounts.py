"""Figures of a step in a sentence: whole where they are large, three digits where they are not."""

from __future__ import annotations

from typing import Final

__all__ = ["amount", "times"]

_WHOLE: Final = 100


def amount(number: float) -> str:
    """``5``, ``5.25``, ``1,353``."""
    if number >= _WHOLE or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.3g}"


def times(number: float) -> str:
    """``once``, ``twice``, ``5.25 times``."""
    text = amount(number)
    return {"1": "once", "2": "twice"}.get(text, f"{text} times")
