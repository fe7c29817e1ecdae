"""`foretrace open`: a trace in the Perfetto viewer, served from this machine to that page only."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from foretrace.cli.opening import open_trace
from foretrace.errors import UsageError

if TYPE_CHECKING:
    from foretrace.trace.model import Trace

__all__ = ["command"]


@click.command(name="open")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--repair-lanes",
    is_flag=True,
    help="Move overlapping activities of a stream to rows of their own; the viewer drops them silently.",
)
@click.option("--no-browser", is_flag=True, help="Only print the link.")
@click.option(
    "--wait",
    type=click.FloatRange(min=1),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="End when the viewer did not fetch the trace in this time.",
)
def command(*, trace: Path, repair_lanes: bool, no_browser: bool, wait: float) -> None:
    """Open TRACE in https://ui.perfetto.dev.

    The trace does not leave this machine: the viewer runs in your browser, which fetches the trace from 127.0.0.1.
    The server there answers only that page, only with this trace, once.
    """
    from foretrace.report.perfetto import ORIGIN, TraceServer  # noqa: PLC0415 - `--help` needs none of it
    from foretrace.report.perfetto_lanes import overlap_rows  # noqa: PLC0415 - the same
    from foretrace.units import count_text  # noqa: PLC0415 - the same

    if str(trace) == "-":
        raise UsageError("the viewer is given a file, not standard input; write the trace into one.")
    found = open_trace(trace)
    overlapping = int((overlap_rows(found) > 0).sum())
    served: Path | bytes
    if repair_lanes:
        served, moved = _repaired(found)
        click.echo(f"{count_text(moved, 'activity', 'activities')} moved to rows of their own.", err=True)
    else:
        served = _as_it_is(found)
        if overlapping:
            verb = "overlaps an earlier one" if overlapping == 1 else "overlap earlier ones"
            click.echo(
                f"{count_text(overlapping, 'activity', 'activities')} {verb} on their stream, and the viewer will not "
                "show them; --repair-lanes moves them to rows of their own.",
                err=True,
            )
    server = TraceServer(served, found.file if isinstance(served, Path) else _plain_name(found.file))
    click.echo(f"Serving {click.format_filename(trace)} to {ORIGIN}, once, for {wait:g} s at most.", err=True)
    click.echo("If the browser asks whether that page may reach this device, allow it.", err=True)
    click.echo(server.link)
    if not no_browser:
        import webbrowser  # noqa: PLC0415 - only where one is opened

        webbrowser.open(server.link)
    if not server.serve(wait):
        raise UsageError(f"{ORIGIN} did not fetch the trace within {wait:g} s; run it again and open the link sooner.")
    click.echo("Fetched; done.", err=True)


def _as_it_is(trace: Trace) -> Path | bytes:
    """The file where the viewer can read it (plain, or gzip around plain), else its text."""
    from foretrace.trace.source import open_source  # noqa: PLC0415 - see above

    with open_source(trace.path) as source:
        path = Path(source.path)
        if source.is_plain:
            return path
        if source.member is None and _is_plain_gzip(path):
            return path
        return b"".join(bytes(piece) for piece in source.pieces())


def _is_plain_gzip(path: Path) -> bool:
    """Gzip with no archive in it."""
    import gzip  # noqa: PLC0415 - see above

    from foretrace.trace.archive import archive_format  # noqa: PLC0415 - the same

    with path.open("rb") as file:
        if file.read(2) != b"\x1f\x8b":
            return False
    with gzip.open(path) as file:
        return not archive_format(file.read(512))


def _repaired(trace: Trace) -> tuple[bytes, int]:
    from foretrace.report.perfetto_lanes import repaired_lanes  # noqa: PLC0415 - see above
    from foretrace.trace.source import open_source  # noqa: PLC0415 - the same

    with open_source(trace.path) as source:
        text = b"".join(bytes(piece) for piece in source.pieces())
    return repaired_lanes(trace, text)


def _plain_name(name: str) -> str:
    """The name of the unpacked text."""
    for suffix in (".gz", ".zst", ".xz", ".bz2", ".zip", ".tar"):
        name = name.removesuffix(suffix)
    return name if name.endswith(".json") else f"{name}.json"
