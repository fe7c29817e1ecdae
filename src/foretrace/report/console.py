"""The one way to print for people: rich, 100 columns at most, color only on a terminal."""

from __future__ import annotations

import sys
from typing import IO

from rich.console import Console

__all__ = ["console"]

_WIDEST = 120


def console(file: IO[str] | None = None) -> Console:
    """A console on standard output (or ``file``): no markup, no highlighting, tables as wide as they need to be."""
    plain = Console(file=file or sys.stdout, highlight=False, markup=False, emoji=False, soft_wrap=False)
    if plain.width > _WIDEST:
        plain.width = _WIDEST
    if not plain.is_terminal and plain.width < 100:  # noqa: PLR2004 - a file or pipe has no width of its own
        plain.width = 100
    return plain
