"""`foretrace diff`: what changed between two traces, or two folders of them."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foretrace.cli.opening import open_trace, opening_options
from foretrace.differences import diff
from foretrace.errors import MissingDataError, UsageError
from foretrace.report.escape import plain
from foretrace.units import count_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foretrace.differences.compare import Difference
    from foretrace.differences.folders import FolderDifference

__all__ = ["command"]


@click.command(name="diff")
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option(
    "--fail-on",
    type=click.Choice(["structure", "times", "any"]),
    help="Exit with 1 when the structure, or times beyond noise, or either changed.",
)
@click.option("--all", "everything", is_flag=True, help="All changes, none folded.")
@opening_options
@click.option(
    "--html", type=click.Path(path_type=Path), metavar="FILE", help="Write it as one HTML page, both sides in lanes."
)
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON (schema 1).")
def command(
    *,
    before: Path,
    after: Path,
    fail_on: str | None,
    everything: bool,
    html: Path | None,
    as_json: bool,
    **opening: Any,
) -> int:
    """Say what changed from BEFORE to AFTER: counts before times, and times with their noise.

    Both are traces, or both folders of traces, which are compared by name. A time is within noise when the ranges over
    the steps meet, or lie closer than those of two runs of one program do (2 % of device time, 35 % of CPU time).
    """
    found: Difference | FolderDifference
    if html is not None and not html.parent.is_dir():
        raise UsageError(f"--html {html}: there is no folder {html.parent}; make it, or write the page elsewhere.")
    if before.is_dir() != after.is_dir() and before.exists() and after.exists():
        folder, file = (before, after) if before.is_dir() else (after, before)
        raise UsageError(f"{folder} is a folder and {file} a file; give two traces, or two folders of traces.")
    if before.is_dir():
        from foretrace.differences.folders import diff_folders  # noqa: PLC0415 - few compare folders

        with _progress() as progress:
            found = diff_folders(before, after, load=partial(open_trace, **opening), progress=progress)
    else:
        found = diff(open_trace(before, **opening), open_trace(after, **opening))
    if html is not None:
        from foretrace.report.html import report  # noqa: PLC0415 - only where a page is asked for

        report(found, html)
        click.echo(f"wrote {html} ({html.stat().st_size / 1e6:.1f} MB)", err=True)
    if as_json:
        from foretrace.cli.read import print_json  # noqa: PLC0415 - only where JSON is asked for

        print_json(found.to_json())
    else:
        _print(found, everything=everything)
    _complain_of_unread(found)
    return _exit_code(found, fail_on)


def _complain_of_unread(found: Difference | FolderDifference) -> None:
    """What could not be compared is no pass, whatever else was found.

    Raises:
        MissingDataError: a variant could not be compared.
    """
    unread = getattr(found, "unread", ())
    if unread:
        first = unread[0]
        rest = f" (and {count_text(len(unread) - 1, 'more variant')})" if len(unread) > 1 else ""
        raise MissingDataError(f"{first.variant}{rest} could not be compared: {first.problem}")


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """A progress bar on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - only who watches pays for it
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415 - the same

    columns = (TextColumn(" {task.description}", markup=False), BarColumn(bar_width=30), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("comparing", total=None)
        yield lambda name, done, total: bar.update(task, description=plain(name), completed=done, total=total)


def _print(found: Difference | FolderDifference, *, everything: bool) -> None:
    from foretrace.differences.compare import Difference  # noqa: PLC0415 - rich is for people
    from foretrace.report import diff_text  # noqa: PLC0415 - the same
    from foretrace.report.console import console  # noqa: PLC0415 - the same

    if isinstance(found, Difference):
        diff_text.print_difference(console(), found, everything=everything)
    else:
        diff_text.print_folders(console(), found, everything=everything)


def _exit_code(found: Difference | FolderDifference, fail_on: str | None) -> int:
    changed = []
    if fail_on in ("structure", "any") and found.structure_changed:
        changed.append("the structure")
    if fail_on in ("times", "any") and found.times_changed:
        changed.append("times beyond noise")
    if changed:
        click.echo(f"foretrace: {' and '.join(changed)} changed, which --fail-on {fail_on} names.", err=True)
    return 1 if changed else 0
