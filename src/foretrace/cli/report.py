"""`foretrace report`: a trace as one HTML file."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foretrace.cli.opening import open_trace, opening_options
from foretrace.errors import UsageError
from foretrace.report.escape import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.predictions import Prediction

__all__ = ["command", "page_path"]


@click.command(name="report")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE.html", help="[default: TRACE's name with .html]"
)
@opening_options
@click.option("--expect", "expected", multiple=True, metavar="PREDICTION", help="A prediction to hold against it.")
@click.option(
    "--predictions", "files", multiple=True, type=click.Path(path_type=Path), metavar="FILE.toml", help="Predictions."
)
@click.option("--no-charts", is_flag=True, help="Without the figures over the steps; the file is 0.5 MB smaller.")
@click.option(
    "--max-events",
    type=click.IntRange(min=1),
    metavar="N",
    help="Events the lanes hold at most. [default: 400,000]",
)
def command(
    *,
    trace: Path,
    output: Path | None,
    expected: tuple[str, ...],
    files: tuple[Path, ...],
    no_charts: bool,
    max_events: int | None,
    **opening: Any,
) -> None:
    """Write TRACE as one HTML page: lanes, kernels, ops, findings, guesses. It needs no network and can be mailed.

    TRACE may be a folder that `foretrace attention` wrote: its variants then stand side by side.
    """
    from foretrace.report.html import report  # noqa: PLC0415 - `--help` needs none of it

    out = output or page_path(trace)
    predictions = _predictions(expected, files)
    source = trace if trace.is_dir() else open_trace(trace, **opening)
    with _busy(f"writing {out}"):
        report(source, out, expect=predictions, charts=not no_charts, max_events=max_events)
    click.echo(f"wrote {out} ({out.stat().st_size / 1e6:.1f} MB)", err=True)


@contextmanager
def _busy(text: str) -> Iterator[None]:
    """Say what takes a moment, where somebody watches."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it

    with Console(stderr=True, markup=False).status(plain(text)):
        yield


def _predictions(expected: tuple[str, ...], files: tuple[Path, ...]) -> list[str | Prediction]:
    found: list[str | Prediction] = [*expected]
    if files:
        from foretrace.predictions.files import read_predictions  # noqa: PLC0415 - see above

        for file in files:
            found += read_predictions(file)
    return found


def page_path(trace: Path) -> Path:
    """Where the page of a trace goes unless said otherwise: into the working directory, or a recording's own folder."""
    if trace.is_dir():
        return trace / "report.html"
    name = trace.name.rpartition(":")[2]  # of a member of an archive, the member's own
    for suffix in (".gz", ".zst", ".zip", ".tar", ".json", ".pt.trace"):
        name = name.removesuffix(suffix)
    if not name.strip(".-"):
        raise UsageError(f"{trace} gives the page no name; say where it goes with -o FILE.html.")
    return Path(f"{name}.html")
