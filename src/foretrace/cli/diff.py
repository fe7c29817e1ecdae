"""`foretrace diff`: what changed between two traces, or two folders of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from foretrace.differences import diff
from foretrace.errors import UsageError
from foretrace.trace.load import load_trace

if TYPE_CHECKING:
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
@click.option("--step", metavar="NAME", help="Make every annotation of this name a step.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON (schema 1).")
def command(
    *, before: Path, after: Path, fail_on: str | None, everything: bool, step: str | None, as_json: bool
) -> int:
    """Say what changed from BEFORE to AFTER: counts before times, and times with their noise.

    Both are traces, or both folders of traces, which are compared by name. A time is within noise when the ranges over
    the steps meet, or lie closer than those of two runs of one program do (2 % of device time, 35 % of CPU time).
    """
    found: Difference | FolderDifference
    if before.is_dir() != after.is_dir() and before.exists() and after.exists():
        folder, file = (before, after) if before.is_dir() else (after, before)
        raise UsageError(f"{folder} is a folder and {file} a file; give two traces, or two folders of traces.")
    if before.is_dir():
        from foretrace.differences.folders import diff_folders  # noqa: PLC0415 - few compare folders

        found = diff_folders(before, after, step=step)
    else:
        found = diff(load_trace(before, step=step), load_trace(after, step=step))
    if as_json:
        from foretrace.cli.read import print_json  # noqa: PLC0415 - only where JSON is asked for

        print_json(found.to_json())
    else:
        _print(found, everything=everything)
    return _exit_code(found, fail_on)


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
