"""What `foretrace metrics` prints: every named number with its unit and what it is."""

from __future__ import annotations

from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from rich.text import Text

from foretrace.predictions.outcome import value_texts
from foretrace.report.escape import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from foretrace.analysis.metrics import Metric

__all__ = ["print_metrics"]

_GAP: Final = 2
_ROOM: Final = 32
"""With less room beside the numbers, what a metric is stands under it."""
_NAME: Final = 30
_UNDER: Final = 4


def print_metrics(out: Console, metrics: Sequence[Metric], title: str) -> None:
    """One metric after the other; those without a value last, with the reason.

    Names are without the op or annotation that all of them are narrowed to, which ``title`` says.
    """
    for line in wrap(plain(title), max(20, out.width)) or [""]:
        out.print(Text(line, style="bold"), soft_wrap=True)
    known = [metric for metric in metrics if metric.value is not None]
    unknown = [metric for metric in metrics if metric.value is None]
    if known:
        steps = any(metric.per == "step" for metric in known)
        rows = [[_name(metric), *map(plain, value_texts(metric)), _about(metric)] for metric in known]
        out.print()
        _rows(out, ["", "a step" if steps else "recording", "over the steps" if steps else "", ""], rows)
    if unknown:
        out.print()
        _rows(out, ["", "no value, because"], [[_name(metric), plain(metric.missing or "")] for metric in unknown])


def _rows(out: Console, headings: list[str], rows: list[list[str]]) -> None:
    """Columns: the name, figures to the right, words wrapped in what room is left or below.

    Nothing is cut: a name that is too long for its column has a line of its own.
    """
    names = [row[0] for row in rows]
    widths = [min(max(map(len, names)), max(_NAME, out.width // 3))]
    widths += [max(len(row[at]) for row in [headings, *rows]) for at in range(1, len(headings) - 1)]
    figures_wide = sum(width + _GAP for width in widths[1:])
    widths[0] = min(widths[0], max(_UNDER, out.width - 1 - figures_wide))
    left = 1 + sum(width + _GAP for width in widths)
    beside = out.width - left
    stacked = beside < _ROOM and len(headings) > 2  # noqa: PLR2004 - of two columns, the second is the words
    head = (
        " "
        + " " * widths[0]
        + "".join(" " * _GAP + f"{text:>{width}}" for text, width in zip(headings[1:-1], widths[1:], strict=True))
    )
    out.print(Text((head + " " * _GAP + headings[-1]).rstrip(), style="bold"), soft_wrap=True)
    for name, *figures, words in rows:
        line = f" {name:<{widths[0]}}"
        if len(name) > widths[0]:
            for part in wrap(name, max(20, out.width - 1), break_on_hyphens=False):
                out.print(Text(f" {part}"), soft_wrap=True)
            line = " " * (1 + widths[0])
        line += "".join(" " * _GAP + f"{text:>{width}}" for text, width in zip(figures, widths[1:], strict=True))
        indent = _UNDER if stacked else left
        said = wrap(words, max(20, out.width - indent - 1), break_on_hyphens=False)
        if not stacked:
            first, *said = said or [""]
            out.print(Text(line + " " * _GAP) + Text(first, style="dim"), soft_wrap=True)
        else:
            out.print(Text(line.rstrip()), soft_wrap=True)
        for part in said:
            out.print(Text(" " * indent + part, style="dim"), soft_wrap=True)


def _name(metric: Metric) -> str:
    """Without the scope, which is said once above."""
    return plain(str(replace(metric.quantity, scope=None)))


def _about(metric: Metric) -> str:
    return plain(f"{metric.text} {metric.figure.note}".strip())
