"""The JSON document around the event list, and what is done where it is damaged.

Everything but whole events is read here, the same for both readers: the top-level keys, the ends of the list and of
the file, and the way past a broken event. A reader of events (``EventReader``) is only asked to read on from a place
between two events until the list ends, the text runs out, or something is no event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

from foretrace.errors import TraceFormatError
from foretrace.trace.grammar import MAX_EVENT, SPACE, Broken, Cut, Tokens
from foretrace.trace.header import MAX_HEADER, header_value
from foretrace.trace.raw import Repair
from foretrace.trace.recognize import foreign_content, foreign_keys
from foretrace.trace.repair import LOOK_AHEAD, at_header, list_end, meaning, mend, next_event, past_values
from foretrace.trace.shown import beginning, shown
from foretrace.trace.window import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from mmap import mmap

__all__ = ["NOTES", "Document", "EventReader", "Stop"]

# A top-level key is looked for in as many bytes.
_LONGEST_KEY: Final = 64 << 10

# The damage that readers of events count by themselves, in the order in which they report it.
NOTES: Final = ("backslash", "control-character", "bad-utf8", "not-finite", "extra-comma", "missing-comma")

# Text that broken events may be read over beyond their ends, in all.
_MOST_AGAIN: Final = 512 << 10

# A mapped file is read in slices, so that an interrupt is heeded and progress can be shown.
_SLICE: Final = 32 << 20

# Enough to see what follows the list.
_AFTER_LIST: Final = 4096

# Enough to tell what a file is that is no JSON.
_HEAD: Final = 4096

_FRAGMENT: Final = 60


class Stop:
    """Why a reader of events stopped."""

    END: Final = 0
    """At the bracket that ends the list."""
    MORE: Final = 1
    """At the start of an event that the text does not hold whole, or at its end."""
    BROKEN: Final = 2
    """At something that is no event."""


class EventReader(Protocol):
    """Reads whole events into columns."""

    def scan(self, text: bytes | mmap, at: int, end: int, base: int, /) -> tuple[int, int]:
        """Read events from ``text[at:end]``; why it stopped and where. ``base`` is the byte of ``text[0]``."""

    def add(self, text: bytes, args_start: int, args_length: int, /) -> bool:
        """Read one mended event whose args lie elsewhere in the file; whether it was one."""

    def skip(self) -> None:
        """Leave an event out: it keeps its number."""

    def restart(self) -> None:
        """Go on between two events without asking for a comma."""

    def notes(self) -> list[tuple[int, int]]:
        """(count, first byte) for each of ``NOTES``."""


class Document:
    """One trace file while it is read.

    Args:
        pieces: the text; a map of the whole file comes as the only piece.
        reader: takes the events.
        name: the file, for messages.
        count_lines: line feeds in a part of a text.
        progress: called now and then with the bytes that were read.
    """

    def __init__(
        self,
        pieces: Iterator[bytes | mmap],
        reader: EventReader,
        name: str,
        count_lines: Callable[[bytes | mmap, int, int], int],
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self.reader = reader
        self.name = name
        self.header: dict[str, Any] = {}
        self.is_list = False
        self.window = Window(pieces, count_lines)
        self._found_list = False
        self._progress = progress
        self._repairs: dict[str, Repair] = {}
        self._again = 0

    # ---- damage ----

    def _note(self, code: str, byte: int, count: int = 1, *, line: int = 0) -> None:
        before = self._repairs.get(code)
        if before:
            total = before.count + count
            self._repairs[code] = Repair(code, total, before.byte, before.line, meaning(code, total))
        else:
            self._repairs[code] = Repair(code, count, byte, line or self.window.line(byte), meaning(code, count))

    def _note_events(self, seen: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Take over what the reader counted since the last time."""
        notes = self.reader.notes()
        if notes != seen:
            for code, (count, byte), (before, _) in zip(NOTES, notes, seen, strict=True):
                if count > before:
                    self._note(code, byte if not before else 0, count - before)
        return notes

    def repairs(self) -> list[Repair]:
        """All damage that was read past, in the order of its first place."""
        return sorted(self._repairs.values(), key=lambda repair: (repair.byte, repair.code))

    # ---- the document ----

    def read(self) -> None:
        """Read all of it.

        Raises:
            TraceFormatError: it is no JSON with a list of events.
        """
        at = self.window.hold(0, _HEAD)
        head = bytes(self.window.text[:_HEAD])
        if bytes(self.window.text[:3]) == b"\xef\xbb\xbf":
            at += 3
        at = self.window.space(at)
        if at >= len(self.window):
            raise TraceFormatError(f"{self.name}: an empty file; the profiler did not finish writing it, record again.")
        if self.window.text[at] == 0x5B:  # noqa: PLR2004 - a bracket
            self.is_list = True
            at = self._events(at + 1)
            if at >= 0:
                self._end(at)
        elif self.window.text[at] == 0x7B:  # noqa: PLR2004 - a brace
            self._members(at + 1)
        else:
            what = foreign_content(head, self.name) or f"it is no JSON: it begins with {beginning(head)}"
            raise TraceFormatError(f"{self.name}: {what}.")

    def _end(self, at: int) -> None:
        """After the end of the document."""
        at = self.window.space(at)
        if at < len(self.window):
            self._note("trailing-text", self.window.base + at)

    def _members(self, at: int) -> None:
        """The top-level object, from behind its brace."""
        comma = -1
        while True:
            at = self.window.space(at)
            if at >= len(self.window):
                self._cut_header(at)
                return
            byte = self.window.text[at]
            if byte == 0x7D:  # noqa: PLR2004 - a brace
                if comma >= 0:
                    self._note("extra-comma", comma)
                self._finish(at)
                self._end(at + 1)
                return
            if byte == 0x2C:  # noqa: PLR2004 - a comma
                if comma >= 0:
                    self._note("extra-comma", comma)
                comma = self.window.base + at
                at += 1
                continue
            comma = -1
            at = self._member(at)
            if at < 0:
                return

    def _finish(self, at: int) -> None:
        """Complain where the document held no events."""
        if self._found_list:
            return
        what = foreign_keys(self.header)
        if what:
            raise TraceFormatError(f"{self.name}: {what}.")
        byte = self.window.base + at
        keys = shown(", ".join(list(self.header)[:5]))
        held = f"its top-level keys are {keys}" if keys else "it has no top-level keys"
        raise TraceFormatError(
            f"{self.name}: a JSON file without a list of events (traceEvents) up to byte {byte}; {held}."
        )

    def _cut_header(self, at: int) -> None:
        self._finish(at)
        self._note("cut-off-header", self.window.base + at)

    def _member(self, at: int) -> int:
        """One top-level key and its value; where it ends, or -1 where nothing more can be read."""
        at = self.window.hold(at, _LONGEST_KEY)
        tokens = Tokens(self.window.text, end=min(len(self.window), at + _LONGEST_KEY), lax=True)
        tokens.nest.append(True)
        try:
            value, name = tokens.key(at)
        except Cut:
            return self._endless_member(at)
        except Broken as broken:
            return self._broken_member(at, broken.at)
        if name == "traceEvents":
            if self.window.text[value] == 0x5B:  # noqa: PLR2004 - a bracket
                return self._events(value + 1)
            if self._found_list:
                return self._broken_member(at, value)
            raise TraceFormatError(f"{self.name}: traceEvents is no list (byte {self.window.base + value}).")
        what = None if self._found_list else foreign_keys(self.header, name)
        if what:
            raise TraceFormatError(f"{self.name}: {what}.")
        try:
            value, found = header_value(self.window, value)
        except Cut:
            return self._endless_member(value)
        except Broken as broken:
            return self._broken_member(value, broken.at)
        self.header[name] = found.value
        for note in [*tokens.notes, *found.notes]:
            self._note(note.code, self.window.base + note.at)
        return found.end

    def _endless_member(self, at: int) -> int:
        """A top-level key or value that does not end."""
        if not self._found_list:
            what = foreign_keys(self.header) or "no list of events (traceEvents) was found"
            place = self.window.base + at
            raise TraceFormatError(f"{self.name}: {what}; what stands at byte {place} does not end.")
        self._note("cut-off-header" if self.window.is_whole else "header", self.window.base + at)
        return -1

    def _broken_member(self, at: int, broken: int) -> int:
        """A top-level key or value that is no JSON: go on at the event list, if that is still to come."""
        self._note("header", self.window.base + at)
        if self._found_list:
            return -1
        byte, line = self.window.base + broken, self.window.line(self.window.base + broken)
        fragment = shown(bytes(self.window.text[broken : broken + _FRAGMENT]))
        at = self.window.hold(at, MAX_HEADER)
        place = self.window.text.find(b'"traceEvents"', at + 1, at + MAX_HEADER)
        if place < 0:
            raise TraceFormatError(f'{self.name}: no JSON at byte {byte}, line {line}: "{fragment}".')
        return place

    # ---- the event list ----

    def _events(self, at: int) -> int:
        """The event list, from behind its bracket to behind its end; -1 where it does not end."""
        reader = self.reader
        self._found_list = True
        reader.restart()
        seen = reader.notes()
        limit = at + _SLICE
        while True:
            if limit <= at:
                limit = at + _SLICE
            why, at = reader.scan(self.window.text, at, min(limit, len(self.window)), self.window.base)
            seen = self._note_events(seen)
            if self._progress:
                self._progress(self.window.base + at)
            if why == Stop.END:
                at = self.window.hold(self.window.space(at + 1), _AFTER_LIST)
                go_on = self._list_goes_on(at)
                if go_on < 0:
                    return at
                self._note("bracket", self.window.base + at)
                reader.restart()
                at = go_on
                continue
            if why == Stop.MORE and limit < len(self.window) and limit - at <= MAX_EVENT:
                limit += _SLICE
                continue
            if why == Stop.MORE and len(self.window) - at <= MAX_EVENT:
                moved = self.window.more(at)
                if moved is not None:
                    at = moved
                    limit = at + _SLICE
                    continue
                if at >= len(self.window):
                    self._note("cut-off", self.window.base + at)
                    return -1
            at = self._mend(at)
            if at < 0:
                return -1
            if at_header(self.window.text, at):
                self._note("bracket", self.window.base + at)
                return at

    def _list_goes_on(self, at: int) -> int:
        """Whether another event follows the bracket that ended the list: where, or -1."""
        if at >= len(self.window):
            return -1
        if self.window.text[at] == 0x2C:  # noqa: PLR2004 - a comma
            found = SPACE.match(self.window.text, at + 1)
            at = found.end() if found else at + 1
            if at < len(self.window) and self.window.text[at] == 0x7B:  # noqa: PLR2004 - a brace
                return at
        return -1

    def _mend(self, at: int) -> int:
        """Past a broken event: where to go on, or -1 at the end of all events."""
        reader = self.reader
        at = self.window.hold(at, LOOK_AHEAD)
        if at_header(self.window.text, at):
            return at
        base = self.window.base
        behind, values = past_values(self.window.text, at, min(at + LOOK_AHEAD, len(self.window)))
        if values:
            self._note("garbage", base + at, values)
            for _ in range(values):
                # They are entries of the list: those behind them keep their numbers.
                reader.skip()
            return behind
        mended = mend(self.window.text, at, whole=self.window.is_whole)
        if mended.event:
            event = mended.event
            start = base + event.args_start if event.args_start >= 0 else -1
            if reader.add(event.clean, start, event.args_length if start >= 0 else 0):
                for note in mended.notes:
                    self._note(note.code, base + note.at)
                return mended.go_on
            self._note("broken-event", base + at)
            reader.skip()
            return mended.go_on
        is_event = self.window.text[at] == 0x7B  # noqa: PLR2004 - a brace
        code = "broken-event" if is_event else "garbage"
        start, go_on = base + at, mended.go_on
        # Counting lines takes a look at all that is before: done where it will be said, and before the text moves on.
        line = self.window.line(start) if go_on < 0 or code not in self._repairs else 0
        if go_on < 0 and not is_event:
            go_on = list_end(self.window.text, at, whole=self.window.is_whole)
        if go_on < 0:
            go_on = self._search(at)
        if go_on < 0:
            self._note("cut-off", start, line=line)
            return -1
        self._note(code, start, line=line)
        # Text that is read again and again: each of these events seems to hold all that follow.
        self._again += max(0, base + mended.looked - self.window.base - go_on)
        if self._again > _MOST_AGAIN:
            self._note("given-up", self.window.base + go_on)
            return -1
        if is_event:
            reader.skip()
        else:
            reader.restart()
        return go_on

    def _search(self, at: int) -> int:
        """The next event anywhere after a place that nothing near follows, or -1."""
        while True:
            found = next_event(self.window.text, at + 1)
            if found >= 0:
                return found
            at = max(at, len(self.window) - 4096)
            moved = self.window.more(at)
            if moved is None:
                return -1
            at = moved
