"""Figures, made with Bokeh and drawn by its script in the page; each in light and in dark colors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.report.escape import plain
from foretrace.units import time_scale

if TYPE_CHECKING:
    from foretrace.report.data import Reading
    from foretrace.trace.model import Trace

__all__ = ["Chart", "Theme", "step_charts"]

# A figure over fewer steps says nothing that the table of steps does not.
_FEWEST_STEPS: Final = 3
# More points than this are thinned: they would lie on each other.
_MOST_POINTS: Final = 4000


@dataclass(frozen=True)
class Theme:
    """The colors of a figure; those of page.css."""

    text: str
    quiet: str
    line: str
    device: str
    cpu: str
    accent: str


THEMES: Final = {
    "light": Theme("#1a2129", "#5a6572", "#d9dde3", "#3f77cf", "#b7791f", "#b3261e"),
    "dark": Theme("#e6eaef", "#a3adb9", "#363e48", "#7aa7f0", "#e0ad5c", "#ff8f85"),
}


@dataclass(frozen=True)
class Chart:
    """A figure: its place in the page, what it is called, and Bokeh's JSON for each theme."""

    id: str
    title: str
    caption: str
    items: dict[str, Any]


def step_charts(reading: Reading) -> list[Chart]:
    """Time by step, and how far the device runs behind the host; empty for fewer than three steps."""
    steps = reading.timeline.steps
    if len(steps) < _FEWEST_STEPS:
        return []
    found = [
        Chart(
            "chart-steps",
            "Time by step",
            "Device time (sum of durations) and the length of the step on the CPU.",
            {name: _steps_figure(reading, theme) for name, theme in THEMES.items()},
        )
    ]
    if reading.trace.activities.linked.any():
        found.append(
            Chart(
                "chart-lag",
                "From launch to start",
                "Each point is an activity: how long after its launch it began. A rising line is a device that falls "
                "behind the host.",
                {name: _lag_figure(reading.trace, theme) for name, theme in THEMES.items()},
            )
        )
    return found


def new_figure(theme: Theme, *, height: int = 240, **options: Any) -> Any:
    """A figure of the page's width in the theme's colors, with few tools."""
    from bokeh.plotting import figure  # noqa: PLC0415 - only a page with figures pays for it

    made = figure(
        sizing_mode="stretch_width",
        height=height,
        toolbar_location=None,
        background_fill_alpha=0,
        border_fill_alpha=0,
        outline_line_color=None,
        **options,
    )
    for axis in (*made.xaxis, *made.yaxis):
        axis.axis_line_color = axis.major_tick_line_color = theme.line
        axis.minor_tick_line_color = None
        axis.major_label_text_color = axis.axis_label_text_color = theme.quiet
        axis.axis_label_text_font_style = "normal"
    made.grid.grid_line_color = theme.line
    made.xgrid.grid_line_color = None
    return made


def figure_json(made: Any, theme: Theme) -> Any:
    """Bokeh's JSON of a figure, its legend in the theme's colors."""
    from bokeh.embed import json_item  # noqa: PLC0415 - the same

    for legend in made.legend:
        legend.background_fill_alpha = 0
        legend.border_line_color = None
        legend.label_text_color = theme.text
        legend.orientation = "horizontal"
        legend.padding = legend.margin = 0
    return json_item(made)


def _steps_figure(reading: Reading, theme: Theme) -> Any:
    from bokeh.models import HoverTool  # noqa: PLC0415 - only a page with figures pays for it

    steps = reading.timeline.steps
    unit = time_scale(max(max(step.device_time_ns, step.cpu_time_ns) for step in steps))
    labels = [plain(step.name).rpartition("#")[2] or plain(step.name) for step in steps]
    at = list(range(len(steps)))
    made = new_figure(theme, tools="")
    made.y_range.start = 0
    made.yaxis.axis_label = unit.unit
    made.xaxis.axis_label = "step"
    data = {
        "at": at,
        "name": [plain(step.name) + (" (cold)" if step.cold else "") for step in steps],
        "device": [step.device_time_ns / unit.divisor for step in steps],
        "cpu": [step.cpu_time_ns / unit.divisor for step in steps],
        "device_text": [unit(step.device_time_ns) for step in steps],
        "cpu_text": [unit(step.cpu_time_ns) for step in steps],
    }
    from bokeh.models import ColumnDataSource  # noqa: PLC0415 - the same

    source = ColumnDataSource(data)
    if any(step.device_time_ns for step in steps):
        made.vbar(x="at", top="device", width=0.72, source=source, color=theme.device, legend_label="device time")
    made.scatter(x="at", y="cpu", size=8, source=source, color=theme.cpu, legend_label="CPU time", marker="diamond")
    made.legend.location = "bottom_left"
    made.add_layout(made.legend[0], "above")
    every = max(1, len(steps) // 12)
    made.xaxis.ticker = at[::every]
    made.xaxis.major_label_overrides = dict(zip(at, labels, strict=True))
    tips = [("step", "@name"), ("device time", "@device_text"), ("CPU time", "@cpu_text")]
    made.add_tools(HoverTool(tooltips=tips, mode="vline"))
    return figure_json(made, theme)


def _lag_figure(trace: Trace, theme: Theme) -> Any:
    acts = trace.activities
    at = np.flatnonzero(acts.linked & acts.timed)
    at = at[np.argsort(acts.ts[at], kind="stable")]
    lag = acts.ts[at] - trace.rows.ts[acts.launch[at]]
    if len(at) > _MOST_POINTS:
        # The longest of each run of neighbors is kept: thinning must not hide a peak.
        pieces = np.array_split(np.arange(len(at)), _MOST_POINTS)
        kept = np.array([piece[np.argmax(lag[piece])] for piece in pieces])
        at, lag = at[kept], lag[kept]
    unit = time_scale(float(lag.max(initial=0)))
    whole = time_scale(float(acts.ts[at].max(initial=0)))
    made = new_figure(theme, tools="")
    made.xaxis.axis_label = f"time in the recording, {whole.unit}"
    made.yaxis.axis_label = unit.unit
    made.scatter(
        x=(acts.ts[at] / whole.divisor).round(4), y=(lag / unit.divisor).round(4), size=4, color=theme.device, alpha=0.7
    )
    return figure_json(made, theme)
