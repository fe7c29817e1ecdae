"""What `foretrace attention` prints: the variants side by side, in as many tables as the width needs."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from foretrace.findings.rule import Severity
from foretrace.report.comparison_notes import MASKED_ROWS, comparison_notes, speedup_text
from foretrace.report.console import Column, console, print_grid
from foretrace.report.escape import plain
from foretrace.report.findings_text import stake_text
from foretrace.report.roofline_text import over_floor_text
from foretrace.units import bytes_text, count_text, share_text, time_scale, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from foretrace.analysis.timeline import Count
    from foretrace.report.comparison import Comparison, VariantRow

__all__ = ["comparison_text", "print_comparison"]

_GAP: Final = 2
_NAME_WIDTH: Final = 24
_TEXT_WIDTH: Final = 100
_FIRST_CAUSES: Final = 2
_UNITS: Final = {"tensor_core": "tensor core", "cuda_core": "CUDA core", "unknown": "unknown"}


@dataclass(frozen=True)
class _Field:
    """A column of the comparison: its heading and each row's cell."""

    heading: str
    cells: list[str | Text]
    text: bool = False

    @property
    def width(self) -> int:
        """What it takes at most."""
        widths = [cell.cell_len if isinstance(cell, Text) else Text(cell).cell_len for cell in self.cells]
        return max([len(self.heading), *widths])


def comparison_text(found: Comparison) -> str:
    """The whole view as plain text of 100 columns."""
    sink = io.StringIO()
    print_comparison(
        Console(file=sink, width=_TEXT_WIDTH, highlight=False, markup=False, emoji=False, color_system=None), found
    )
    return sink.getvalue()


def print_comparison(out: Console | None, found: Comparison, page: Path | None = None, *, why: bool = False) -> None:
    """Title, tables, the variants that cannot run here, what is odd, what follows, and where the ``page`` lies.

    With ``why``, what the dispatch rules say of each SDPA backend at this shape besides.
    """
    out = out or console()
    _print_title(out, found)
    rows = [row for row in found.rows if row.ok]
    if rows:
        _print_tables(out, found, rows)
    _print_reasons(out, found)
    _print_findings(out, found)
    if why:
        _print_why(out, found)
    _print_notes(out, found)
    _print_places(out, found, page)


def _print_title(out: Console, found: Comparison) -> None:
    shape, device = found.shape, found.device
    training = shape["training"]
    title = "Attention" if training is None else f"Attention {'training' if training else 'forward'}"
    parts = [title, plain(device["name"] or "unknown device")]
    if shape["batch"] is not None:
        parts += [f"B {shape['batch']}", _heads(shape["heads"], shape["kv_heads"])]
        parts += [_lengths(shape["length"], shape["kv_length"]), f"D {shape['head_dim']}", plain(shape["dtype"])]
        parts += ["causal"] if shape["causal"] else ["not causal"]
        parts += [f"{plain(shape['mask'])} mask"] if shape["mask"] != "none" else []
    where = f"torch {plain(device['torch']).partition('+')[0]}" if device["torch"] else ""
    if found.replayed:
        where = f"recorded, {where}" if where else "recorded"
    line = Text(" · ".join(parts), style="bold")
    if where:
        space = out.width - line.cell_len - len(where)
        line.append(" " * space + where if space > 1 else f"\n{where}", style="not bold dim")
    out.print(line, overflow="fold")


def _heads(heads: int, kv_heads: int) -> str:
    return f"H {heads}" if heads == kv_heads else f"H {heads}/{kv_heads} kv"


def _lengths(length: int, kv_length: int) -> str:
    return f"L {length}" if length == kv_length else f"L {length}/{kv_length} kv"


def _print_tables(out: Console, found: Comparison, rows: Sequence[VariantRow]) -> None:
    """Put as many columns side by side as fit; the others follow in a table of their own under the same names."""
    name = _Field("variant", [_name(row) for row in rows], text=True)
    fields = _device_fields(found, rows) if found.on_device else _cpu_fields(found, rows)
    fields = [field for field in fields if any(str(cell) not in ("-", "") for cell in field.cells)]
    start = 0
    while start < len(fields):
        room = out.width - 1 - min(name.width, _NAME_WIDTH)
        end = start
        while end < len(fields) and (room := room - _GAP - fields[end].width) >= 0:
            end += 1
        end = max(end, start + 1)
        out.print()
        part = [name, *fields[start:end]]
        columns = [Column(field.heading, text=field.text, least=8) for field in part]
        columns[0] = replace(columns[0], most=_NAME_WIDTH)
        print_grid(out, columns, list(zip(*(field.cells for field in part), strict=True)))
        start = end


def _name(row: VariantRow) -> Text:
    return Text(plain(row.name))


def _device_fields(found: Comparison, rows: Sequence[VariantRow]) -> list[_Field]:
    times = [row.device_step.device_time_ns.median for row in rows if row.device_step is not None]
    hosts = [row.per_step.cpu_time_ns.median for row in rows if row.per_step is not None]
    device, host = time_scale(max(times, default=0)), time_scale(max(hosts, default=0))

    def step(row: VariantRow, of: Callable[..., str]) -> str:
        return "-" if row.device_step is None else of(row.device_step)

    return [
        _Field("ran", [plain(row.path or "-") for row in rows], text=True),
        _Field("kernels", [step(row, lambda figures: _count(figures.kernels)) for row in rows]),
        _Field("memcpys", [step(row, lambda figures: _count(figures.memcpys)) for row in rows]),
        _Field("memsets", [step(row, lambda figures: _count(figures.memsets)) for row in rows]),
        _Field("device", [step(row, lambda figures: device(figures.device_time_ns.median)) for row in rows]),
        _Field("vs naive", [speedup_text(found.speedup(row)) for row in rows]),
        _Field("of floor", [over_floor_text(found.over_floor(row)) for row in rows]),
        _Field("busy", [step(row, lambda figures: _share(figures.busy_share)) for row in rows]),
        _Field("period", [step(row, lambda figures: _time(figures.period_ns, device)) for row in rows]),
        _Field("CPU", [host(row.per_step.cpu_time_ns.median) if row.per_step else "-" for row in rows]),
        *_measured_fields(rows),
        _Field("units", [_UNITS.get(row.unit or "", "-") for row in rows], text=True),
        _Field("occupancy", [_occupancy(row) for row in rows], text=True),
        _Field("launched by", [_launches(row) for row in rows], text=True),
    ]


def _cpu_fields(found: Comparison, rows: Sequence[VariantRow]) -> list[_Field]:
    hosts = [row.per_step.cpu_time_ns.median for row in rows if row.per_step is not None]
    host = time_scale(max(hosts, default=0))
    return [
        _Field("ran", [plain(row.path or "-") for row in rows], text=True),
        *_measured_fields(rows, vs_naive=_Field("vs naive", [speedup_text(found.speedup(row)) for row in rows])),
        _Field("CPU, profiled", [host(row.per_step.cpu_time_ns.median) if row.per_step else "-" for row in rows]),
    ]


def _measured_fields(rows: Sequence[VariantRow], vs_naive: _Field | None = None) -> list[_Field]:
    records = [row.record for row in rows]
    walls = [record.wall_time_ns.median for record in records if record.wall_time_ns is not None]
    wall = time_scale(max(walls, default=0))
    return [
        _Field("wall", [wall(r.wall_time_ns.median) if r.wall_time_ns else "-" for r in records]),
        _Field(
            "spread",
            [_spread(r.wall_time_ns.spread, r.wall_time_ns.median) if r.wall_time_ns else "-" for r in records],
        ),
        *([] if vs_naive is None else [vs_naive]),
        _Field("memory", ["-" if r.peak_memory_bytes is None else bytes_text(r.peak_memory_bytes) for r in records]),
        _Field("max error", ["-" if r.max_abs_error is None else f"{r.max_abs_error:.1e}" for r in records]),
        _Field("masked row", [MASKED_ROWS.get(r.masked_row or "", "-") for r in records]),
    ]


def _count(count: Count) -> str:
    return f"{count.value:,}" if not count.varies else f"{count.value:,} ({count.min}-{count.max})"


def _time(ns: float | None, scale: Callable[[float], str]) -> str:
    return "-" if ns is None else scale(ns)


def _share(share: float | None) -> str:
    return "-" if share is None else share_text(share)


def _spread(spread: int, median: int) -> str:
    return share_text(spread / median) if median else "-"


def _occupancy(row: VariantRow) -> str:
    """``12.5 %, registers``: what the main kernel can reach, and what holds it back."""
    found = row.occupancy
    return "-" if found is None else f"{found.theoretical_pct:.4g} %, {found.limiter.replace('_', ' ')}"


def _launches(row: VariantRow) -> str:
    """The kernels' launch calls; those of copies and memsets tell nothing new."""
    names = [name for name in row.launches if "Mem" not in name] or row.launches
    return plain(", ".join(names)) or "-"


def _print_reasons(out: Console, found: Comparison) -> None:
    rows = [row for row in found.rows if row.reason is not None]
    if not rows:
        return
    out.print()
    grid = Grid.grid(padding=(0, _GAP, 0, 0))
    grid.add_column(no_wrap=True, overflow="ellipsis", max_width=_NAME_WIDTH)
    grid.add_column(overflow="fold")
    for row in rows:
        line = Text("cannot run here: " if not row.ok else "beware: ", style="yellow")
        grid.add_row(_name(row), line.append(plain(row.reason or ""), style="default"))
    out.print(Padding(grid, (0, 0, 0, 1), expand=False))


def _print_findings(out: Console, found: Comparison) -> None:
    """The causes, a line each; what follows from one, and the notes, are a `read` of the trace away."""
    lines = []
    for row in found.rows:
        causes = [finding for finding in row.findings if finding.because is None]
        problems = [finding for finding in causes if finding.severity is Severity.FINDING]
        for at, finding in enumerate(problems[:_FIRST_CAUSES]):
            per_step = row.per_step is not None and row.per_step.steps > 0
            stake = stake_text(finding, per_step=per_step)
            lines.append([_name(row) if at == 0 else "", plain(finding.title), stake, plain(finding.code)])
        if len(problems) > _FIRST_CAUSES:
            more = count_text(len(problems) - _FIRST_CAUSES, "more", "more")
            lines.append(["", Text(f"and {more}: foretrace read {plain(row.record.trace or '')}", style="dim"), "", ""])
    if lines:
        out.print()
        headings = (("found in", _NAME_WIDTH), ("", _TEXT_WIDTH), ("at stake", _NAME_WIDTH), ("", _NAME_WIDTH))
        columns = [Column(heading, text=True, least=8, most=most) for heading, most in headings]
        columns[2:] = [replace(column, text=False) for column in columns[2:]]
        print_grid(out, columns, lines)


def _print_why(out: Console, found: Comparison) -> None:
    """What dispatch does with this call, by the rules of its release."""
    out.print()
    shape, name = found.recording.shape, found.device["name"]
    if found.why is None or shape is None:
        text = "The shape or the device was not recorded, or no dispatch rules are known for it."
        out.print(Padding(Text(text), (0, 0, 0, 1), expand=False), overflow="fold")
        return
    from foretrace.report.shape_dispatch import call_of_shape  # noqa: PLC0415 - the same
    from foretrace.report.why_text import print_dispatch  # noqa: PLC0415 - few ask

    print_dispatch(out, call_of_shape(shape), found.why, plain(name or "unknown device"))


def _print_notes(out: Console, found: Comparison) -> None:
    lines = comparison_notes(found)
    if lines:
        out.print()
    for line in lines:
        out.print(Padding(Text(line), (0, 0, 0, 1), expand=False), overflow="fold")
    if found.pin is not None and found.pin.code is not None:
        out.print()
        for line in found.pin.code.splitlines():
            out.print(Text(f"     {line}"), soft_wrap=True)
    out.print()
    what = (
        "counts and times are a step's; device: sum of durations; busy: of the period; CPU: the step on the host, "
        "under the profiler"
        if found.on_device
        else "CPU, profiled: a step under the profiler"
    )
    if found.on_device and found.floor_ns is not None:
        what += f"; of floor: device over {time_text(found.floor_ns)}, the least this card could take at this shape"
    if any(row.record.wall_time_ns is not None for row in found.rows):
        what += "; wall: one call of many without the profiler; spread: between its quartiles; memory: what a call "
        what += "allocates at most; max error: against float64; masked row: what a row without any key gives"
    out.print(Padding(Text(what + ".", style="dim"), (0, 0, 0, 1), expand=False), overflow="fold")


def _print_places(out: Console, found: Comparison, page: Path | None) -> None:
    lines = [] if page is None else [f"Report: {plain(str(page))}"]
    if not found.replayed and found.folder.is_dir():
        lines.append(f"Traces and attention.json: {plain(str(found.folder))}")
    for line in lines:
        out.print(Padding(Text(line), (0, 0, 0, 1), expand=False), overflow="fold")
