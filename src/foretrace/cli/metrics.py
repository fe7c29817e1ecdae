"""`foretrace metrics`: every named number of a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from foretrace._version import __version__
from foretrace.cli.opening import open_trace, opening_options
from foretrace.predictions.named import metrics

__all__ = ["command"]


@click.command(name="metrics")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--op", metavar="NAME", help="Only what runs in ops of this name (* stands for any text).")
@click.option("--annotation", metavar="NAME", help="Only what runs in annotations of this name.")
@opening_options
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON (schema 1).")
def command(*, trace: Path, op: str | None, annotation: str | None, as_json: bool, **opening: Any) -> None:
    """Print every named number of TRACE: what `foretrace check` predicts and `foretrace diff` compares."""
    found = open_trace(trace, **opening)
    all_of_them = metrics(found, op=op, annotation=annotation)
    if as_json:
        from foretrace.cli.read import print_json  # noqa: PLC0415 - only where JSON is asked for

        print_json(
            {
                "schema": 1,
                "foretrace": __version__,
                "file": found.file,
                "op": op,
                "annotation": annotation,
                "metrics": [metric.to_json() for metric in all_of_them],
            }
        )
        return
    from foretrace.report.console import console  # noqa: PLC0415 - rich is for people
    from foretrace.report.metrics_text import print_metrics  # noqa: PLC0415 - the same

    where = f" · {all_of_them.scope}" if all_of_them.scope is not None else ""
    print_metrics(console(), list(all_of_them), f"{found.file}{where}")
