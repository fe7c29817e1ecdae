"""The comparison's part of the page: a sentence, the table of variants, and figures of times and memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from foretrace.report.comparison_notes import MASKED_ROWS, speedup_text
from foretrace.report.escape import plain
from foretrace.report.page.charts import THEMES, Chart, Theme, figure_json, new_figure
from foretrace.report.roofline_text import over_floor_text
from foretrace.units import bytes_text, share_text, time_scale, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from foretrace.analysis.timeline import PerStep
    from foretrace.report.comparison import Comparison, VariantRow
    from foretrace.report.data import Reading

__all__ = [
    "comparison_charts",
    "comparison_facts",
    "comparison_headline",
    "comparison_title",
    "strip_note",
    "variant_columns",
]

_BOUND: Final = {"device": "device", "cpu": "CPU", "mixed": "mixed", "unknown": "-"}
_UNITS: Final = {"tensor_core": "tensor core", "cuda_core": "CUDA core", "none": "-", "unknown": "-"}
# Two variants make a comparison.
_FEWEST: Final = 2


@dataclass(frozen=True)
class Column:
    """A column of the table: its heading, what the heading means, and a cell for each variant that ran."""

    heading: str
    meaning: str
    cells: list[str]
    bars: list[float] | None = None
    """Shares of a full cell, for a column with bars."""
    number: bool = True
    wide: bool = False
    """Left out where the page is narrow."""


def comparison_facts(found: Comparison) -> list[str]:
    """Device, shape, and the software it was recorded with."""
    shape, device = found.shape, found.device
    parts = [plain(device["name"] or "unknown device")]
    if shape["batch"] is not None:
        parts += [f"B {shape['batch']}", _pair("H", shape["heads"], shape["kv_heads"])]
        parts += [_pair("L", shape["length"], shape["kv_length"]), f"D {shape['head_dim']}", plain(shape["dtype"])]
        parts.append("causal" if shape["causal"] else "not causal")
        parts += [f"{plain(shape['mask'])} mask"] if shape["mask"] != "none" else []
    if device["torch"]:
        parts.append(f"torch {plain(device['torch']).partition('+')[0]}")
    return parts


def _pair(letter: str, own: int, keys: int) -> str:
    return f"{letter} {own}" if own == keys else f"{letter} {own}/{keys} kv"


def comparison_title(found: Comparison) -> str:
    """What is compared: attention, where it was measured; else the folder that holds the traces."""
    training = found.shape["training"]
    if training is not None:
        return f"Attention {'training' if training else 'forward'}"
    return plain(found.folder.resolve().name) or "Traces"


def comparison_headline(found: Comparison) -> str:
    """One sentence: the fastest, by how much, and what the slowest does instead."""
    timed = [row for row in found.rows if row.time_ns and row.name != "auto"]
    if len(timed) < _FEWEST:
        return "One of them ran here; there is nothing to compare it with."
    best = min(timed, key=lambda row: row.time_ns or 0)
    worst = max(timed, key=lambda row: row.time_ns or 0)
    kind = "of device time a step" if found.on_device else "a call"
    if found.recording.shape is None:
        # Any traces: they need not be ways to do the same.
        ends = [f"{time_text(row.time_ns or 0)} ({plain(row.name)}{_kernels(row)})" for row in (best, worst)]
        return f"{len(timed)} traces, from {ends[0]} to {ends[1]} {kind}."
    times = speedup_text((worst.time_ns or 0) / (best.time_ns or 1))
    return (
        f"{plain(best.name)} is the fastest here: {time_text(best.time_ns or 0)} {kind}{_kernels(best)}. "
        f"The slowest, {plain(worst.name)}, takes {times} as long{_kernels(worst)}."
    )


def _kernels(row: VariantRow) -> str:
    if row.device_step is None:
        return ""
    number = row.device_step.kernels.value
    return f" in {number:,} kernel{'' if number == 1 else 's'}"


def strip_note(reading: Reading) -> str:
    """What stands beside a name over its lanes: kernels, copies, device time and busy share of a step."""
    step = reading.timeline.per_step
    if not reading.trace.has_device_activity:
        return f"{time_text(step.cpu_time_ns.median)} on the CPU"
    parts = [f"{step.kernels.value:,} kernel{'' if step.kernels.value == 1 else 's'}"]
    if step.memcpys.max:
        parts.append(f"{step.memcpys.value:,} cop{'y' if step.memcpys.value == 1 else 'ies'}")
    parts.append(time_text(step.device_time_ns.median))
    if step.busy_share is not None:
        parts.append(f"busy {share_text(step.busy_share)}")
    return ", ".join(parts)


def variant_columns(found: Comparison) -> list[Column]:
    """The columns of the table, without those that say nothing here."""
    rows = [row for row in found.rows if row.ok]
    columns = [*_device_columns(found, rows), *_host_columns(found, rows), *_measured_columns(rows)]
    return [column for column in columns if any(cell not in ("-", "") for cell in column.cells)]


def _device_columns(found: Comparison, rows: Sequence[VariantRow]) -> list[Column]:
    def step(row: VariantRow, of: Callable[..., str]) -> str:
        return "-" if row.device_step is None else of(row.device_step)

    def count(name: str) -> list[str]:
        return [step(row, lambda figures: _count(getattr(figures, name))) for row in rows]

    scale = time_scale(max((row.device_step.device_time_ns.median for row in rows if row.device_step), default=0))
    extra = {row["variant"]: row for row in found.to_json()["variants"]}
    speed = Column("vs naive", "Speed relative to naive", [speedup_text(found.speedup(row)) for row in rows])
    return [
        Column(
            "ran",
            "The SDPA backend, or how attention was computed",
            [plain(row.path or "-") for row in rows],
            number=False,
            wide=True,
        ),
        Column("kernels", "Kernels a step", count("kernels")),
        Column("copies", "Memcpys a step", count("memcpys"), wide=True),
        Column("memsets", "Memsets a step", count("memsets"), wide=True),
        Column(
            "device time",
            "Sum of durations a step",
            [step(row, lambda figures: scale(figures.device_time_ns.median)) for row in rows],
            bars=_shares([row.device_step.device_time_ns.median if row.device_step else 0 for row in rows]),
        ),
        *([speed] if found.on_device else []),
        Column(
            "of floor",
            "Device time over the least this card could take at this shape",
            [over_floor_text(found.over_floor(row)) for row in rows],
        ),
        Column(
            "bound",
            "Busy share of the period; from 80 % up the device is the bound, up to 50 % the CPU",
            [step(row, _bound) for row in rows],
            number=False,
        ),
        Column("unit", "Where its matrix work runs", [_unit(extra[row.name]) for row in rows], number=False, wide=True),
        Column(
            "occupancy",
            "Theoretical, and what limits it",
            [_occupancy(extra[row.name]) for row in rows],
            number=False,
            wide=True,
        ),
    ]


def _host_columns(found: Comparison, rows: Sequence[VariantRow]) -> list[Column]:
    times = [row.per_step.cpu_time_ns.median if row.per_step else 0 for row in rows]
    scale = time_scale(max(times, default=0))
    cells = [scale(time) if time else "-" for time in times]
    if found.on_device and any(row.record.wall_time_ns for row in rows):
        # Wall time says more, and the figure below has both.
        return []
    columns = [Column("CPU time", "Length of a step on the host, under the profiler", cells, wide=found.on_device)]
    if not found.on_device:
        columns.append(
            Column("vs naive", "Speed relative to naive", [speedup_text(found.speedup(row)) for row in rows])
        )
    return columns


def _measured_columns(rows: Sequence[VariantRow]) -> list[Column]:
    records = [row.record for row in rows]
    walls = [record.wall_time_ns.median if record.wall_time_ns else 0 for record in records]
    scale = time_scale(max(walls, default=0))
    return [
        Column(
            "wall",
            "One call of many, without the profiler",
            [scale(time) if time else "-" for time in walls],
            wide=True,
        ),
        Column(
            "memory",
            "The most that one call allocates",
            ["-" if record.peak_memory_bytes is None else bytes_text(record.peak_memory_bytes) for record in records],
            wide=True,
        ),
        Column(
            "max error",
            "Largest difference from float64",
            ["-" if record.max_abs_error is None else f"{record.max_abs_error:.1e}" for record in records],
            wide=True,
        ),
        Column(
            "masked row",
            "What a row without any key gives",
            [MASKED_ROWS.get(record.masked_row or "", "-") for record in records],
            wide=True,
        ),
    ]


def _count(count: Any) -> str:
    return f"{count.value:,} ({count.min:,} to {count.max:,})" if count.varies else f"{count.value:,}"


def _bound(figures: PerStep) -> str:
    share = "" if figures.busy_share is None else f" {share_text(figures.busy_share)}"
    return f"{_BOUND[figures.bound]}{share}"


def _shares(values: Sequence[float]) -> list[float]:
    most = max(values, default=0) or 1
    return [value / most for value in values]


def _unit(row: dict[str, Any]) -> str:
    return _UNITS.get(str(row.get("unit")), plain(str(row.get("unit") or "-")))


def _occupancy(row: dict[str, Any]) -> str:
    given = row.get("occupancy")
    if not isinstance(given, dict) or given.get("theoretical_pct") is None:
        return "-"
    limiter = str(given.get("limiter") or "").replace("_", " ")
    return f"{given['theoretical_pct']:.3g} %" + (f" {plain(limiter)}" if limiter else "")


def comparison_charts(found: Comparison) -> list[Chart]:
    """Times of each variant on one logarithmic axis, and its memory; empty for fewer than two variants."""
    rows = [row for row in found.rows if row.ok]
    if len(rows) < _FEWEST:
        return []
    charts = [
        Chart(
            "chart-times",
            "Device, CPU and wall time",
            "Of one step; the axis is logarithmic. Wall time is measured without the profiler.",
            {name: _times_figure(rows, theme) for name, theme in THEMES.items()},
        )
    ]
    if sum(row.record.peak_memory_bytes is not None for row in rows) >= _FEWEST:
        charts.append(
            Chart(
                "chart-memory",
                "Peak memory",
                "The most that one call allocates beyond its inputs.",
                {name: _memory_figure(rows, theme) for name, theme in THEMES.items()},
            )
        )
    return charts


def _times_figure(rows: Sequence[VariantRow], theme: Theme) -> Any:
    from bokeh.models import ColumnDataSource, FixedTicker, HoverTool  # noqa: PLC0415 - only a page with figures pays for it

    names = [plain(row.name) for row in rows]
    made = new_figure(theme, tools="", y_range=names[::-1], x_axis_type="log", height=90 + 26 * len(names))
    made.xaxis.axis_label = "ms"
    made.xaxis.ticker = FixedTicker(ticks=[base * 10.0**power for power in range(-6, 6) for base in (1, 2, 5)])
    devices: list[float] = [row.device_step.device_time_ns.median if row.device_step else 0 for row in rows]
    hosts: list[float] = [row.per_step.cpu_time_ns.median if row.per_step else 0 for row in rows]
    walls: list[float] = [row.record.wall_time_ns.median if row.record.wall_time_ns else 0 for row in rows]
    series = (
        ("device time", "circle", theme.device, devices),
        ("CPU time", "diamond", theme.cpu, hosts),
        ("wall time", "triangle", theme.accent, walls),
    )
    made.ygrid.grid_line_dash = "dotted"
    for label, marker, color, values in series:
        known = [(name, value) for name, value in zip(names, values, strict=True) if value]
        if not known:
            continue
        source = ColumnDataSource(
            {
                "name": [name for name, _ in known],
                "ms": [round(value / 1e6, 6) for _, value in known],
                "text": [f"{label} {time_text(value)}" for _, value in known],
            }
        )
        # Wall time is often device time: an outline lets both be seen.
        fill = None if label == "wall time" else color
        drawn = made.scatter(x="ms", y="name", size=10, marker=marker, source=source, legend_label=label)
        drawn.glyph.update(line_color=color, fill_color=fill, line_width=2 if fill is None else 1)
    made.add_layout(made.legend[0], "above")
    made.add_tools(HoverTool(tooltips=[("", "@name, @text")]))
    return figure_json(made, theme)


def _memory_figure(rows: Sequence[VariantRow], theme: Theme) -> Any:
    from bokeh.models import ColumnDataSource, HoverTool  # noqa: PLC0415 - the same

    known = [
        (plain(row.name), row.record.peak_memory_bytes or 0) for row in rows if row.record.peak_memory_bytes is not None
    ]
    names = [name for name, _ in known]
    made = new_figure(theme, tools="", y_range=names[::-1], height=90 + 26 * len(names))
    made.x_range.start = 0
    made.xaxis.axis_label = "MB"
    source = ColumnDataSource(
        {"name": names, "mb": [size / 1e6 for _, size in known], "text": [bytes_text(size) for _, size in known]}
    )
    made.ygrid.grid_line_color = None
    made.hbar(y="name", right="mb", height=0.6, color=theme.device, source=source)
    made.add_tools(HoverTool(tooltips=[("", "@name, @text")]))
    return figure_json(made, theme)
