"""What changed between two traces, as the page's template shows it: figures side by side, then each change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from foretrace.differences.words import amount_text, change_details, change_text, percent_text, range_text
from foretrace.report.escape import plain
from foretrace.units import time_text

if TYPE_CHECKING:
    from foretrace.analysis.timeline import Count
    from foretrace.differences.change import Change
    from foretrace.differences.compare import Difference
    from foretrace.differences.times import TimeChange
    from foretrace.report.data import Reading

__all__ = ["difference_part"]

_METRICS: Final = {"device_time": "device time", "busy": "busy", "cpu_time": "CPU time", "period": "period"}
_COUNTS: Final = {"memcpys": "copies"}
_DEVICE: Final = ("kernel", "memcpy", "memset")


def difference_part(found: Difference, before: Reading, after: Reading, numbers: tuple[int, int]) -> dict[str, Any]:
    """All of a comparison; ``numbers`` are those of the two readings in the page, for the links to events."""
    return {
        "summary": plain(found.summary),
        "same": found.same,
        "alike": plain(found.alike),
        "conditions": [plain(condition.text) for condition in found.conditions],
        "figures": [
            *(_count(name, *pair) for name, pair in found.counts.items() if pair[0].max or pair[1].max),
            *(_time(time) for time in found.step_times),
        ],
        "kernel_times": [_time(time) for time in found.kernel_times],
        "activities": [_change(change, (before, after), numbers) for change in found.activities],
        "ranges": [_change(change, (before, after), numbers) for change in found.ranges],
    }


def _count(name: str, ours: Count, theirs: Count) -> dict[str, Any]:
    same = (ours.value, ours.min, ours.max) == (theirs.value, theirs.min, theirs.max)
    return {
        "name": _COUNTS.get(name, name),
        "before": _amount(ours),
        "after": _amount(theirs),
        "change": "" if same else f"{theirs.value - ours.value:+,g}",
        "word": "same" if same else "changed",
        "spread": "",
    }


def _amount(count: Count) -> str:
    return amount_text(count.value) + (f" ({count.min:,} to {count.max:,})" if count.varies else "")


def _time(time: TimeChange) -> dict[str, Any]:
    ranges = [range_text(time.before) or "steady", range_text(time.after) or "steady"]
    return {
        "name": plain(time.label or "") if time.name is not None else _METRICS.get(time.metric, time.metric),
        "before": time_text(time.before.median),
        "after": time_text(time.after.median),
        "change": percent_text(time.verdict.share),
        "word": time.verdict.word,
        "spread": "; ".join(ranges),
    }


def _change(change: Change, readings: tuple[Reading, Reading], numbers: tuple[int, int]) -> dict[str, Any]:
    return {
        "word": change.change,
        "text": plain(change_text(change)),
        "cost": f"{'+' if change.time_ns > 0 else '-'}{time_text(abs(change.time_ns))}" if change.time_ns else "",
        "details": [plain(line) for line in change_details(change)],
        "links": _links(change, readings, numbers),
    }


def _links(change: Change, readings: tuple[Reading, Reading], numbers: tuple[int, int]) -> list[dict[str, Any]]:
    """Where to see it: its first event before, and after."""
    if change.kind not in _DEVICE:
        return []
    sides = (
        (change.before, change.name, change.path, "before"),
        (change.after, change.name_after or change.name, change.path_after or change.path, "after"),
    )
    links = []
    for (number, name, path, word), reading, place in zip(sides, readings, numbers, strict=True):
        event = _event(reading, name, path[-1] if path else None) if number else None
        if event is not None:
            links.append({"reading": place, "event": event, "word": word})
    return links


def _event(reading: Reading, name: str, owner: str | None) -> int | None:
    """The first activity of this name and owner in a step that figures are over, as a position in the event list."""
    acts = reading.trace.activities
    rows = [row for row in reading.kernels if row.name == name and not row.unlinked]
    rows = [row for row in rows if row.owner == owner] or rows
    for row in rows:
        used = [at for at in row.members.tolist() if int(acts.step[at]) in reading.timeline.used]
        return int(reading.trace.rows.index[acts.row[(used or row.members.tolist())[0]]])
    return None
