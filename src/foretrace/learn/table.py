"""A table laid out in lines of text: columns of text give way to the width there is, and break between words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.learn.lesson import Grid

__all__ = ["grid_lines"]

_GAP: Final = 2
_LEAST: Final = 8
"""Columns of text are not made narrower than this."""
_PIECE: Final = re.compile(r"[^\s_,/:.>-]*[\s_,/:.>-]*")
"""Up to where a line may break: after a blank, and after what joins the words of a name."""


def grid_lines(grid: Grid, width: int) -> tuple[str, list[str]]:
    """The line of headings, and the lines of the rows, at most ``width`` wide where its numbers leave room.

    No line ends in blanks.
    """
    widths = _widths(grid, width)
    head = _joined(grid, [grid.headings], widths)
    return head[0], [line for row in grid.rows for line in _joined(grid, _folded(grid, row, widths), widths)]


def _widths(grid: Grid, width: int) -> list[int]:
    columns = range(len(grid.headings))
    widths = [max([len(grid.headings[at]), *(len(row[at]) for row in grid.rows)]) for at in columns]
    floors = [max(len(grid.headings[at]), _LEAST) if at in grid.text else widths[at] for at in columns]
    over = sum(widths) + _GAP * (len(widths) - 1) - width
    while over > 0:
        spare = [at for at in columns if widths[at] > floors[at]]
        if not spare:
            break
        widths[max(spare, key=widths.__getitem__)] -= 1
        over -= 1
    return widths


def _folded(grid: Grid, row: Sequence[str], widths: Sequence[int]) -> list[list[str]]:
    """The lines of one row."""
    cells = [_wrapped(cell, widths[at]) if at in grid.text else [cell] for at, cell in enumerate(row)]
    return [[cell[line] if line < len(cell) else "" for cell in cells] for line in range(max(map(len, cells)))]


def _wrapped(text: str, width: int) -> list[str]:
    lines, line = [], ""
    for piece in _PIECE.findall(text):
        if line and len((line + piece).rstrip()) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece
        while len(line.rstrip()) > width:
            lines.append(line[:width])
            line = line[width:]
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


def _joined(grid: Grid, lines: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    return [
        (" " * _GAP)
        .join(
            cell.ljust(width) if at in grid.text else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        .rstrip()
        for line in lines
    ]
