"""What the page's script gets of one trace: the events of the lanes as columns, and the tables as they are in JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.analysis.shapes import shapes_text
from foretrace.report.escape import plain
from foretrace.report.labels import short_name
from foretrace.report.page.lane_rows import MOST_EVENTS, LaneRows, lane_rows
from foretrace.report.page.pack import Packer
from foretrace.trace.raw import MISSING32

if TYPE_CHECKING:
    from foretrace.report.data import Reading
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

__all__ = ["content", "payload"]

_UNLINKED: Final = -1
_ELSEWHERE: Final = -2
"""The event is in the file, but not in these lanes."""


def payload(reading: Reading, *, most: int = MOST_EVENTS) -> tuple[str, LaneRows]:
    """(the packed text, the events it holds). ``most`` bounds the events of the lanes."""
    rows = lane_rows(reading.trace, reading.timeline, most)
    packer = Packer()
    strings = _host_columns(packer, reading.trace, rows)
    _activity_columns(packer, reading, rows)
    return packer.pack({**content(reading), "strings": strings, **_groups(rows)}), rows


def content(reading: Reading) -> dict[str, Any]:
    """The tables: kernels, ops, steps, as in the JSON of ``read``, safe to show, each decoded name once."""
    found = reading.to_json()
    decoded: dict[str, Any] = {}
    kernels = []
    for row, full in zip(found["kernels"], reading.kernels, strict=True):
        name = plain(row["name"])
        facts = row.get("decoded")
        if facts and name not in decoded:
            decoded[name] = _decoded(facts)
        # What a copy is called says it better than any label.
        label = (facts or {}).get("short") if row["kind"] == "kernel" else None
        kernels.append(
            {key: _safe(value) for key, value in row.items() if key != "decoded"}
            | {"name": name, "short": plain(label or short_name(row["name"]))}
            | {"time_in_steps_ns": full.time_in_steps_ns, "calls_in_steps": full.calls_in_steps}
        )
    used = set(reading.timeline.used)
    steps = [
        _safe(row) | {"ts": int(ts), "end": int(end), "used": at in used}
        for at, (row, ts, end) in enumerate(
            zip(found["steps"], reading.trace.steps.ts, reading.trace.steps.end, strict=True)
        )
    ]
    return {
        "file": plain(reading.trace.file),
        "first_step": _first_look(reading),
        "per_step": reading.timeline.per_step.steps,
        "kernels": kernels,
        "decoded": decoded,
        "ops": [_safe(row) for row in found["ops"]],
        "steps": steps,
    }


def _first_look(reading: Reading) -> int | None:
    """The step that the lanes open with: the first that figures are over and that did something on the device."""
    steps, used = reading.timeline.steps, reading.timeline.used
    busy = [at for at in used if steps[at].device_time_ns] or [
        at for at, step in enumerate(steps) if step.device_time_ns
    ]
    return next(iter(busy or used), None)


def _decoded(facts: dict[str, Any]) -> dict[str, Any]:
    """Without what another field repeats, and without what is absent."""
    return {key: _safe(value) for key, value in facts.items() if key != "name" and value not in (None, [], "")}


def _safe(value: Any) -> Any:
    """Plain values with every text made printable."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {key: _safe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(item) for item in value]
    return value


def _groups(rows: LaneRows) -> dict[str, Any]:
    return {
        "threads": [group.to_json() for group in rows.threads],
        "streams": [group.to_json() for group in rows.streams],
    }


def _host_columns(packer: Packer, trace: Trace, chosen: LaneRows) -> list[str]:
    """Add the host's columns; returns the texts that ``host_name`` and ``host_shapes`` point into."""
    host, rows = chosen.host, trace.rows
    used, name = np.unique(rows.name[host], return_inverse=True)
    strings = [plain(trace.strings[at]) for at in used]
    packer.add("host_ts", rows.ts[host], delta=True)
    packer.add("host_dur", rows.dur[host])
    packer.add("host_name", name)
    packer.add("host_category", rows.category[host])
    packer.add("host_index", rows.index[host], delta=True)
    op = np.full(len(rows), -1, np.int64)
    op[trace.ops.row] = np.arange(len(trace.ops))
    ops = op[host]
    packer.add("host_shapes", _shapes(trace, ops, strings))
    _forward_columns(packer, trace, ops)
    return strings


def _shapes(trace: Trace, ops: I64, strings: list[str]) -> I64:
    """For each event the position of its shapes' text, which is appended to ``strings``; -1 where there are none."""
    result = np.full(len(ops), -1, np.int64)
    held = np.flatnonzero(ops >= 0)
    held = held[trace.ops.dims[ops[held]] != MISSING32] if len(trace.ops) else held
    if not held.size:
        return result
    dims, types = trace.ops.dims[ops[held]].astype(np.int64), trace.ops.types[ops[held]].astype(np.int64)
    _, first, inverse = np.unique((dims << 32) + types, return_index=True, return_inverse=True)
    places = np.full(len(first), -1, np.int64)
    known: dict[str, int] = {}
    for at, spot in enumerate(first):
        text = plain(shapes_text(trace, int(ops[held[spot]])))
        if text:
            if text not in known:
                known[text] = len(strings)
                strings.append(text)
            places[at] = known[text]
    result[held] = places[inverse]
    return result


def _forward_columns(packer: Packer, trace: Trace, ops: I64) -> None:
    """Backward op -> forward op, as positions among the host's events."""
    place = np.full(len(trace.ops) + 1, -1, np.int64)
    at = np.flatnonzero(ops >= 0)
    place[ops[at]] = at
    ahead = trace.ops.forward[ops[at]] if len(trace.ops) else at[:0]
    at = at[ahead >= 0] if len(trace.ops) else at
    to = place[ahead[ahead >= 0]]
    packer.add("backward_op", at[to >= 0], delta=True)
    packer.add("forward_op", to[to >= 0], delta=True)


def _activity_columns(packer: Packer, reading: Reading, chosen: LaneRows) -> None:
    trace, acts, at = reading.trace, reading.trace.activities, chosen.activities
    place = np.full(len(trace.rows) + 1, _ELSEWHERE, np.int64)
    place[chosen.host] = np.arange(len(chosen.host))
    kernel = np.zeros(len(acts), np.int64)
    for number, row in enumerate(reading.kernels):
        kernel[row.members] = number
    owner = np.full(len(acts), _UNLINKED, np.int64)
    held = acts.owner >= 0
    owner[held] = place[trace.ops.row[acts.owner[held]]]
    outer = acts.outer >= 0
    owner[outer] = place[acts.outer[outer]]
    launch = np.where(acts.linked, place[acts.launch], _UNLINKED)
    packer.add("act_ts", acts.ts[at], delta=True)
    packer.add("act_dur", acts.dur[at])
    packer.add("act_kernel", kernel[at])
    packer.add("act_step", acts.step[at])
    packer.add("act_launch", launch[at], delta=True)
    packer.add("act_launch_ts", np.where(acts.linked, trace.rows.ts[acts.launch], acts.ts)[at] - acts.ts[at])
    packer.add("act_owner", owner[at], delta=True)
    packer.add("act_index", trace.rows.index[acts.row[at]], delta=True)
