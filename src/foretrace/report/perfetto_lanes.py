"""Move overlapping activities of one stream to rows of their own, since the Perfetto viewer drops them silently.

Only the events that move are written anew, and of those only the thread id, so no time loses a digit. Each further row
is named for its stream. The arrows from launches to moved activities move along.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from foretrace.errors import TraceFormatError
from foretrace.trace.raw import MISSING

if TYPE_CHECKING:
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

__all__ = ["overlap_rows", "repaired_lanes"]

_EVENTS: Final = "traceEvents"
# Sorts a further row right behind its stream's, which Kineto sorts by stream.
_ROW: Final = msgspec.json.Encoder()


def overlap_rows(trace: Trace) -> I64:
    """For each activity its row on its stream, so that none overlaps another: 0 is the stream's own."""
    acts, rows = trace.activities, trace.rows
    row = np.zeros(len(acts), np.int64)
    held = np.flatnonzero(acts.timed & (acts.dur > 0))
    thread = rows.thread[acts.row[held]]
    order = np.lexsort((-acts.dur[held], acts.ts[held], thread))
    held, thread = held[order], thread[order]
    if len(held) < 2:  # noqa: PLR2004 - one overlaps nothing
        return row
    cuts = np.flatnonzero(np.diff(thread)) + 1
    for some in np.split(held, cuts):
        start, end = acts.ts[some], acts.end[some]
        if (start[1:] >= np.maximum.accumulate(end)[:-1]).all():
            continue
        ends: list[int] = []
        for at, begin, stop in zip(some.tolist(), start.tolist(), end.tolist(), strict=True):
            free = next((number for number, reach in enumerate(ends) if reach <= begin), len(ends))
            if free == len(ends):
                ends.append(stop)
            else:
                ends[free] = stop
            row[at] = free
    return row


def repaired_lanes(trace: Trace, text: bytes) -> tuple[bytes, int]:
    """(the trace's text with overlapping activities on rows of their own, how many were moved).

    Raises:
        TraceFormatError: the text is damaged, so that its events cannot be told apart with certainty.
    """
    row = overlap_rows(trace)
    moved = np.flatnonzero(row)
    if not moved.size:
        return text, 0
    header, events = _taken_apart(trace, text)
    threads = _Threads(trace)
    # Launch and activity are joined by an arrow that ends on the activity's row.
    arrows: dict[tuple[bytes, bytes, int], msgspec.Raw] = {}
    for at in moved.tolist():
        number = int(trace.rows.index[trace.activities.row[at]])
        event = _fields(trace, events[number])
        where = (bytes(event.get("pid", b"")), bytes(event.get("tid", b"")))
        event["tid"] = threads.row(where, int(row[at]), trace.thread_label(int(trace.activities.row[at])))
        events[number] = msgspec.Raw(_ROW.encode(event))
        correlation = int(trace.rows.correlation[trace.activities.row[at]])
        if correlation != MISSING:
            arrows[(*where, correlation)] = event["tid"]
    _move_arrows(events, arrows)
    return _put_together(header, [*events, *threads.named]), len(moved)


def _taken_apart(trace: Trace, text: bytes) -> tuple[dict[str, msgspec.Raw] | None, list[msgspec.Raw]]:
    """(the top-level keys; None for a bare list, the events), all as they are written."""
    try:
        if trace.raw.is_list:
            return None, msgspec.json.decode(text, type=list[msgspec.Raw])
        header = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
        events = msgspec.json.decode(header[_EVENTS], type=list[msgspec.Raw])
    except (msgspec.DecodeError, KeyError, UnicodeDecodeError) as error:
        raise _damaged(trace) from error
    if len(events) != trace.events:
        raise _damaged(trace)
    return header, events


def _fields(trace: Trace, event: msgspec.Raw) -> dict[str, msgspec.Raw]:
    try:
        return msgspec.json.decode(event, type=dict[str, msgspec.Raw])
    except msgspec.DecodeError as error:
        raise _damaged(trace) from error


def _damaged(trace: Trace) -> TraceFormatError:
    return TraceFormatError(
        f"{trace.path} is damaged, so its activities cannot be moved to other rows; open it without --repair-lanes."
    )


class _Threads:
    """Thread ids for further rows, and the events that name them."""

    def __init__(self, trace: Trace) -> None:
        used = [int(tid) for _, tid in trace.raw.threads if tid.lstrip("-").isdigit() and len(tid) < 10]  # noqa: PLR2004
        self._next = max([*used, 999_999]) + 1
        self._rows: dict[tuple[bytes, bytes, int], msgspec.Raw] = {}
        self.named: list[msgspec.Raw] = []

    def row(self, where: tuple[bytes, bytes], number: int, label: str) -> msgspec.Raw:
        """The thread id of a further row of a stream."""
        known = self._rows.get((*where, number))
        if known is None:
            known = self._rows[*where, number] = msgspec.Raw(str(self._next).encode())
            self._next += 1
            name = {"name": f"{label} (overlap {number})"}
            event = {"ph": "M", "name": "thread_name", "pid": msgspec.Raw(where[0] or b"0"), "tid": known, "args": name}
            self.named.append(msgspec.Raw(_ROW.encode(event)))
        return known


class _Arrow(msgspec.Struct):
    """What of an event says whether it is the end of an arrow."""

    ph: Any = None
    id: Any = None
    pid: msgspec.Raw = msgspec.Raw(b"")
    tid: msgspec.Raw = msgspec.Raw(b"")


def _move_arrows(events: list[msgspec.Raw], arrows: dict[tuple[bytes, bytes, int], msgspec.Raw]) -> None:
    decoder = msgspec.json.Decoder(_Arrow)
    for at, event in enumerate(events):
        try:
            arrow = decoder.decode(event)
        except msgspec.DecodeError:
            continue
        if arrow.ph not in ("f", "t") or not isinstance(arrow.id, int):
            continue
        target = arrows.get((bytes(arrow.pid), bytes(arrow.tid), arrow.id))
        if target is not None:
            fields = msgspec.json.decode(event, type=dict[str, msgspec.Raw])
            fields["tid"] = target
            events[at] = msgspec.Raw(_ROW.encode(fields))


def _put_together(header: dict[str, msgspec.Raw] | None, events: list[msgspec.Raw]) -> bytes:
    listed = b"[\n" + b",\n".join(bytes(event) for event in events) + b"\n]"
    if header is None:
        return listed
    keys = (_ROW.encode(key) + b": " + (listed if key == _EVENTS else bytes(value)) for key, value in header.items())
    return b"{\n" + b",\n".join(keys) + b"\n}\n"
