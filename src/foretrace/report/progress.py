"""A progress bar on standard error for what takes over a second."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["counting_progress", "reading_progress"]

# A plain file below this is read in well under a second; packed files hold about fifteen times their size.
_PLAIN: Final = 200_000_000
_PACKED: Final = 20_000_000


@contextmanager
def reading_progress(path: Path) -> Iterator[Callable[[int], None] | None]:
    """What to call with the bytes read so far; None where no bar is wanted: small files, or nobody watching."""
    size = path.stat().st_size if path.is_file() else 0
    packed = path.suffix not in (".json", ".trace")
    if not sys.stderr.isatty() or size < (_PACKED if packed else _PLAIN):
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only large files pay for it
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn  # noqa: PLC0415

    columns = [TextColumn("reading"), BarColumn(), DownloadColumn(), TransferSpeedColumn()]
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None if packed else size)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def counting_progress(label: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar over things that are done one by one, where standard error is a terminal: what to tell it.

    It is told the name of what is being done, how many are done, and how many there are.
    """
    from rich.console import Console  # noqa: PLC0415 - rich is for people
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    terminal = Console(stderr=True)
    with Progress(
        TextColumn(" {task.description}", markup=False),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=terminal,
        transient=True,
        disable=not terminal.is_terminal,
    ) as bar:
        task = bar.add_task(label, total=None)
        yield lambda name, done, total: bar.update(task, description=name or "done", completed=done, total=total)
