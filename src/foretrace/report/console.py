"""The one way to print for people: rich, at most 120 columns, color only on a terminal."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Column", "console", "print_grid"]

_WIDEST: Final = 120
_PIPE: Final = 100
_GAP: Final = 2


class _Console(Console):
    """One that leaves it to the program what becomes of a reader who went away."""

    def on_broken_pipe(self) -> None:
        """Rich would end the program here, with a missed prediction's exit code."""
        raise BrokenPipeError


def console(file: IO[str] | None = None) -> Console:
    """A console on standard output (or ``file``): no markup, no highlighting, no emoji in a stranger's text."""
    made = _Console(file=file or sys.stdout, highlight=False, markup=False, emoji=False)
    made.width = min(made.width, _WIDEST)
    if not made.is_terminal and "COLUMNS" not in os.environ:
        made.width = _PIPE
    return made


@dataclass(frozen=True)
class Column:
    """A column of a table. Numbers are never cut; text columns give way, each down to ``least`` characters."""

    heading: str
    text: bool = False
    least: int = 12
    most: int = 60


def print_grid(out: Console, columns: Sequence[Column], rows: Sequence[Sequence[str | Text]]) -> None:
    """Print rows under headings, one space in from the left, without lines, in the width there is."""
    cells = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    widths = [
        max([len(column.heading), *(row[at].cell_len for row in cells)], default=0) for at, column in enumerate(columns)
    ]
    widths = [min(width, column.most) if column.text else width for width, column in zip(widths, columns, strict=True)]
    room = out.width - 1 - _GAP * (len(columns) - 1)
    over = sum(widths) - room
    while over > 0:
        spare = [(widths[at], at) for at, column in enumerate(columns) if column.text and widths[at] > column.least]
        if not spare:
            break
        widths[max(spare)[1]] -= 1
        over -= 1
    table = Grid(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold")
    for width, column in zip(widths, columns, strict=True):
        table.add_column(
            column.heading,
            justify="left" if column.text else "right",
            no_wrap=True,
            overflow="ellipsis",
            min_width=width,
            max_width=width,
        )
    for row in cells:
        table.add_row(*row)
    out.print(Padding(table, (0, 0, 0, 1), expand=False))
