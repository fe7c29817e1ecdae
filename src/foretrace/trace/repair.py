"""Mending a broken event: from where a reader stopped to where it can go on.

Both readers hand over the place of an event they cannot read, and both go on with what comes back: the event as
clean JSON where its text shows what was meant, or the place of the next event where it does not. Nothing here is
fast; it runs once for each broken event.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from foretrace.trace.grammar import Broken, Cut, Found, Note, Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap

__all__ = ["LOOK_AHEAD", "Mended", "at_header", "meaning", "mend", "next_event"]

# How far ahead of a broken event the next one is looked for at first, and how long an event can be to be mended.
LOOK_AHEAD: Final = 256 << 10
_TRIES: Final = 3

# Longer than any phase or category.
_LONGEST_WORD: Final = 64

# Codes of damage, and a sentence about each; {} is the number of places.
MEANINGS: Final[dict[str, str]] = {
    "backslash": "{} with a backslash that escapes nothing, as in an unescaped Windows path: read as written",
    "control-character": "{} with raw control characters: read as written",
    "bad-utf8": "{} with bytes that are no UTF-8: they stand as U+FFFD",
    "not-finite": "{} that is NaN or infinite: read as missing",
    "extra-comma": "{} with nothing after it: ignored",
    "missing-comma": "{} missing between two entries: read as if it stood there",
    "number": "{} spelled as JSON does not allow: read all the same",
    "quote": "{} with quotes that are not escaped: its end was found by what follows",
    "key-quote": "{} without its quotes: read as a key",
    "broken-event": "{} that cannot be read: left out",
    "garbage": "{} of text that is no event: left out",
    "bracket": "{} of the event list out of place: ignored",
    "given-up": "from here on the text is too damaged to be told apart: left out",
    "cut-off": "the file ends before its event list does: all whole events are kept",
    "cut-off-header": "the file ends within its top-level keys: all events are kept",
    "header": "{} that cannot be read: left out",
    "trailing-text": "there is text after the end of the trace: ignored",
}
_NOUNS: Final[dict[str, tuple[str, str]]] = {
    "backslash": ("string", "strings"),
    "control-character": ("string", "strings"),
    "bad-utf8": ("string", "strings"),
    "not-finite": ("number", "numbers"),
    "extra-comma": ("comma", "commas"),
    "missing-comma": ("comma", "commas"),
    "number": ("number", "numbers"),
    "quote": ("string", "strings"),
    "key-quote": ("key", "keys"),
    "broken-event": ("event", "events"),
    "garbage": ("stretch", "stretches"),
    "bracket": ("bracket", "brackets"),
    "header": ("top-level key", "top-level keys"),
}

_KEYS: Final = rb"(?:ph|cat|name|pid|tid|ts|dur|args|id|bp|s|cname|sf|tts|tdur)"
_NEXT_EVENT: Final = re.compile(rb'\{[ \t\n\r]*+"?' + _KEYS + rb'"[ \t\n\r]*+:')
_LIST_END: Final = re.compile(rb'\}[ \t\n\r]*+\](?=[ \t\n\r]*+(?:,[ \t\n\r]*+"[^"\\]*+"[ \t\n\r]*+:|\}))')
_EVENT_KEY: Final = re.compile(rb'[ \t\n\r]*+"?' + _KEYS + rb'"?[ \t\n\r]*+:')
_ANY_KEY: Final = re.compile(rb'[ \t\n\r]*+"[^"\\]*+"[ \t\n\r]*+:')
_NEXT_VALUE: Final = re.compile(rb'[ \t\n\r]*+["{\[\-0-9tfnNI]')
_LOST_END: Final = re.compile(rb',[ \t\n\r]*+"' + _KEYS + rb'"[ \t\n\r]*+:')
_BARE_KEY: Final = re.compile(rb'([A-Za-z_][^"\\:,{}\[\]\x00-\x1f]*?)"?[ \t\n\r]*+:')
_SPACES: Final = b" \t\n\r"
_LAST_BRACKET: Final = re.compile(rb"([^{}\[\]]*+)\][ \t\n\r]*+")
_ANOTHER_KEY: Final = re.compile(rb',[ \t\n\r]*+"[^"\\]*+"[ \t\n\r]*+:')
_NEAR_END: Final = 4096
# An event begins, or the list ends.
_ENDS_VALUES: Final = b"{]"
_LIST_CLOSES: Final = 0x5D

_QUOTE, _COMMA, _BACKSLASH, _BRACKET_END, _BRACE, _BRACE_END = b'",\\]{}'


def meaning(code: str, count: int) -> str:
    """One sentence about damage of a kind."""
    noun = _NOUNS.get(code, ("place", "places"))[count != 1]
    text = MEANINGS[code].format(f"{count:,} {noun}")
    return text[0].upper() + text[1:] + "."


class Guesses(Tokens):
    """Places quotes and commas that are missing, in a text known to be one event from its first byte to its last."""

    def __init__(self, text: bytes | mmap, *, end: int, any_quote: bool) -> None:
        super().__init__(text, end=end, lax=True)
        self.any_quote = any_quote

    def string(self, at: int, *, key: bool) -> tuple[int, str]:
        """A value ends at the first quote behind which its object or list can go on, or before the next key."""
        if key:
            return super().string(at, key=True)
        text = self.text
        lost = _LOST_END.search(text, at + 1, self.end) if len(self.nest) == 1 else None
        limit = lost.start() if lost else self.end
        quote = first = self.quote(at + 1, limit)
        while quote >= 0 and not self.goes_on(quote + 1):
            quote = self.quote(quote + 1, limit)
        if quote < 0 and not lost:
            raise Cut
        end, behind = (limit, limit) if quote < 0 else (quote, quote + 1)
        mended = quote < 0 or first != quote
        if mended:
            self.notes.append(Note("quote", first if first >= 0 else end))
        return behind, self.content(at, behind, bytes(text[at + 1 : end]), always=mended)

    def quote(self, at: int, end: int) -> int:
        """The next quote before ``end``, or -1; unless any will do, one that is not escaped."""
        while True:
            quote = self.text.find(b'"', at, end)
            if quote < 0:
                return -1
            slashes = quote - 1
            while slashes >= at and self.text[slashes] == _BACKSLASH:
                slashes -= 1
            if self.any_quote or (quote - slashes) % 2:
                return quote
            at = quote + 1

    def goes_on(self, at: int) -> bool:
        """Whether what stands behind a quote fits if the value ended there."""
        text, nest = self.text, self.nest.copy()
        while True:
            behind = at
            while at < self.end and text[at] in _SPACES:
                at += 1
            if at >= self.end:
                return not nest
            if not nest:
                return False
            key = _EVENT_KEY if len(nest) == 1 else _ANY_KEY
            if text[at] == _COMMA:
                return bool((key if nest[-1] else _NEXT_VALUE).match(text, at + 1, self.end))
            if text[at] == _QUOTE and at > behind and nest[-1]:
                return bool(key.match(text, at, self.end))
            if text[at] != (_BRACE_END if nest[-1] else _BRACKET_END):
                return False
            nest.pop()
            at += 1

    def separator(self, at: int, behind: int) -> int:
        """A comma may be missing where white space stands before the next key."""
        if self.text[at] == _QUOTE and at > behind:
            self.notes.append(Note("missing-comma", at))
            self.replace(behind, behind, b",")
            return at
        return super().separator(at, behind)

    def key(self, at: int) -> tuple[int, str]:
        """A key may have lost its opening quote, or both."""
        if self.text[at] == _QUOTE:
            return super().key(at)
        found = _BARE_KEY.match(self.text, at, self.end)
        if not found:
            raise Broken(at)
        name = found.group(1).decode("utf-8", "replace")
        self.notes.append(Note("key-quote", at))
        self.replace(at, found.end(), json.dumps(name, ensure_ascii=False).encode() + b":")
        return self.space(found.end()), name


class Mended(NamedTuple):
    """What was made of a broken event."""

    event: Found | None
    """The event; none where it is left out."""
    go_on: int
    """Where reading goes on; -1 if the text that was looked at holds no such place."""
    looked: int
    """How far the text was read before the event turned out to be broken."""
    notes: list[Note]


def _regions(text: bytes | mmap, at: int, end: int, *, whole: bool) -> Iterator[tuple[int, int]]:
    """(end of the broken event, start of the next) as far as they can be guessed, nearest first."""
    tries = 0
    for found in _NEXT_EVENT.finditer(text, at + 1, end):
        start = stop = found.start()
        while stop > at and text[stop - 1] in _SPACES:
            stop -= 1
        if text[stop - 1] in b":[":
            continue
        yield (stop - 1 if text[stop - 1] == _COMMA else stop), start
        tries += 1
        if tries == _TRIES:
            return
    if whole and not tries:
        for found in _LIST_END.finditer(text, at, end):
            yield found.start() + 1, found.start() + 1


def _one_event(text: bytes | mmap, at: int, end: int) -> tuple[Found, list[Note]] | None:
    """The event that the text from ``at`` to ``end`` is meant to be, if it shows."""
    for any_quote in (False, True) if text.find(b'\\"', at, end) >= 0 else (False,):
        guesses = Guesses(text, end=end, any_quote=any_quote)
        try:
            found = guesses.event(at)
        except (Broken, Cut):
            continue
        left = bytes(text[found.end : end]).strip(_SPACES)
        if not left and _is_likely(found):
            return found, guesses.notes
    return None


def _is_likely(found: Found) -> bool:
    """Whether a guessed event looks like one: it has a phase, and has not taken in another event or key."""
    if "ph" not in found.keys or len(set(found.keys)) < len(found.keys):
        return False
    try:
        event = json.loads(found.clean)
    except ValueError:
        # A number of thousands of digits is none that anyone wrote.
        return False
    short = [event["ph"], event.get("cat", "")]
    return not any(isinstance(text, str) and (len(text) > _LONGEST_WORD or '"' in text) for text in short)


def next_event(text: bytes | mmap, at: int) -> int:
    """Where the next thing that looks like an event begins, or -1."""
    return next((start for _, start in _regions(text, at, len(text), whole=False)), -1)


def list_end(text: bytes | mmap, at: int, *, whole: bool) -> int:
    """The bracket that ends the event list behind a little text that is no JSON, or -1."""
    found = _LAST_BRACKET.match(text, at, min(at + _NEAR_END, len(text)))
    if not found or (found.end() == len(text) and not whole):
        return -1
    ends = found.end() == len(text) or text[found.end()] == _BRACE_END or _begins_key(text, found.end())
    return found.end(1) if ends else -1


def _begins_key(text: bytes | mmap, at: int) -> bool:
    """Whether a comma and a top-level key stand here, and none of an event's."""
    return bool(_ANOTHER_KEY.match(text, at)) and not _LOST_END.match(text, at)


def past_values(text: bytes | mmap, at: int, end: int) -> tuple[int, int]:
    """Past JSON values that are no events, as far as commas or the end of the list follow: (where, how many)."""
    tokens = Tokens(text, end=end)
    count = 0
    while at < end and text[at] not in _ENDS_VALUES:
        tokens.begin(at)
        try:
            stop = tokens.value(at)
        except (Broken, Cut):
            break
        stop = _spaces(text, stop, end)
        if stop >= end or text[stop] not in (_COMMA, _LIST_CLOSES):
            break
        at = _spaces(text, stop + 1, end) if text[stop] == _COMMA else stop
        count += 1
    return at, count


def _spaces(text: bytes | mmap, at: int, end: int) -> int:
    while at < end and text[at] in _SPACES:
        at += 1
    return at


def at_header(text: bytes | mmap, at: int) -> bool:
    """Whether a top-level key stands here: the list has lost its end."""
    return bool(_ANY_KEY.match(text, at)) and not _EVENT_KEY.match(text, at)


def mend(text: bytes | mmap, at: int, *, whole: bool) -> Mended:
    """Mend the event at ``at``, or find where the next one begins.

    Args:
        text: holds ``LOOK_AHEAD`` bytes from ``at`` on, or all there is.
        at: where reading stopped between two events.
        whole: nothing comes after the text.
    """
    end = min(at + LOOK_AHEAD, len(text))
    whole = whole and end == len(text)
    is_event = text[at] == _BRACE
    looked = at
    if is_event:
        lax = Tokens(text, end=end, lax=True)
        try:
            event = lax.event(at)
        except Broken as broken:
            looked = broken.at
        except Cut:
            looked = end
        else:
            return Mended(event, event.end, event.end, lax.notes)
    first = -1
    for stop, start in _regions(text, at, end, whole=whole):
        mended = _one_event(text, at, stop) if is_event else None
        if mended:
            event, notes = mended
            return Mended(event, event.end, looked, notes)
        first = start if first < 0 else first
    return Mended(None, first, looked, [Note("broken-event" if is_event else "garbage", at)])
