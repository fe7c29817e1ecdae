"""The roofline figure: what ops achieve, under what the device can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from foretrace.analysis.roofline.recorded import trace_roofline
from foretrace.report.escape import ellipsis, plain
from foretrace.report.page.charts import THEMES, Chart, Theme, figure_json, new_figure
from foretrace.report.roofline_text import over_floor_text, rate_text
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.analysis.roofline.recorded import TraceRoofline
    from foretrace.names.peaks import Peaks
    from foretrace.report.data import Reading

__all__ = ["roofline_chart"]

# The longest of the ops; more of them lie on each other.
_MOST_OPS: Final = 60
_NAME: Final = 60
# The roof reaches this far beyond the points, as a factor.
_MARGIN: Final = 4.0


def roofline_chart(reading: Reading) -> list[Chart]:
    """Ops by intensity and achieved rate; empty where no shapes were recorded or the device's peaks are not known."""
    if not (reading.trace.has_shapes and reading.trace.has_device_activity):
        return []
    found = trace_roofline(reading.trace)
    points = _points(found)
    if found.peaks is None or found.peaks.bytes_per_s is None or not points:
        return []
    peaks = found.peaks
    return [
        Chart(
            "chart-roofline",
            "Roofline",
            f"Each point is an op with its inputs: FLOPs for each byte that must move, and the rate it reached. The "
            f"lines are the peaks of {plain(peaks.device)}; the larger the point, the more device time.",
            {name: _figure(points, peaks, _roofs(found, peaks), theme) for name, theme in THEMES.items()},
        )
    ]


def _points(found: TraceRoofline) -> list[dict[str, Any]]:
    known = [op for op in found.ops if op.bound.intensity and op.bound.achieved_flops_per_s][:_MOST_OPS]
    most = max((op.device_time_ns for op in known), default=1) or 1
    return [
        {
            "intensity": op.bound.intensity,
            "rate": op.bound.achieved_flops_per_s,
            "size": 6 + 16 * (op.device_time_ns / most) ** 0.5,
            "name": ellipsis(plain(op.name), _NAME),
            "inputs": ellipsis(plain(op.shapes), _NAME),
            "time": f"{time_text(op.device_time_ns / op.calls)} a call, {op.calls:,} calls",
            "reached": rate_text(op.bound.achieved_flops_per_s or 0, "FLOP"),
            "floor": "not known"
            if op.bound.floor_ns is None
            else f"{time_text(op.bound.floor_ns)}, took {over_floor_text(op.bound.over_floor)}",
            "of_peak": "not known"
            if op.bound.share_of_peak is None
            else f"{share_text(op.bound.share_of_peak)}, {op.bound.bound}-bound",
        }
        for op in known
    ]


def _roofs(found: TraceRoofline, peaks: Peaks) -> list[tuple[str, float]]:
    """The compute roofs worth drawing: tensor cores in the dtypes that occur, and fp32 on CUDA cores."""
    shapes = " ".join(op.shapes for op in found.ops)
    wanted = [("tensor_core", dtype) for dtype in ("bf16", "fp16") if dtype.replace("fp", "f") in shapes]
    wanted = [*(wanted or [("tensor_core", "tf32")]), ("cuda_core", "fp32")]
    roofs: dict[float, str] = {}
    for unit, dtype in wanted:
        rate = peaks.rate(unit, dtype)
        if rate:
            word = "tensor cores" if unit == "tensor_core" else "CUDA cores"
            roofs.setdefault(rate, f"{dtype} on {word}, {rate_text(rate, 'FLOP')}")
    return [(text, rate) for rate, text in roofs.items()]


def _figure(points: Sequence[dict[str, Any]], peaks: Peaks, roofs: Sequence[tuple[str, float]], theme: Theme) -> Any:
    from bokeh.models import ColumnDataSource, HoverTool, Range1d  # noqa: PLC0415 - as in charts.py
    from bokeh.models.annotations import Label  # noqa: PLC0415 - the same

    bandwidth = peaks.bytes_per_s or 1
    intensities, rates = [point["intensity"] for point in points], [point["rate"] for point in points]
    low = min(intensities) / _MARGIN
    high = max(*intensities, max(rate for _, rate in roofs) / bandwidth) * _MARGIN
    bottom = min(*rates, low * bandwidth) / _MARGIN
    top = max(rate for _, rate in roofs) * _MARGIN
    made = new_figure(
        theme,
        height=340,
        tools="",
        x_axis_type="log",
        y_axis_type="log",
        x_range=Range1d(start=low, end=high),
        y_range=Range1d(start=bottom, end=top),
    )
    made.xaxis.axis_label = "FLOPs a byte"
    made.yaxis.axis_label = "FLOP/s"
    for at, (text, rate) in enumerate(roofs):
        knee = rate / bandwidth
        made.line(x=[low, knee, high], y=[low * bandwidth, rate, rate], color=theme.accent, line_width=1.5)
        made.add_layout(
            Label(
                x=high / 1.15,
                y=rate / 1.15 if at else rate * 1.15,
                text=text,
                text_align="right",
                text_baseline="top" if at else "bottom",
                text_color=theme.quiet,
                text_font_size="12px",
            )
        )
    made.add_layout(
        Label(
            x=low * 1.1,
            y=low * bandwidth * 2,
            text=rate_text(bandwidth, "B"),
            text_color=theme.quiet,
            text_font_size="12px",
        )
    )
    source = ColumnDataSource({key: [point[key] for point in points] for key in points[0]})
    drawn = made.scatter(x="intensity", y="rate", size="size", source=source, color=theme.device, alpha=0.65)
    tips = [
        ("", "@name"),
        ("inputs", "@inputs"),
        ("device time", "@time"),
        ("reached", "@reached"),
        ("floor", "@floor"),
        ("of peak", "@of_peak"),
    ]
    made.add_tools(HoverTool(tooltips=tips, renderers=[drawn]))
    return figure_json(made, theme)
