"""One step drawn in text: ops over launches over the device's streams, on one time axis.

Each activity has a letter, at its launch and where it runs, unless a drawing does without. An activity too short for a
cell still has one, with letters moved to the right if need be; so order and gaps can be read, and lengths from about a
cell on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.intervals import union_length
from foretrace.learn.legend import LAUNCH_MARK, legend_text
from foretrace.report.escape import plain
from foretrace.trace.distinct import is_among
from foretrace.trace.kineto import Category
from foretrace.trace.model import TimeFault
from foretrace.units import time_scale, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.learn.lesson import Lanes
    from foretrace.learn.recorded import Recorded, Work

__all__ = ["Span", "draw", "draw_lanes", "drawn_text"]

_LABEL: Final = 9
_DEPTHS: Final = 6
"""Rows of nested ranges, the step itself among them; what lies deeper is left out."""
_DENSE_DEPTHS: Final = 3
_READABLE: Final = 4
"""A name that is cut to fewer letters than this is left out, and its bar stays."""
_TICKS: Final = 5
_BUSY: Final = 0.8
"""From this share of its time on, a device that has not begun a step is busy with others."""
_WAIT: Final = 0.2
"""From this share of the drawing on, the wait between host and device is cut out."""
_MARKED: Final = 52
"""More activities than this are drawn without letters, and with fewer rows of ops."""
_ROLE_STYLES: Final = {
    "gemm": "bright_blue",
    "convolution": "bright_blue",
    "attention_forward": "bright_blue",
    "attention_backward": "bright_blue",
    "attention_decode": "bright_blue",
    "attention_combine": "bright_blue",
    "copy": "yellow",
    "memset": "yellow",
    "cast": "yellow",
    "softmax": "magenta",
    "normalization": "magenta",
    "reduction": "magenta",
}
_OTHER_ROLE: Final = "green"


@dataclass(frozen=True)
class Span:
    """A piece of a line, and its style for a terminal."""

    text: str
    style: str = ""


@dataclass(frozen=True)
class _Range:
    name: str
    start: int
    end: int


class _Row:
    """A row of cells."""

    def __init__(self, width: int) -> None:
        self.cells: list[tuple[str, str]] = [(" ", "")] * width

    def put(self, at: int, text: str, style: str) -> None:
        for offset, letter in enumerate(text):
            if 0 <= at + offset < len(self.cells):
                self.cells[at + offset] = (letter, style)

    def spans(self) -> list[Span]:
        found: list[Span] = []
        for letter, style in self.cells:
            if found and found[-1].style == style:
                found[-1] = Span(found[-1].text + letter, style)
            else:
                found.append(Span(letter, style))
        return found


@dataclass(frozen=True)
class _Axis:
    """A stretch of time over cells."""

    origin: int
    """The start of the step, which is 0 on the axis."""
    start: int
    length: int
    width: int

    def cell(self, time: int) -> int:
        return min(self.edge(time), self.width - 1)

    def edge(self, time: int) -> int:
        """The cell before which something ends."""
        return int(min(max((time - self.start) * self.width // self.length, 0), self.width))


def draw_lanes(view: Lanes, width: int) -> tuple[list[list[Span]], str]:
    """The lines of a lesson's drawing, and its legend; empty where it has none."""
    lines = draw(view.recorded, view.step, width, quiet=view.quiet, apart=view.apart, lettered=view.lettered)
    if not view.legend:
        return lines, ""
    return lines, legend_text(drawn_text(lines), lettered=view.lettered, at_length=view.legend == "long")


def draw(
    recorded: Recorded,
    step: int,
    width: int = 80,
    *,
    quiet: bool = False,
    apart: bool = False,
    lettered: bool = True,
) -> list[list[Span]]:
    """The lines of the drawing, at most ``width`` characters each.

    Where the device begins long after the host is done, each has an axis of its own: one axis would be mostly waiting.

    Args:
        recorded: the recording.
        step: position of the step.
        width: of a line.
        quiet: show ops that launch nothing as well.
        apart: give host and device axes of their own in any case.
        lettered: give each activity a letter, unless there are too many; else launches have a mark.

    """
    works = recorded.work_of(step)
    width = max(20, width - _LABEL - 1)
    origin, host_end = _host_window(recorded, step, works)
    timed = [work for work in works if work.time_ns > 0] or works
    begins = origin + min((work.starts_ns for work in timed), default=0)
    ends = max([host_end, *(origin + work.starts_ns + work.time_ns for work in timed)])
    marked = lettered and len(works) <= _MARKED
    apart = apart or begins - host_end > _WAIT * (ends - origin)
    axis = _Axis(origin, origin, max((host_end if apart else ends) - origin, 1), width)
    lines: list[tuple[str, list[Span]]] = []
    for number, rows in enumerate(_host_rows(recorded, step, works, axis, quiet=quiet)):
        for depth, row in enumerate(rows):
            lines.append(("" if depth else "CPU" if number == 0 else f"CPU, {number + 1}", row.spans()))
    lines.append(("launch", _launch_row(works, axis, origin, marked=marked).spans()))
    if apart:
        lines.append(("", _tick_row(axis).spans()))
        lines.append(("", [Span(_begins(recorded, works, origin, begins), "dim")]))
        axis = _Axis(origin, begins, max(ends - begins, 1), width)
    lines.extend((label, row.spans()) for label, row in _stream_rows(recorded, works, axis, marked=marked))
    lines.append(("", _tick_row(axis).spans()))
    return [[Span(f" {label:<{_LABEL - 1}}", "bold"), *spans] for label, spans in lines]


def _begins(recorded: Recorded, works: Sequence[Work], origin: int, begins: int) -> str:
    """When the device begins, and whether the trace shows it busy with other steps' work until then."""
    acts = recorded.trace.activities
    mine = np.zeros(len(acts), bool)
    mine[[work.at for work in works]] = True
    devices = {int(acts.device[work.at]) for work in works}
    first = origin + min(work.launched_ns for work in works)
    here = ~mine & acts.timed & is_among(acts.device, list(devices)) & (acts.ts < begins) & (acts.end > first)
    busy = union_length(np.maximum(acts.ts[here], first), np.minimum(acts.end[here], begins))
    when = time_text(begins - origin)
    if busy > _BUSY * (begins - first):
        return f"earlier steps run until {when}, then this one:"
    return f"the device begins {when} into the step:"


def drawn_text(lines: Sequence[Sequence[Span]]) -> str:
    """The drawing as plain text."""
    return "\n".join("".join(span.text for span in line).rstrip() for line in lines)


def _host_window(recorded: Recorded, step: int, works: Sequence[Work]) -> tuple[int, int]:
    """The step on the host; without steps, from the first launch to the end of the last."""
    rows = recorded.trace.rows
    if step >= 0:
        return int(recorded.trace.steps.ts[step]), int(recorded.trace.steps.end[step])
    launches = [int(recorded.trace.activities.launch[work.at]) for work in works]
    start = min((int(rows.ts[launch]) for launch in launches), default=0)
    return 0, max((int(rows.end[launch]) for launch in launches), default=start)


def _host_rows(recorded: Recorded, step: int, works: Sequence[Work], axis: _Axis, *, quiet: bool) -> list[list[_Row]]:
    """For each thread that launched, the rows of its ops by depth."""
    trace = recorded.trace
    rows = trace.rows
    launches: dict[int, list[int]] = {}
    for work in works:
        launch = int(trace.activities.launch[work.at])
        launches.setdefault(int(rows.thread[launch]), []).append(int(rows.ts[launch]))
    kinds = (rows.category == Category.CPU_OP) | (rows.category == Category.ANNOTATION)
    kinds &= rows.fault == TimeFault.NONE
    kinds[trace.steps.row] = False
    if step >= 0:
        kinds[trace.steps.row[step]] = True
        kinds &= (rows.ts >= trace.steps.ts[step]) & (rows.ts < trace.steps.end[step])
    found = []
    for thread, times in launches.items():
        here = np.flatnonzero(kinds & (rows.thread == thread))
        at = np.sort(np.array(times, np.int64))
        leads = np.searchsorted(at, rows.end[here], side="left") > np.searchsorted(at, rows.ts[here], side="left")
        here = here if quiet else here[leads]
        ranges = [_Range(_name(recorded, step, int(row)), int(rows.ts[row]), int(rows.end[row])) for row in here]
        found.append(_nested(ranges, axis, _DEPTHS if len(works) <= _MARKED else _DENSE_DEPTHS))
    return found


def _name(recorded: Recorded, step: int, row: int) -> str:
    """A range's name as short as people say it; the step's with its length."""
    trace = recorded.trace
    name = plain(trace.name(row))
    if step >= 0 and row == int(trace.steps.row[step]):
        return f"{name}, {time_text(int(trace.rows.dur[row]))}"
    if "CompiledFxGraph" in name:  # what follows is a hash
        return "CompiledFxGraph"
    return name.removeprefix("aten::").removeprefix("autograd::engine::evaluate_function: ")


def _nested(ranges: list[_Range], axis: _Axis, depths: int) -> list[_Row]:
    """A row for each depth, down to the last in which a name can be read."""
    by_depth: list[list[_Range]] = []
    open_ends: list[int] = []
    for each in sorted(ranges, key=lambda one: (one.start, -one.end)):
        while open_ends and open_ends[-1] <= each.start:
            open_ends.pop()
        depth = len(open_ends)
        open_ends.append(each.end)
        if depth >= depths:
            continue
        while len(by_depth) <= depth:
            by_depth.append([])
        by_depth[depth].append(each)
    drawn = [_bars(level, axis, "" if depth else "dim") for depth, level in enumerate(by_depth)]
    while len(drawn) > 1 and not drawn[-1][1]:
        drawn.pop()
    return [row for row, _ in drawn]


def _bars(level: list[_Range], axis: _Axis, style: str) -> tuple[_Row, bool]:
    """The ranges of one depth, with a blank between neighbors, and whether any name can be read."""
    placed: dict[int, tuple[int, str]] = {}
    for each in level:
        low, high = axis.cell(each.start), axis.edge(each.end)
        if low not in placed or high > placed[low][0]:
            placed[low] = (high, each.name)
    starts = sorted(placed)
    row, readable = _Row(axis.width), False
    for low, following in zip(starts, [*starts[1:], axis.width + 1], strict=True):
        high, name = placed[low]
        room = max(min(high, following - 1) - low, 1)
        label = _fitting(name, room - 1)
        readable |= bool(label)
        row.put(low, ("▌" + label).ljust(room, "░"), style)
    return row, readable


def _fitting(name: str, room: int) -> str:
    """A name in so many letters: whole, or cut where enough of it is left to be read, or none of it."""
    if len(name) <= room:
        return name
    if room < _READABLE:
        return ""
    return name[:room] if room == _READABLE else name[: room - 1] + "…"


def _launch_row(works: Sequence[Work], axis: _Axis, origin: int, *, marked: bool) -> _Row:
    row = _Row(axis.width)
    starts = [axis.cell(origin + work.launched_ns) for work in works]
    for work, at in zip(works, _apart(starts, axis.width) if marked else starts, strict=True):
        row.put(at, work.letter if marked else LAUNCH_MARK, "bold")
    return row


def _stream_rows(recorded: Recorded, works: Sequence[Work], axis: _Axis, *, marked: bool) -> list[tuple[str, _Row]]:
    """A row for each stream that the step ran on; what other steps ran there meanwhile is a faint dot."""
    acts = recorded.trace.activities
    streams = list(dict.fromkeys((int(acts.device[work.at]), int(acts.stream[work.at])) for work in works))
    found = []
    for device, stream in sorted(streams):
        row = _Row(axis.width)
        mine = {work.at for work in works}
        here = (acts.device == device) & (acts.stream == stream) & acts.timed
        here &= (acts.end > axis.start) & (acts.ts < axis.start + axis.length)
        for at in np.flatnonzero(here):
            if int(at) not in mine:
                low, high = axis.cell(int(acts.ts[at])), axis.edge(int(acts.end[at]))
                row.put(low, "·" * max(high - low, 1), "dim")
        on = [work for work in works if (int(acts.device[work.at]), int(acts.stream[work.at])) == (device, stream)]
        _fill(row, sorted(on, key=lambda work: work.starts_ns), axis, marked=marked)
        several = len(streams) > 1
        found.append((f"GPU s{stream}" if several and stream >= 0 else "GPU", row))
    return found


def _fill(row: _Row, works: list[Work], axis: _Axis, *, marked: bool) -> None:
    starts = [axis.cell(axis.origin + work.starts_ns) for work in works]
    if marked:
        starts = _apart(starts, axis.width)
    for number, (work, low) in enumerate(zip(works, starts, strict=True)):
        high = axis.edge(axis.origin + work.starts_ns + work.time_ns)
        style = _ROLE_STYLES.get(work.decoded.role, _OTHER_ROLE)
        fill = "▒" if work.kind != "kernel" else "█" if number % 2 == 0 else "▓"
        row.put(low, fill * max(high - low, 1), style)
        if marked:
            row.put(low, work.letter, f"bold {style}")


def _apart(starts: list[int], width: int) -> list[int]:
    """A cell for each, in order: moved to the right where they would share one, and back where the row ends."""
    placed: list[int] = []
    for start in starts:
        placed.append(max(start, placed[-1] + 1) if placed else start)
    limit = width
    for at in range(len(placed) - 1, -1, -1):
        limit = placed[at] = max(0, min(placed[at], limit - 1))
    return placed


def _tick_row(axis: _Axis) -> _Row:
    """Marks at round times from the start of the step, the unit at the first; a number without room is left out."""
    row = _Row(axis.width)
    begin = axis.start - axis.origin
    scale = time_scale(begin + axis.length)
    stride = _round(axis.length / _TICKS)
    first = -(-begin // stride)
    for number in range(first, (begin + axis.length) // stride + 1):
        text = f"╵{number * stride / scale.divisor:.10g}" + (f" {scale.unit}" if number == first else "")
        at = axis.cell(axis.origin + number * stride)
        row.put(at, text if at + len(text) <= axis.width else "╵", "dim")
    return row


def _round(length: float) -> int:
    """The next of 1, 2, 5, 10, 20, 50, ... nanoseconds."""
    size = 1
    while True:
        for step in (1, 2, 5):
            if step * size >= length:
                return step * size
        size *= 10
