"""The reader of events that needs no compiler: typed msgspec structs, a megabyte at a time.

A piece of the list that is clean JSON is decoded as a whole, and what it holds is taken in column by column; where it
is not, the events around the damage are read one by one with ``Tokens``, whose grammar is the scanner's. So both
readers give the same columns and the same notes.
"""

from __future__ import annotations

import gc
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from foretrace.trace.document import NOTES, Document, Stop
from foretrace.trace.entries import (
    Event,
    Sorted,
    activity_columns,
    decode_event,
    decode_events,
    decode_text,
    is_object,
    memory_columns,
)
from foretrace.trace.grammar import MAX_EVENT, SPACE, Broken, Cut, Tokens
from foretrace.trace.growing import GrowingTable
from foretrace.trace.interned import Strings, Threads
from foretrace.trace.places import args_places, boundary
from foretrace.trace.raw import (
    MISSING,
    ActivityColumns,
    FlowColumns,
    MemoryColumns,
    OpColumns,
    RawTrace,
    RowColumns,
)
from foretrace.trace.times import nanoseconds_column, plain_column
from foretrace.trace.values import id_text, string, strings, whole_column

if TYPE_CHECKING:
    from mmap import mmap

    from foretrace.trace.raw import I64

__all__ = ["MsgspecReader", "count_lines", "parse_events"]

# No more than an event can have: so each event in a piece is short enough.
_PIECE: Final = MAX_EVENT
_SMALLEST_PIECE: Final = 2 << 10
_NULL: Final = b"null"
_ERROR_BYTE: Final = re.compile(r"\(byte (\d+)\)")
_LINE_FEED: Final = 0x0A
_BRACE: Final = 0x7B
# A key "args" may be written with escapes of its letters; one that is not found can make up for one too many.
_MAY_ESCAPE: Final = rb"\u00"


def count_lines(text: bytes | mmap, start: int, stop: int) -> int:
    """Line feeds in ``text[start:stop]``."""
    lines = 0
    for at in range(start, stop, _PIECE):
        part = np.frombuffer(bytes(text[at : min(at + _PIECE, stop)]), np.uint8)
        lines += int(np.count_nonzero(part == _LINE_FEED))
    return lines


class MsgspecReader:
    """Reads whole events into columns."""

    def __init__(self) -> None:
        self._strings = Strings()
        self._threads = Threads()
        self._phases: Counter[str] = Counter()
        self._labels: dict[tuple[str, str, str], str] = {}
        self._rows = GrowingTable(RowColumns)
        self._activities = GrowingTable(ActivityColumns)
        self._ops = GrowingTable(OpColumns)
        self._flows = GrowingTable(FlowColumns)
        self._memory = GrowingTable(MemoryColumns)
        self._events = 0
        self._fractions = False
        self._text_times = False
        self._piece = _PIECE
        self._notes: dict[str, tuple[int, int]] = dict.fromkeys(NOTES, (0, 0))
        self._place = "first"
        self._comma = 0

    # ---- what a reader of events does ----

    def scan(self, text: bytes | mmap, at: int, end: int, base: int, /) -> tuple[int, int]:
        """Read events from ``text[at:end]``; why it stopped and where. ``base`` is the byte of ``text[0]``."""
        # Events and their args live until their piece is done; looking for cycles among them finds none, slowly.
        collecting = gc.isenabled()
        gc.disable()
        try:
            return self._scan(text, at, end, base)
        finally:
            if collecting:
                gc.enable()

    def _scan(self, text: bytes | mmap, at: int, end: int, base: int) -> tuple[int, int]:
        while True:
            stop, at = self._to_event(text, at, end, base)
            if stop is not None:
                return stop, at
            after = self._piecewise(text, at, end, base)
            if after == at:
                stop, after = self._one(text, at, end, base)
                if stop is not None:
                    return stop, at
            at = after

    def add(self, text: bytes, args_start: int, args_length: int, /) -> bool:
        """Read one mended event whose args lie elsewhere in the file; whether it was one."""
        try:
            event = decode_event(text)
            kinds = Sorted([event])
        except (msgspec.MsgspecError, RecursionError):
            return False
        if not is_object(event.args):
            args_start, args_length = MISSING, 0
        self._take(kinds, np.array([args_start]), np.array([args_length]))
        self._place = "event"
        return True

    def skip(self) -> None:
        """Leave an event out: it keeps its number."""
        self._events += 1
        self._place = "first"

    def restart(self) -> None:
        """Go on between two events without asking for a comma."""
        self._place = "first"

    def notes(self) -> list[tuple[int, int]]:
        """(count, first byte) for each of ``NOTES``."""
        return list(self._notes.values())

    def columns(self) -> dict[str, Any]:
        """What was read, as the fields of a ``RawTrace``; the reader then holds nothing more."""
        return {
            "rows": self._rows.columns(),
            "activities": self._activities.columns(),
            "ops": self._ops.columns(),
            "flows": self._flows.columns(),
            "memory": self._memory.columns(),
            "strings": list(self._strings.numbers),
            "threads": list(self._threads.numbers),
            "labels": self._labels,
            "phases": dict(self._phases),
            "events": self._events,
            "fractions": self._fractions,
            "text_times": self._text_times,
        }

    # ---- from event to event ----

    def _note(self, code: str, byte: int) -> None:
        count, first = self._notes[code]
        self._notes[code] = (count + 1, first if count else byte)

    def _to_event(self, text: bytes | mmap, at: int, end: int, base: int) -> tuple[int | None, int]:
        """Over white space and commas to the next event, or why and where that fails."""
        while True:
            found = SPACE.match(text, at, end)
            at = found.end() if found else at
            if at >= end:
                return Stop.MORE, at
            byte = text[at]
            if byte == 0x7B:  # noqa: PLR2004 - a brace
                return None, at
            if byte == 0x2C:  # noqa: PLR2004 - a comma
                if self._place != "event":
                    self._note("extra-comma", base + at)
                self._place = "comma"
                self._comma = base + at
                at += 1
                continue
            if byte == 0x5D:  # noqa: PLR2004 - a bracket
                if self._place == "comma":
                    self._note("extra-comma", self._comma)
                return Stop.END, at
            return Stop.BROKEN, at

    def _one(self, text: bytes | mmap, at: int, end: int, base: int) -> tuple[int | None, int]:
        """One event by its tokens; why it was not read, or None, and where it ends."""
        tokens = Tokens(text, end=end)
        try:
            event = tokens.event(at)
        except Cut:
            return Stop.MORE, at
        except Broken:
            return Stop.BROKEN, at
        missing_comma = self._place == "event"
        start = base + event.args_start if event.args_start >= 0 else -1
        if not self.add(event.clean, start, event.args_length if start >= 0 else 0):
            return Stop.BROKEN, at
        for note in tokens.notes:
            self._note(note.code, base + note.at)
        if missing_comma:
            self._note("missing-comma", base + at)
        return None, event.end

    def _piecewise(self, text: bytes | mmap, at: int, end: int, base: int) -> int:
        """As many whole events as a piece holds and msgspec takes; where they end (``at``, if none)."""
        if self._place == "event":
            return at
        before = min(at + self._piece, end)
        full = before - at == self._piece
        stop = boundary(text, at, before)
        while stop > at:
            # A copy of a megabyte is felt: there is one.
            piece = b"".join((b"[", memoryview(text)[at:stop], b"]"))
            trouble = self._decoded(piece, base + at - 1)
            if trouble < 0:
                self._piece = min(self._piece * 2, _PIECE) if full else self._piece
                self._place = "event"
                return stop
            self._piece = max(self._piece // 4, _SMALLEST_PIECE)
            stop = boundary(text, at, min(at + trouble, stop) - 1)
        return at

    def _decoded(self, piece: bytes, base: int) -> int:
        """Decode a list of whole events into the columns; -1, or about where msgspec stopped."""
        try:
            if not piece.isascii():
                piece.decode()
            events = decode_events(piece)
        except UnicodeDecodeError as error:
            return error.start
        except msgspec.MsgspecError as error:
            found = _ERROR_BYTE.search(str(error))
            return int(found.group(1)) if found else len(piece) // 2
        except RecursionError:
            return len(piece) // 2
        places = args_places(piece)
        sizes = np.array([len(event.args) for event in events], np.int64)
        with_args = np.flatnonzero(sizes)
        # A backslash is found far quicker than what may follow it.
        escapes = b"\\" in piece and _MAY_ESCAPE in piece
        if len(places) != len(with_args) or (escapes and not _holds(piece, places, events)):
            return len(piece) // 2
        try:
            kinds = Sorted(events)
        except (msgspec.MsgspecError, RecursionError):
            return len(piece) // 2
        is_object = np.frombuffer(piece, np.uint8)[places] == _BRACE
        starts = np.full(len(events), MISSING, np.int64)
        starts[with_args[is_object]] = base + places[is_object]
        sizes[with_args[~is_object]] = 0
        self._take(kinds, starts, sizes)
        return -1

    # ---- columns ----

    def _take(self, kinds: Sorted, starts: I64, sizes: I64) -> None:
        """Take whole events into the columns; ``starts`` and ``sizes`` are those of their args, if objects."""
        events = kinds.events
        self._phases.update(kinds.phases)
        first, complete = self._rows.count, np.array(kinds.complete, np.int64)
        external, correlation = np.empty((2, len(complete)), np.int64)
        for places, args in (
            (kinds.ops, kinds.op_args),
            (kinds.activities, kinds.activity_args),
            (kinds.others, kinds.other_args),
        ):
            external[places] = whole_column(
                [each.external_old if each.external is None else each.external for each in args]
            )
            correlation[places] = whole_column([each.correlation for each in args])
        names, lists = self._strings.columns(
            strings([event.name for event in kinds.rows]),
            kinds.ops,
            [
                [args.dims or args.dims_old for args in kinds.op_args],
                [args.types for args in kinds.op_args],
                [args.strides for args in kinds.op_args],
                [args.concrete for args in kinds.op_args],
            ],
        )
        # Threads are numbered as they come, whatever the kind of event.
        on_threads = sorted([*kinds.complete, *kinds.flows, *kinds.memory])
        thread = np.zeros(len(events), np.int32)
        thread[on_threads] = self._threads.column([events[at] for at in on_threads])
        self._rows.add(
            self._events + complete,
            kinds.categories,
            names,
            thread[complete],
            self._times([event.ts for event in kinds.rows]),
            self._times([event.dur for event in kinds.rows]),
            correlation,
            external,
            starts[complete],
            sizes[complete],
        )
        self._events += len(events)
        if kinds.op_args:
            sequence = whole_column([args.sequence for args in kinds.op_args])
            forward = whole_column([args.forward_thread for args in kinds.op_args])
            self._ops.add(first + kinds.ops, sequence, forward, *lists)
        if kinds.activity_args:
            self._activities.add(first + kinds.activities, *activity_columns(kinds.activity_args))
        if kinds.flows:
            flows = [events[at] for at in kinds.flows]
            is_start = [event.ph == "s" for event in flows]
            self._flows.add(
                whole_column([event.id for event in flows]),
                thread[kinds.flows],
                self._times([event.ts for event in flows]),
                is_start,
            )
        if kinds.memory:
            times = self._times([events[at].ts for at in kinds.memory])
            self._memory.add(times, thread[kinds.memory], *memory_columns(kinds.memory_args))
        for event, named in zip(kinds.labels, kinds.label_args, strict=True):
            text = named.labels if named.name is msgspec.UNSET else named.name
            self._labels[(event.name, id_text(event.pid), id_text(event.tid))] = string(text)

    def _times(self, texts: list[msgspec.Raw]) -> I64:
        """Nanoseconds of a column of JSON values."""
        values, fractions = plain_column(texts) or self._mixed_times(list(map(bytes, texts)))
        self._fractions |= fractions
        return values

    def _mixed_times(self, texts: list[bytes]) -> tuple[I64, bool]:
        """The same where not all are plain numbers, and whether any has a point."""
        odd = [row for row, text in enumerate(texts) if text[:1] not in b"0123456789" or not text]
        decoded: set[int] = set()
        for row in odd:
            text, texts[row] = texts[row], b"0"
            if text[:1] == b'"':
                self._text_times = True
                texts[row] = decode_text(text).encode("utf-8", "replace")
                decoded.add(row)
            elif text[:1] == b"-":
                texts[row] = text
                decoded.add(row)
        values, fractions = nanoseconds_column(texts)
        values[[row for row in odd if row not in decoded]] = MISSING
        return values, fractions


def _holds(piece: bytes, places: I64, events: list[Event]) -> bool:
    """Whether the args of the events lie at these places."""
    with_args = [event.args for event in events if event.args]
    return all(piece.startswith(bytes(args), place) for args, place in zip(with_args, places.tolist(), strict=True))


def parse_events(text: bytes, name: str = "trace") -> RawTrace:
    """Read a trace that is already in memory.

    Raises:
        TraceFormatError: the text is no JSON, or holds no list of events.
    """
    reader = MsgspecReader()
    document = Document(iter([text]), reader, name, count_lines)
    document.read()
    return RawTrace(header=document.header, is_list=document.is_list, repairs=document.repairs(), **reader.columns())
