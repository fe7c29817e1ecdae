"""The reader of events that needs no compiler: typed msgspec structs, a megabyte at a time.

A piece of the list that is clean JSON is decoded as a whole; where it is not, the events around the damage are read
one by one with ``Tokens``, whose grammar is the scanner's. So both readers give the same columns and the same notes.
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
    DEVICE,
    NO_ACTIVITY,
    NO_ARGS,
    NO_OP,
    OP,
    Entry,
    Event,
    activity_row,
    decode_event,
    decode_events,
    decode_text,
    entry_of,
    id_text,
    is_deep,
    string,
    whole,
)
from foretrace.trace.grammar import MAX_EVENT, SPACE, Broken, Cut, Tokens
from foretrace.trace.growing import GrowingTable
from foretrace.trace.raw import (
    MISSING,
    MISSING32,
    ActivityColumns,
    FlowColumns,
    MemoryColumns,
    OpColumns,
    RawTrace,
    RowColumns,
)
from foretrace.trace.times import nanoseconds_column

if TYPE_CHECKING:
    from mmap import mmap

__all__ = ["MsgspecReader", "count_lines", "parse_events"]

# No more than an event can have: so each event in a piece is short enough.
_PIECE: Final = MAX_EVENT
_SHORT: Final = 1 << 62
_SMALLEST_PIECE: Final = 2 << 10
# Braces that are looked at for the end of an event; where none of so many is one, events are read one by one.
_MOST_LOOKS: Final = 200

_NULL: Final = b"null"

_NEXT_EVENT: Final = re.compile(rb'\{[ \t\n\r]*+"(?:ph|cat|name|pid|tid|ts|dur|args|id|bp|s)"')
_ARGS: Final = re.compile(rb'"args"[ \t\n\r]*+:[ \t\n\r]*+')
_ERROR_BYTE: Final = re.compile(r"\(byte (\d+)\)")
_SPACES: Final = b" \t\n\r"
_LINE_FEED: Final = 0x0A


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
        self._strings: dict[str, int] = {}
        self._raw: dict[bytes, int] = {}
        self._threads: dict[tuple[str, str], int] = {}
        self._thread_of: dict[tuple[Any, Any], int] = {}
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
        # Rows are tuples that live until their piece is done; looking for cycles among them finds none, slowly.
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
            entry = entry_of(decode_event(text))
        except (msgspec.MsgspecError, RecursionError):
            return False
        self._add([entry], [args_start], [args_length])
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
            "strings": list(self._strings),
            "threads": list(self._threads),
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
        piece = bytes(text[at : min(at + self._piece, end)])
        full = len(piece) == self._piece
        boundary = _boundary(piece, len(piece))
        while boundary > 0:
            trouble = self._decoded(piece[:boundary], base + at)
            if trouble < 0:
                self._piece = min(self._piece * 2, _PIECE) if full else self._piece
                self._place = "event"
                return at + boundary
            self._piece = max(self._piece // 4, _SMALLEST_PIECE)
            boundary = _boundary(piece, min(trouble, boundary - 1))
        return at

    def _decoded(self, piece: bytes, base: int) -> int:
        """Decode whole events into the columns; -1, or about where msgspec stopped."""
        try:
            piece.decode()
            events = decode_events(b"[" + piece + b"]")
        except UnicodeDecodeError as error:
            return error.start
        except msgspec.MsgspecError as error:
            found = _ERROR_BYTE.search(str(error))
            return int(found.group(1)) - 1 if found else len(piece) // 2
        except RecursionError:
            return len(piece) // 2
        starts = [found.end() for found in _ARGS.finditer(piece)]
        sizes = [len(event.args) for event in events]
        with_args = [size for size in sizes if size]
        if len(starts) != len(with_args):
            return len(piece) // 2
        place = iter(starts)
        starts = [base + next(place) if size else -1 for size in sizes]
        try:
            entries = [entry_of(event) for event in events]
        except (msgspec.MsgspecError, RecursionError):
            return len(piece) // 2
        self._add(entries, starts, sizes)
        return -1

    # ---- columns ----

    def _add(self, entries: list[Entry], starts: list[int], sizes: list[int]) -> None:
        """Take whole events into the columns; ``starts`` and ``sizes`` are those of their args."""
        self._phases.update([entry[0] for entry in entries])
        index = self._events
        self._events += len(entries)
        rows, add_row = self._rows, self._rows.rows.append
        add_op, add_activity = self._ops.rows.append, self._activities.rows.append
        strings, thread_of, kept, known = self._strings, self._thread_of, self._kept, self._raw
        first = rows.count
        times: list[bytes] = []
        spans: list[bytes] = []
        flow_times: list[bytes] = []
        memory_times: list[bytes] = []
        for (phase, category, event, args), start, size in zip(entries, starts, sizes, strict=True):
            if phase == "X":
                if category == OP:
                    sequence, ahead = args.sequence, args.forward_thread
                    dims = bytes(args.dims) or bytes(args.dims_old)
                    types, strides, concrete = bytes(args.types), bytes(args.strides), bytes(args.concrete)
                    add_op(
                        (
                            first + len(times),
                            MISSING if sequence is None else whole(sequence),
                            MISSING if ahead is None else whole(ahead),
                            known[dims] if dims in known else kept(dims),
                            known[types] if types in known else kept(types),
                            known[strides] if strides in known else kept(strides),
                            known[concrete] if concrete in known else kept(concrete),
                        )
                    )
                elif category in DEVICE:
                    add_activity(activity_row(first + len(times), args))
                try:
                    thread = thread_of[event.pid, event.tid]
                except (KeyError, TypeError):
                    thread = self._thread(event)
                external = args.external_old if args.external is None else args.external
                correlation = args.correlation
                name = event.name if type(event.name) is str else ""
                times.append(bytes(event.ts))
                spans.append(bytes(event.dur))
                has_args = args is not NO_ARGS and args is not NO_OP and args is not NO_ACTIVITY
                add_row(
                    (
                        index,
                        category,
                        strings.setdefault(name, len(strings)),
                        thread,
                        # Nearly all are short whole numbers: a call for each would take as long as the rest.
                        correlation if type(correlation) is int and 0 <= correlation < _SHORT else whole(correlation),
                        external if type(external) is int and 0 <= external < _SHORT else whole(external),
                        start if has_args else MISSING,
                        size if has_args else 0,
                    )
                )
            elif args is not None:
                self._add_other(phase, event, args, flow_times, memory_times)
            index += 1
        rows.settle({4: self._times(times), 5: self._times(spans)})
        self._flows.settle({2: self._times(flow_times)})
        self._memory.settle({0: self._times(memory_times)})
        self._activities.settle()
        self._ops.settle()

    def _add_other(
        self, phase: str, event: Event, args: Any, flow_times: list[bytes], memory_times: list[bytes]
    ) -> None:
        """A flow, a memory record or metadata that names something."""
        if phase == "M":
            text = args.labels if args.name is msgspec.UNSET else args.name
            self._labels[(event.name, id_text(event.pid), id_text(event.tid))] = string(text)
        elif phase in ("s", "f"):
            flow_times.append(bytes(event.ts))
            self._flows.rows.append((whole(event.id), self._thread(event), phase == "s"))
        else:
            memory_times.append(bytes(event.ts))
            self._memory.rows.append(
                (
                    self._thread(event),
                    whole(args.address),
                    whole(args.bytes),
                    whole(args.total_allocated),
                    whole(args.total_reserved),
                    whole(args.device_type),
                    whole(args.device),
                )
            )

    def _thread(self, event: Event) -> int:
        # Keys that are equal have one text: 1, 1.0 and True are all "1".
        key = (event.pid, event.tid)
        try:
            return self._thread_of[key]
        except KeyError:
            pass
        except TypeError:
            return self._new_thread(event)
        number = self._thread_of[key] = self._new_thread(event)
        return number

    def _new_thread(self, event: Event) -> int:
        return self._threads.setdefault((id_text(event.pid), id_text(event.tid)), len(self._threads))

    def _times(self, texts: list[bytes]) -> Any:
        """Nanoseconds of a column of raw JSON values."""
        numbers, odd = texts, [row for row, text in enumerate(texts) if text[:1] not in b"0123456789" or not text]
        decoded: dict[int, bytes] = {}
        if odd:
            numbers = texts.copy()
            for row in odd:
                text = texts[row]
                numbers[row] = b"0"
                if text[:1] == b'"':
                    self._text_times = True
                    decoded[row] = numbers[row] = decode_text(text).encode("utf-8", "replace")
                elif text[:1] == b"-":
                    decoded[row] = numbers[row] = text
        values, fractions = nanoseconds_column(numbers)
        self._fractions |= fractions
        for row in odd:
            if row not in decoded:
                values[row] = MISSING
        return values

    def _kept(self, raw: bytes) -> int:
        """A list that is kept as it is written."""
        if not raw:
            return MISSING32
        number = self._raw.get(raw)
        if number is None:
            text = (_NULL if is_deep(raw) else raw).decode()
            number = self._raw[raw] = self._strings.setdefault(text, len(self._strings))
        return number


def _boundary(piece: bytes, before: int) -> int:
    """The last place before ``before`` where an event seems to end and another to follow, or 0."""
    at = before
    for _ in range(_MOST_LOOKS):
        at = piece.rfind(b"{", 0, at)
        if at <= 0:
            return 0
        comma = at - 1
        while comma > 0 and piece[comma] in _SPACES:
            comma -= 1
        if piece[comma] != 0x2C or not _NEXT_EVENT.match(piece, at):  # noqa: PLR2004 - a comma
            continue
        brace = comma - 1
        while brace > 0 and piece[brace] in _SPACES:
            brace -= 1
        if piece[brace] == 0x7D:  # noqa: PLR2004 - a brace
            return brace + 1
    return 0


def parse_events(text: bytes, name: str = "trace") -> RawTrace:
    """Read a trace that is already in memory.

    Raises:
        TraceFormatError: the text is no JSON, or holds no list of events.
    """
    reader = MsgspecReader()
    document = Document(iter([text]), reader, name, count_lines)
    document.read()
    return RawTrace(header=document.header, is_list=document.is_list, repairs=document.repairs(), **reader.columns())
