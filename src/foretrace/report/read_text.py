"""What `foretrace read` prints: can I trust it, what is a step, what bounds it, which kernels and ops take the time."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Final

from rich.text import Text

from foretrace.analysis.fingerprints import row_decoded
from foretrace.report.console import Column, print_grid
from foretrace.report.escape import ellipsis, plain
from foretrace.report.findings_text import print_found
from foretrace.report.labels import bar, short_name
from foretrace.units import TimeScale, bytes_text, count_text, share_text, time_scale, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from foretrace.analysis.launches import KernelRow
    from foretrace.analysis.modules import ModuleRow
    from foretrace.analysis.timeline import Count, PerStep, Spread
    from foretrace.analysis.tree import Node
    from foretrace.analysis.trust import Doubt
    from foretrace.report.data import Reading

__all__ = [
    "print_fact",
    "print_kernels",
    "print_modules",
    "print_ops",
    "print_reading",
    "print_steps",
    "print_title",
    "print_tree",
]

# The first screen: lines of each part, so that all of it fits 30 lines. What the findings take, the tables give.
_FIRST_DOUBT_LINES: Final = 5
_FIRST_FINDINGS: Final = 3
_FIRST_KERNELS: Final = 7
# From this width the table of all kernels has room for its bars.
_ROOM_FOR_BARS: Final = 100
_FIRST_OPS: Final = 5


def print_reading(out: Console, reading: Reading, *, everything: bool = False) -> None:
    """The first screen; ``everything`` shows all trust lines."""
    print_title(out, reading)
    out.print()
    _facts(out, reading, everything=everything)
    per_step = bool(reading.timeline.used)
    found = print_found(out, reading.examination, limit=_FIRST_FINDINGS, per_step=per_step)
    if reading.kernels:
        print_kernels(out, reading, limit=_FIRST_KERNELS - (found + 1) // 2)
    if reading.ops:
        print_ops(out, reading, limit=_FIRST_OPS - found // 2)
    out.print()
    more = ["--findings", "--kernels", "--ops", "--tree", "--json"]
    if reading.trace.has_steps:
        more.insert(3, "--steps")
    if reading.trace.has_stacks:
        more.insert(-1, "--modules")
    out.print(Text(" More: " + ", ".join(more), style="dim"))


def print_title(out: Console, reading: Reading) -> None:
    """File, device, events, rank, steps."""
    trace = reading.trace
    worked = sorted({row.device for row in reading.kernels if row.device is not None})
    names = [device.name for device in trace.devices if device.id in worked] or [d.name for d in trace.devices[:1]]
    unique = list(dict.fromkeys(plain(name) or "an unnamed device" for name in names))
    parts = [
        plain(trace.file),
        " + ".join(unique) if unique else "no device listed",
        count_text(trace.events, "event"),
    ]
    if len(worked) > 1:
        parts[1] += f" ({len(worked)} devices)"
    if trace.rank is not None:
        parts.append(f"rank {trace.rank}" + (f" of {trace.world_size}" if trace.world_size else ""))
    steps = trace.step_names
    if len(steps) == 1:
        parts.append(plain(steps[0]))
    elif len(set(steps)) == 1:
        parts.append(f"{len(steps)} steps, each {plain(steps[0])}")
    elif steps:
        first, last = plain(steps[0]), plain(steps[-1])
        if first.startswith("ProfilerStep#") and last.startswith("ProfilerStep#"):
            first, last = (name.removeprefix("ProfilerStep") for name in (first, last))
        parts.append(f"{len(steps)} steps, {first} to {last}")
    out.print(Text(" · ".join(parts), style="bold"), overflow="fold")


def _facts(out: Console, reading: Reading, *, everything: bool) -> None:
    shown, hidden = _doubts_that_fit(out, reading, everything=everything)
    for at, doubt in enumerate(shown):
        print_fact(out, "Trust" if at == 0 else "", plain(doubt.text))
    if hidden:
        codes = ", ".join(doubt.code for doubt in hidden)
        print_fact(out, "", f"{len(hidden)} more with --all: {codes}", style="dim")
    print_fact(out, "Step" if reading.timeline.steps else "File", _step_line(reading))


def _doubts_that_fit(out: Console, reading: Reading, *, everything: bool) -> tuple[list[Doubt], list[Doubt]]:
    """(shown, folded): as many trust lines as the first screen has room for, at least one."""
    lines = 0
    for at, doubt in enumerate(reading.doubts):
        lines += -(-len(doubt.text) // (out.width - 9))
        if at and lines > _FIRST_DOUBT_LINES and not everything:
            return reading.doubts[:at], reading.doubts[at:]
    return reading.doubts, []


def print_fact(out: Console, label: str, text: str, *, style: str = "") -> None:
    """A labelled paragraph: the label at the left, the text wrapped beside it."""
    lines = wrap(text, max(20, out.width - 9), break_on_hyphens=False) or [""]
    for at, line in enumerate(lines):
        out.print(Text(f" {label if at == 0 else '':<6} ", style="bold") + Text(line, style=style), soft_wrap=True)


def _step_line(reading: Reading) -> str:
    figures = reading.timeline.per_step
    if not reading.trace.has_device_activity:
        return f"{_range(figures.cpu_time_ns)} on the CPU · no device activity"
    parts = [_counted(figures.kernels, "kernel"), _copies(figures)]
    if figures.memsets.max:
        parts.append(_counted(figures.memsets, "memset"))
    parts.append(f"{_range(figures.device_time_ns)} on the device")
    return " · ".join(parts) + " · " + _bound_text(figures)


def _copies(figures: PerStep) -> str:
    return _counted(figures.memcpys, "copy", "copies") if figures.memcpys.max else "no copies"


def _counted(count: Count, noun: str, plural: str | None = None) -> str:
    if not count.varies:
        return count_text(count.min, noun, plural)
    return f"{count.value:,} {plural or noun + 's'} ({count.min:,} to {count.max:,}, varies)"


def _range(spread: Spread) -> str:
    scale = time_scale(max(spread.median, spread.max))
    low, high = scale(spread.min), scale(spread.max)
    if low == high:
        return scale(spread.median)
    return f"{scale(spread.median)} ({low.removesuffix(' ' + scale.unit)} to {high.removesuffix(' ' + scale.unit)})"


def _bound_text(figures: PerStep) -> str:
    share, period = figures.busy_share, figures.period_ns
    if share is None or period is None:
        return "bound unknown"
    over = {
        "device": f"a period of {time_text(period)}",
        "host": f"a period of {time_text(period)} on the host",
        "window": f"the {time_text(period)} from first to last device activity (one window, no period)",
    }[figures.period_of]
    word = {"device": "device-bound", "cpu": "CPU-bound", "mixed": "mixed"}[figures.bound]
    note = ", as a step still runs when the next one's work begins" if share > 1 else ""
    return f"{word}: busy {share_text(share)} of {over}{note}"


def _scale(times: Sequence[float]) -> TimeScale:
    return time_scale(max(times, default=0))


def print_kernels(out: Console, reading: Reading, *, limit: int | None = None) -> None:
    """The kernel table: the longest first; unlinked rows at its end."""
    rows = [row for row in reading.kernels if not row.unlinked]
    lost = [row for row in reading.kernels if row.unlinked] if limit is None else []
    shown = rows if limit is None else rows[:limit]
    number = max(1, reading.timeline.per_step.steps)
    scale = _scale([row.time_in_steps_ns / number for row in shown] + [row.time_ns for row in lost])
    columns = [
        Column("Kernels and copies", text=True, most=40, least=14),
        Column("a step" if reading.timeline.steps else "calls"),
        Column("device time"),
        Column(""),
        Column("", text=True, least=5),
        Column("what it is", text=True, most=44, least=18),
    ]
    cells = [_kernel_cells(row, number, scale) for row in (*shown, *lost)]
    if limit is None:
        columns.append(Column("launched by", text=True, most=36, least=12))
        for row, line in zip((*shown, *lost), cells, strict=True):
            line.append(Text(plain(row.owner or "unlinked"), style="" if row.owner_kind == "op" else "dim"))
        if out.width < _ROOM_FOR_BARS:
            columns.pop(4)
            for line in cells:
                line.pop(4)
    out.print()
    print_grid(out, columns, cells)
    rest = rows[len(shown) :]
    if rest:
        share = sum(row.share or 0 for row in rest)
        out.print(Text(f" and {count_text(len(rest), 'more row')}, {share_text(share)} of the time", style="dim"))


def _kernel_cells(row: KernelRow, number: int, scale: TimeScale) -> list[str | Text]:
    share = row.share or 0.0
    return [
        ellipsis(short_name(row.name), 60) + (" (graph)" if row.graph else ""),
        f"{row.calls:,}" if row.unlinked else _per_step(row.per_step or 0),
        scale(row.time_ns if row.unlinked else row.time_in_steps_ns / number),
        "" if row.share is None else share_text(share),
        Text(bar(share), style="cyan"),
        plain(row_decoded(row).short),
    ]


def _per_step(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


def _or_dash(ns: int, scale: TimeScale) -> str:
    return scale(ns) if ns else "-"


def print_ops(out: Console, reading: Reading, *, limit: int | None = None) -> None:
    """The op table, over the whole file: self and total, CPU and device."""
    rows = reading.ops
    has_device = reading.trace.has_device_activity
    if limit is not None and not has_device:
        rows = sorted(rows, key=lambda row: -row.cpu_self_ns)
    shown = rows if limit is None else rows[:limit]
    cpu, device = _scale([row.cpu_total_ns for row in shown]), _scale([row.device_total_ns for row in shown])
    columns = [
        Column("Ops, whole file", text=True, most=44, least=16),
        Column("calls"),
        Column("CPU self"),
        Column("CPU total"),
    ]
    if has_device:
        columns += [Column("device self"), Column("device total")]
    cells = []
    for row in shown:
        line = [ellipsis(plain(row.name), 60), f"{row.calls:,}", cpu(row.cpu_self_ns), cpu(row.cpu_total_ns)]
        if has_device:
            line += [_or_dash(row.device_self_ns, device), _or_dash(row.device_total_ns, device)]
        cells.append(line)
    out.print()
    print_grid(out, columns, cells)
    if len(rows) > len(shown):
        out.print(Text(f" and {count_text(len(rows) - len(shown), 'more op')}", style="dim"))


def print_steps(out: Console, reading: Reading) -> None:
    """Each step: counts and times."""
    steps = reading.timeline.steps
    scale = _scale([max(step.device_time_ns, step.cpu_time_ns, step.lag_ns) for step in steps])
    columns = [
        Column("Step", text=True, least=18),
        *(Column(name) for name in ("kernels", "memcpys", "memsets")),
        *(Column(f"{name} {scale.unit}") for name in ("device", "busy", "CPU", "lag")),
    ]
    cells = [
        [
            plain(step.name) + (" (cold)" if step.cold else ""),
            *(f"{number:,}" for number in (step.kernels, step.memcpys, step.memsets)),
            *(scale.number(time) for time in (step.device_time_ns, step.busy_ns, step.cpu_time_ns, step.lag_ns)),
        ]
        for step in steps
    ]
    out.print()
    print_grid(out, columns, cells)
    print_note(
        out,
        "device: sum of durations; busy: each moment once, on the busiest device; CPU: length of the step's range; "
        "lag: the longest wait between a launch and its activity.",
    )


def print_note(out: Console, text: str) -> None:
    """A dim paragraph under a table."""
    for line in wrap(text, max(20, out.width - 2), break_on_hyphens=False):
        out.print(Text(f" {line}", style="dim"), soft_wrap=True)


def print_tree(out: Console, trees: list[Node], *, everything: bool = False) -> None:
    """The op tree of one step; without ``everything``, ops that lead to no device activity are left out."""
    has_device = any(tree.device_ns for tree in trees)
    cpu, device = _scale([tree.cpu_ns for tree in trees]), _scale([tree.device_ns for tree in trees])
    cells = [
        _tree_cells(node, depth, cpu, device)
        for tree in trees
        for depth, node in _walk(tree, everything=everything or not has_device)
    ]
    out.print()
    columns = [Column("Op tree", text=True, most=100, least=30), Column("CPU"), Column("device")]
    print_grid(out, columns, cells)


def _walk(root: Node, *, everything: bool) -> list[tuple[int, Node]]:
    busy = root.activity_counts()
    found: list[tuple[int, Node]] = []
    stack = [(0, root)]
    while stack:
        depth, node = stack.pop()
        found.append((depth, node))
        kept = [child for child in node.children if everything or busy[id(child)]]
        stack.extend((depth + 1, child) for child in reversed(kept))
    return found


def _tree_cells(node: Node, depth: int, cpu: TimeScale, device: TimeScale) -> list[str | Text]:
    indent = "  " * min(depth, 20)
    if node.activity >= 0:
        text = Text(f"{indent}→ {short_name(node.name)}", style="cyan")
        if node.bytes:
            text.append(f"  {bytes_text(node.bytes)}", style="dim")
        return [text, "", device(node.device_ns)]
    text = Text(indent + plain(node.name), style="bold" if node.kind == "thread" else "")
    if node.shapes:
        text.append(f"  {plain(node.shapes)}", style="dim")
    return [text, cpu(node.cpu_ns), device(node.device_ns) if node.device_ns else ""]


def print_modules(out: Console, rows: list[ModuleRow]) -> None:
    """Time by nn.Module, indented by nesting."""
    first = {row.path: at for at, row in enumerate(rows)}
    ordered = sorted(rows, key=lambda row: [first[row.path[: cut + 1]] for cut in range(len(row.path))])
    cpu, device = _scale([row.cpu_total_ns for row in rows]), _scale([row.device_total_ns for row in rows])
    columns = [
        Column("nn.Module, whole file", text=True, least=24),
        *(Column(name) for name in ("calls", "CPU total", "device self", "device total")),
    ]
    cells = [
        [
            "  " * (len(row.path) - 1) + plain(row.path[-1]),
            f"{row.calls:,}",
            cpu(row.cpu_total_ns),
            _or_dash(row.device_self_ns, device),
            _or_dash(row.device_total_ns, device),
        ]
        for row in ordered
    ]
    out.print()
    print_grid(out, columns, cells)
