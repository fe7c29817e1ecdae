"""`foretrace calibrate`: measure this card's copy bandwidth and matrix rates, for the roofline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from foretrace._version import __version__
from foretrace.cli.read import print_json
from foretrace.errors import UsageError

if TYPE_CHECKING:
    from foretrace.capture.calibrate import Calibration

__all__ = ["command"]


@click.command(name="calibrate")
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="Write the rates as TOML.")
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON (schema 1).")
def command(*, output: Path | None, as_json: bool) -> None:
    """Measure what this card reaches: a large copy, and large matrix products by dtype. It takes some seconds.

    The file may stand in for the makers' peak rates: give it with --peaks.
    """
    from foretrace.capture.calibrate import calibrate, calibration_toml  # noqa: PLC0415 - torch, where it is asked for

    found = calibrate()
    if output is not None:
        try:
            output.write_text(calibration_toml(found), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{output}: {error.strerror}.") from error
        click.echo(f"wrote {output}", err=True)
    if as_json:
        print_json({"schema": 1, "foretrace": __version__, **vars(found)})
    else:
        _print(found)


def _print(found: Calibration) -> None:
    from rich.text import Text  # noqa: PLC0415 - rich is for people

    from foretrace.names.peaks import peaks_of  # noqa: PLC0415 - the same
    from foretrace.report.console import Column, console, print_grid  # noqa: PLC0415 - the same
    from foretrace.report.escape import plain  # noqa: PLC0415 - the same
    from foretrace.report.roofline_text import rate_text  # noqa: PLC0415 - the same
    from foretrace.units import share_text  # noqa: PLC0415 - the same

    peaks = peaks_of(found.device)
    rows = [("copy, read and written", found.bytes_per_s, peaks.bytes_per_s if peaks else None, "B")]
    for unit, table in (("tensor_core", found.tensor_core), ("cuda_core", found.cuda_core)):
        for dtype, rate in table.items():
            stated = peaks.rate(unit, dtype) if peaks else None
            rows.append((f"matrix product, {dtype}", rate, stated, "FLOP"))
    out = console()
    out.print(Text(f" {plain(found.device)} · torch {plain(found.torch)}", style="bold"), soft_wrap=True)
    out.print()
    columns = [Column("Measured", text=True), Column("reached"), Column("stated"), Column("share")]
    cells = [
        [
            what,
            rate_text(rate, unit),
            rate_text(stated, unit) if stated else "-",
            share_text(rate / stated) if stated else "-",
        ]
        for what, rate, stated, unit in rows
    ]
    print_grid(out, columns, cells)
