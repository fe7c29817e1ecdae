"""What `foretrace metrics` prints: every named number with its unit and what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from foretrace.predictions.outcome import value_texts
from foretrace.report.console import Column, print_grid
from foretrace.report.escape import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from foretrace.analysis.metrics import Metric

__all__ = ["print_metrics"]

_NAME: Final = 44


def print_metrics(out: Console, metrics: Sequence[Metric], title: str) -> None:
    """One line a metric; those without a value last, with the reason."""
    out.print(Text(plain(title), style="bold"), overflow="fold")
    known = [metric for metric in metrics if metric.value is not None]
    unknown = [metric for metric in metrics if metric.value is None]
    names = max((len(plain(metric.name)) for metric in metrics), default=0)
    name = Column("", text=True, most=_NAME, least=min(names, _NAME))
    if known:
        steps = any(metric.per == "step" for metric in known)
        columns = [
            name,
            Column("a step" if steps else "recording"),
            Column("over the steps" if steps else ""),
            Column("", text=True, most=80, least=8),
        ]
        cells: list[list[str | Text]] = [
            [plain(metric.name), *(plain(text) for text in value_texts(metric)), Text(plain(_about(metric)), "dim")]
            for metric in known
        ]
        out.print()
        print_grid(out, columns, cells)
    if unknown:
        out.print()
        print_grid(
            out,
            [name, Column("no value, because", text=True, most=100, least=30)],
            [[plain(metric.name), Text(plain(metric.missing or ""), style="dim")] for metric in unknown],
        )


def _about(metric: Metric) -> str:
    return f"{metric.text} {metric.figure.note}".strip()
