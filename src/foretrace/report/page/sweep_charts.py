"""Figures of a sweep: who wins where as a heat map, what the default loses, and times as a size grows."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from foretrace.report.escape import plain
from foretrace.report.page.charts import THEMES, Chart, Theme, figure_json, new_figure
from foretrace.report.shape_words import common_words, shape_words
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foretrace.report.sweep_data import DeviceSweep
    from foretrace.report.sweep_outcome import CaseOutcome

__all__ = ["CURVES", "MAPS", "sweep_charts"]

MAPS: Final = 40
"""Lines of a heat map, at most: the page is for looking at, and the table below it has them all."""
CURVES: Final = 6

_FEWEST: Final = 3  # points that make a curve worth drawing
# By variant: a color that holds its own beside the others in light and in dark, and for the color-blind.
_COLORS: Final = {
    "cudnn": "#3f77cf",
    "flash": "#e08a1e",
    "efficient": "#2f9e75",
    "math": "#9a6bc9",
    "auto": "#7c8894",
    "flex": "#c9588f",
    "naive": "#8f7a66",
}
_OTHERS: Final = ("#b5a021", "#4fb3c4", "#a14a3c", "#5f6f2d")
_HOT: Final = ("", "#f6dc9a", "#f0a860", "#d9603f", "#a3211a")
_DARK_INK: Final = "#10161d"
_LIGHT_INK: Final = "#ffffff"
_DEEP: Final = 3  # from this level of a loss on the ink is light
_LOSSES: Final = (0.0, 0.1, 0.25, 0.5)
"""Where the color of a loss changes."""


@dataclass(frozen=True)
class _Line:
    """Cases that differ in their length alone: a row of a heat map, or a curve."""

    name: str
    points: dict[int, CaseOutcome]


def sweep_charts(device: DeviceSweep, number: int) -> list[Chart]:
    """The figures of one device; empty where no length varies."""
    lines = _lines(device)
    lengths = sorted({length for line in lines for length in line.points})
    if len(lengths) < 2:  # noqa: PLR2004 - one column is no map
        return []
    colors = variant_colors(device.variants)
    shown = lines[:MAPS]
    left_out = f" The first {MAPS} of {len(lines)} lines." if len(lines) > MAPS else ""
    charts = [
        Chart(
            f"sweep-{number}-winners",
            "Who is fastest",
            f"Each cell is a case; its number is how much longer the next variant takes, = is a tie.{left_out}",
            {name: _map(shown, lengths, theme, _winner_cell(colors)) for name, theme in THEMES.items()},
        )
    ]
    if device.default_loss is not None:
        charts.append(
            Chart(
                f"sweep-{number}-loss",
                "What the default dispatch loses",
                f"How much longer than the fastest it takes; cells without a number are within the spread.{left_out}",
                {name: _map(shown, lengths, theme, _loss_cell) for name, theme in THEMES.items()},
            )
        )
    for at, line in enumerate(_worth_a_curve(lines)):
        charts.append(
            Chart(
                f"sweep-{number}-curve-{at}",
                line.name,
                "Time of a call relative to the fastest, by length; bars are the spread, both axes logarithmic.",
                {name: _curves(line, colors, theme) for name, theme in THEMES.items()},
            )
        )
    return charts


def variant_colors(variants: Sequence[str]) -> dict[str, str]:
    """A color for each variant, the same on every page for those that foretrace brings."""
    spare = [color for name, color in _COLORS.items() if name not in variants]
    colors = iter([*_OTHERS, *spare] * (1 + len(variants)))
    return {name: _COLORS.get(name) or next(colors) for name in variants}


def _lines(device: DeviceSweep) -> list[_Line]:
    """The lines of a device in the order of its cases; decoding goes by the number of keys."""
    common = common_words(outcome.shape for outcome in device.outcomes)
    points: dict[str, dict[int, CaseOutcome]] = defaultdict(dict)
    for outcome in device.outcomes:
        shape = outcome.shape
        kind = "" if shape.length == shape.kv_length else "decoding " if shape.length == 1 else f"L {shape.length} "
        name = f"{kind}{shape_words(shape, {*common, 'length'})}"
        points[name][shape.kv_length] = outcome
    return [_Line(name.strip() or "all", found) for name, found in points.items()]


def _worth_a_curve(lines: Sequence[_Line]) -> list[_Line]:
    """The lines where most happens: winners change, and the default loses much."""

    def interest(line: _Line) -> tuple[int, float]:
        outcomes = [line.points[length] for length in sorted(line.points)]
        changes = sum(not set(one.winner_names) & set(other.winner_names) for one, other in pairwise(outcomes))
        return changes, max((outcome.loss or 0.0) for outcome in outcomes)

    long = [line for line in lines if len(line.points) >= _FEWEST]
    return sorted(long, key=interest, reverse=True)[:CURVES]


@dataclass(frozen=True)
class _Cell:
    """How a case is drawn in a map."""

    color: str
    """Empty is that of the page's lines: nothing to see."""
    label: str
    rank: int
    """Its place in the legend ..."""
    legend: str
    """... and its word there."""
    tip: str
    ink: str = _DARK_INK


def _winner_cell(colors: dict[str, str]) -> Callable[[CaseOutcome], _Cell | None]:
    def cell(outcome: CaseOutcome) -> _Cell | None:
        if outcome.best is None:
            return None
        margin = outcome.behind(outcome.runner_up)
        first = outcome.winner_names[0]
        label = "=" if outcome.tie else "" if margin is None else _longer(margin)
        tip = f"{' = '.join(plain(name) for name in outcome.winner_names)}, {time_text(outcome.best.median)}"
        if outcome.runner_up is not None and margin is not None:
            tip += f"; next {plain(outcome.runner_up.variant)}, {_longer(margin)}"
        return _Cell(colors[first], label, list(colors).index(first), plain(first), tip)

    return cell


def _loss_cell(outcome: CaseOutcome) -> _Cell | None:
    default, loss = outcome.default, outcome.loss
    if default is None or default.time_ns is None or loss is None:
        return None
    level = 0 if outcome.default_is_best else 1 + sum(loss >= edge for edge in _LOSSES[1:])
    words = ["within the spread", f"below {share_text(_LOSSES[1])}", f"below {share_text(_LOSSES[2])}"]
    words += [f"below {share_text(_LOSSES[3])}", f"{share_text(_LOSSES[3])} and more"]
    tip = f"{plain(default.backend or 'default')}, {time_text(default.time_ns.median)}"
    if not outcome.default_is_best:
        tip += f"; {plain(outcome.winner_names[0])} is faster"
    label = "" if outcome.default_is_best else _longer(loss)
    return _Cell(_HOT[level], label, level, words[level], tip, _LIGHT_INK if level >= _DEEP else _DARK_INK)


def _longer(share: float) -> str:
    return f"{1 + share:.1f}x" if share >= 1 else f"+{share_text(max(share, 0.0))}"


def _map(
    lines: Sequence[_Line], lengths: Sequence[int], theme: Theme, draw: Callable[[CaseOutcome], _Cell | None]
) -> Any:
    from bokeh.models import ColumnDataSource, HoverTool  # noqa: PLC0415 - only a page with figures pays for it

    cells: dict[tuple[int, str], dict[str, list[str]]] = {}
    for line in lines:
        for length, outcome in line.points.items():
            cell = draw(outcome)
            if cell is None:
                continue
            names = ("x", "y", "color", "label", "ink", "tip")
            group = cells.setdefault((cell.rank, cell.legend), {name: [] for name in names})
            values = (f"{length:,}", line.name, cell.color or theme.line, cell.label, cell.ink, cell.tip)
            for name, value in zip(group, values, strict=True):
                group[name].append(value)
    made = new_figure(
        theme,
        tools="",
        x_range=[f"{length:,}" for length in lengths],
        y_range=[line.name for line in lines][::-1],
        height=96 + 24 * len(lines),
    )
    made.grid.grid_line_color = None
    made.xaxis.axis_label = "length"
    for place in sorted(cells):
        source = ColumnDataSource(cells[place])
        made.rect(
            x="x",
            y="y",
            width=0.96,
            height=0.9,
            fill_color="color",
            line_color=None,
            source=source,
            legend_label=place[1],
        )
        made.text(
            x="x",
            y="y",
            text="label",
            text_align="center",
            text_baseline="middle",
            text_font_size="11px",
            text_color="ink",
            source=source,
        )
    if made.legend:
        made.add_layout(made.legend[0], "above")
    made.add_tools(HoverTool(tooltips=[("", "@y, length @x"), ("", "@tip")]))
    return figure_json(made, theme)


def _curves(line: _Line, colors: dict[str, str], theme: Theme) -> Any:
    from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, LogTicker  # noqa: PLC0415 - the same

    lengths = sorted(length for length, outcome in line.points.items() if outcome.best is not None)
    made = new_figure(theme, tools="", x_axis_type="log", y_axis_type="log", height=300)
    made.xaxis.axis_label = "length"
    made.yaxis.axis_label = "times the fastest"
    made.yaxis.ticker = LogTicker(mantissas=[1, 2, 5])
    made.xaxis.ticker = FixedTicker(ticks=lengths)
    made.xaxis.major_label_overrides = {length: f"{length:,}" for length in lengths}
    for variant, color in colors.items():
        data: dict[str, list[Any]] = {name: [] for name in ("length", "times", "low", "high", "text")}
        for length in lengths:
            outcome = line.points[length]
            best = outcome.best
            time = next((row.time_ns for row in outcome.rows if row.variant == variant), None)
            if best is None or time is None:
                continue
            low, high = max(time.min, time.median - time.spread), min(time.max, time.median + time.spread)
            values = (length, time.median / best.median, low / best.median, high / best.median)
            for name, value in zip(data, (*values, f"{plain(variant)} {time_text(time.median)}"), strict=True):
                data[name].append(value)
        if not data["length"]:
            continue
        source = ColumnDataSource(data)
        dash = "dashed" if variant == "auto" else "solid"
        label = "default" if variant == "auto" else plain(variant)
        made.line(x="length", y="times", color=color, line_width=2, line_dash=dash, source=source, legend_label=label)
        made.scatter(x="length", y="times", color=color, size=6, source=source, legend_label=label)
        made.segment(x0="length", y0="low", x1="length", y1="high", color=color, source=source)
    made.add_layout(made.legend[0], "above")
    made.add_tools(HoverTool(tooltips=[("", "@text"), ("", "length @length")]))
    return figure_json(made, theme)
