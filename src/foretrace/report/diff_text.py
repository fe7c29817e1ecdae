"""What `foretrace diff` prints: conditions, counts, structure, times, and what it amounts to."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from rich.text import Text

from foretrace.analysis.spelling import range_key
from foretrace.differences.noise import KERNEL_MARGIN
from foretrace.differences.words import amount_text, change_details, change_text, percent_text, range_text
from foretrace.report.console import Column, print_grid
from foretrace.report.escape import ellipsis, plain
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from foretrace.differences.change import Change
    from foretrace.differences.compare import Difference
    from foretrace.differences.folders import FolderDifference
    from foretrace.differences.times import TimeChange

__all__ = ["print_difference", "print_folders"]

_ACTIVITIES: Final = 8
_RANGES: Final = 5
_LABEL: Final = 9
_INDENT: Final = _LABEL + 2
_TIME_LABEL: Final = 14
"""What a time is called, with the margin before it."""
_OVER: Final = "  over the steps"
_STYLES: Final = {
    "gone": "green",
    "new": "yellow",
    "number": "yellow",
    "renamed": "cyan",
    "moved": "dim",
    "launch": "cyan",
}
_METRICS: Final = {"device_time": "device time", "busy": "busy", "cpu_time": "CPU time", "period": "period"}
_COUNTS: Final = {"memcpys": "copies"}


def print_difference(out: Console, found: Difference, *, everything: bool = False) -> None:
    """All of a comparison; ``everything`` folds nothing."""
    ours, theirs = (plain(name) for name in _titles(found))
    if len(ours) + len(theirs) + 4 <= out.width:
        _line(out, f"{ours} -> {theirs}", style="bold")
    else:
        _line(out, ours, style="bold")
        _line(out, f"-> {theirs}", style="bold")
    for condition in found.conditions:
        _paragraph(out, plain(condition.text), style="yellow")
    if found.alike:
        _paragraph(out, found.alike)
    _counts(out, found)
    if found.activities:
        out.print()
        _activities(out, found.activities, None if everything else _ACTIVITIES)
    if found.ranges:
        if not found.activities:
            out.print()
        _ranges(out, found.ranges, None if everything else _RANGES)
    if found.step_times:
        _times(out, found)
    out.print()
    _paragraph(out, plain(found.summary), style="bold")


def _titles(found: Difference) -> tuple[str, str]:
    """The names of both files; with as much of the folders before them as tells them apart."""
    ours, theirs = Path(found.before.path), Path(found.after.path)
    if found.before.file != found.after.file or ours == theirs:
        return found.before.file, found.after.file
    parts = list(ours.parts), list(theirs.parts)
    depth = next(
        (at for at, pair in enumerate(zip(*(reversed(side) for side in parts), strict=False)) if pair[0] != pair[1]),
        max(map(len, parts)) - 1,
    )
    return str(Path(*parts[0][-depth - 1 :])), str(Path(*parts[1][-depth - 1 :]))


def print_folders(out: Console, found: FolderDifference, *, everything: bool = False) -> None:
    """One line a variant, then each one that changed; ``everything`` shows all."""
    cells: list[list[str | Text]] = []
    for one in found.variants:
        if one.difference is None:
            cells.append([plain(one.variant), "", "", Text("cannot be compared", style="red")])
            continue
        time = next((t for t in one.difference.step_times if t.metric == "device_time"), None)
        number = len(one.difference.structure)
        cells.append(
            [
                plain(one.variant),
                f"{number} changes" if number > 1 else "1 change" if number else "same",
                f"{time_text(time.before.median)} -> {time_text(time.after.median)}" if time is not None else "",
                f"{percent_text(time.verdict.share)}, {time.verdict.word}" if time is not None else "",
            ]
        )
    columns = [
        Column("variant", text=True, most=40, least=12),
        Column("structure"),
        Column("device time"),
        Column("", text=True, most=60, least=16),
    ]
    print_grid(out, columns, cells)
    for word, names in (("before", found.only_before), ("after", found.only_after)):
        if names:
            _paragraph(out, f"Only {word}: {', '.join(plain(name) for name in names)}.", style="yellow")
    for one in found.variants:
        if one.difference is None:
            out.print()
            _paragraph(out, f"{plain(one.variant)}: {plain(one.problem or '')}", style="red")
        elif everything:
            out.print()
            _line(out, plain(one.variant), style="bold underline")
            print_difference(out, one.difference, everything=True)
        elif not one.difference.same:
            out.print()
            _paragraph(out, f"{plain(one.variant)}: {plain(one.difference.summary)}")
    out.print()
    _paragraph(out, found.summary, style="bold")


def _line(out: Console, text: str, style: str = "") -> None:
    out.print(Text(ellipsis(text, out.width), style=style), soft_wrap=True)


def _paragraph(out: Console, text: str, style: str = "") -> None:
    for line in wrap(text, max(20, out.width - 1), break_on_hyphens=False):
        out.print(Text(f" {line}", style=style), soft_wrap=True)


def _counts(out: Console, found: Difference) -> None:
    """``a step: 5 kernels, copies 1 -> 0, ...``."""
    parts = []
    for name, (ours, theirs) in found.counts.items():
        word = _COUNTS.get(name, name)
        same = (ours.min, ours.max) == (theirs.min, theirs.max)
        if same and not ours.max:
            continue
        number = amount_text(ours.value) + (" (varies)" if ours.varies else "")
        change = "" if same else f" -> {amount_text(theirs.value)}{' (varies)' if theirs.varies else ''}"
        parts.append(f"{word} {number}{change}")
    if parts:
        out.print()
        _paragraph(out, "A step: " + " · ".join(parts))


def _activities(out: Console, changes: Sequence[Change], limit: int | None) -> None:
    shown = changes if limit is None else _both_ways(changes, limit)
    for change in shown:
        _head(out, change.change, plain(change_text(change)), _cost(change))
        for line in change_details(change):
            _under(out, plain(line))
    taken = set(map(id, shown))
    _rest(out, [change for change in changes if id(change) not in taken], "more such change")


def _both_ways(changes: Sequence[Change], limit: int) -> Sequence[Change]:
    """The first few; what came for what went is among them, though it may cost less than each."""
    shown, rest = list(changes[:limit]), changes[limit:]
    for sign in (1, -1):
        first = next((change for change in rest if change.time_ns * sign > 0), None)
        if first is not None and not any(change.time_ns * sign > 0 for change in shown):
            shown[-1] = first
    return shown


def _cost(change: Change) -> str:
    """What it adds to a step; of what is there in both, only beyond what one kernel varies by."""
    least = KERNEL_MARGIN * max(change.time_before_ns or 0, change.time_after_ns or 0)
    if abs(change.time_ns) <= (least if change.change in ("moved", "renamed", "launch") else 0):
        return ""
    return ("+" if change.time_ns > 0 else "-") + time_text(abs(change.time_ns))


def _ranges(out: Console, changes: Sequence[Change], limit: int | None) -> None:
    """Ops by what happened to them; the ranges of a compiler in one line."""
    compiler = [change for change in changes if change.kind == "range"]
    rest = [change for change in changes if change.kind != "range"]
    groups: dict[object, list[Change]] = {}
    for change in rest:
        took = (change.name_after, change.path_after) if change.change == "renamed" else id(change)
        groups.setdefault(took, []).append(change)
    ordered = sorted(groups.values(), key=lambda group: (group[0].change != "renamed", -_weight(group)))
    shown = ordered if limit is None else ordered[:limit]
    for group in shown:
        _head(out, group[0].change, plain(_range_text(group)), "")
    hidden = [change for group in ordered[len(shown) :] for change in group]
    _rest(out, hidden, "more change of ops", "more changes of ops")
    for word in ("gone", "new"):
        names = dict.fromkeys(range_key(c.name, is_op=True) for c in compiler if c.change == word)
        if names:
            _head(out, word, plain("compiler ranges: " + ", ".join(names)), "")


def _weight(group: list[Change]) -> float:
    return sum(change.before + change.after + change.inside + change.inside_after for change in group)


def _range_text(group: list[Change]) -> str:
    first = group[0]
    if first.change == "renamed":
        olds = ", ".join(_with_inside(change.name, change.before, change.inside) for change in group)
        same = sum(change.same_kernels for change in group)
        around = (
            "around the same kernel" if same == 1 else f"around the same {same} kernels" if same else "in its place"
        )
        return f"{olds} -> {_with_inside(first.name_after or '', first.after, first.inside_after)}, {around}"
    within = f", in {first.path[-1]}" if first.path else ""
    inside = first.inside + first.inside_after
    number = f"{amount_text(first.before)} -> {amount_text(first.after)} a step"
    return f"{_with_inside(first.name, 1, inside)}, {number}{within}"


def _with_inside(name: str, number: float, inside: float) -> str:
    """``aten::linear (4 ops inside)``, with its number where there is more than one."""
    facts = []
    if number != 1:
        facts.append(f"{amount_text(number)} a step")
    if inside:
        facts.append(f"{amount_text(inside)} {'op' if inside == 1 else 'ops'} inside")
    return f"{name} ({', '.join(facts)})" if facts else name


def _head(out: Console, word: str, text: str, cost: str) -> None:
    """One change: the word, what it is, and at the right what it adds to the step."""
    room = out.width - _INDENT - (len(cost) + 2 if cost else 0) - 1
    lines = wrap(text, max(20, room), break_on_hyphens=False) or [""]
    label = Text(f" {word:<{_LABEL}} ", style=_STYLES.get(word, ""))
    pad = f"  {cost:>{out.width - _INDENT - len(lines[0]) - 3}}" if cost else ""
    out.print(label + Text(lines[0]) + Text(pad, style="dim"), soft_wrap=True)
    for line in lines[1:]:
        out.print(Text(" " * _INDENT + line), soft_wrap=True)


def _under(out: Console, text: str) -> None:
    for line in wrap(text, max(20, out.width - _INDENT - 1), break_on_hyphens=False):
        out.print(Text(" " * _INDENT + line, style="dim"), soft_wrap=True)


def _rest(out: Console, changes: Sequence[Change], noun: str, plural: str | None = None) -> None:
    if not changes:
        return
    words = f"and {len(changes)} {noun if len(changes) == 1 else plural or noun + 's'} (--all)"
    costs = [sum(max(sign * change.time_ns, 0) for change in changes) for sign in (-1, 1)]
    sums = [f"{sign}{time_text(cost)}" for sign, cost in zip("-+", costs, strict=True) if cost]
    if sums:
        words += f", {' and '.join(sums)} together"
    out.print(Text(" " * _INDENT + words, style="dim"), soft_wrap=True)


def _times(out: Console, found: Difference) -> None:
    times = [(time, _METRICS[time.metric]) for time in found.step_times]
    times += [(time, f"  {plain(time.label or '')}") for time in found.kernel_times[:_RANGES]]
    cells = [_time_cells(time, label) for time, label in times]
    out.print()
    columns = [
        Column("A step", text=True, most=40, least=11),
        Column("before"),
        Column("after"),
        Column(""),
        Column("", text=True, most=13, least=13),
        Column("over the steps"),
    ]
    rest = range(1, len(columns))
    figures = sum(2 + max(len(columns[at].heading), *(len(row[at]) for row in cells)) for at in rest)
    if _TIME_LABEL + figures <= out.width:
        print_grid(out, columns, cells)
        return
    columns[0] = Column("A step", text=True, most=40, least=len(_OVER))
    stacked = []
    for (time, _), row in zip(times, cells, strict=True):
        stacked.append(row[:-1])
        ranges = [range_text(time.before), range_text(time.after)]
        if any(ranges):
            stacked.append([Text(text, style="dim") for text in (_OVER, *(text or "steady" for text in ranges))])
            stacked[-1] += ["", ""]
    print_grid(out, columns[:-1], stacked)


def _time_cells(time: TimeChange, label: str) -> list[str | Text]:
    word = time.verdict.word
    style = {"faster": "green", "slower": "red"}.get(word, "dim")
    ranges = [range_text(time.before), range_text(time.after)]
    return [
        label,
        time_text(time.before.median),
        time_text(time.after.median),
        percent_text(time.verdict.share),
        Text("one step only" if word == "unknown" else word, style=style),
        Text("; ".join(text or "steady" for text in ranges) if any(ranges) else "", style="dim"),
    ]
