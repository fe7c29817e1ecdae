"""JSON as traces really write it, token by token: the grammar both readers accept, in the slower of its two forms.

The scanner holds the same grammar in C. What is no JSON but leaves the structure in no doubt is read past and noted:
lone backslashes, raw control characters, bytes that are no UTF-8, numbers that are not finite. ``Tokens`` reads it
without recursion and can write what it read as clean JSON, for a reader that knows nothing else. With ``lax`` it
also takes extra commas and numbers that JSON spells otherwise.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from mmap import mmap

__all__ = [
    "LONGEST_INTEGER",
    "MAX_EVENT",
    "RAW_DEPTH",
    "RAW_KEYS",
    "SPACE",
    "Broken",
    "Cut",
    "Found",
    "Note",
    "Tokens",
    "decoded",
]

# Args that are kept as they are written.
RAW_KEYS: Final = frozenset({"Input Dims", "Input dims", "Input type", "Input Strides", "Concrete Inputs"})

# Keys of an event whose numbers are kept as they are written.
_TEXT_NUMBERS: Final = frozenset({"ts", "dur"})

# A value that nests deeper than this is not looked into, and stands as null.
RAW_DEPTH: Final = 64

# Longer than any event can reasonably be; one that is longer counts as broken.
MAX_EVENT: Final = 1 << 20

SPACE: Final = re.compile(rb"[ \t\n\r]*+")
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})?+)*+"')
_PLAIN: Final = re.compile(rb'"[ !#-\[\]-\x7f]*+"')
_NUMBER: Final = re.compile(rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+")
_NUMBER_CUT: Final = re.compile(rb"-?(?:0|[1-9][0-9]*+)?(?:\.[0-9]*+)?(?:[eE][-+]?[0-9]*+)?")
_LAX_NUMBER: Final = re.compile(rb"([-+]?)0*+([0-9]*+)(?:\.([0-9]*+))?+(?:[eE]([-+]?[0-9]++))?+")
_NOT_FINITE: Final = re.compile(rb"[-+]?(?:nan\(ind\)|nan|infinity|inf)", re.IGNORECASE)
_ESCAPE: Final = re.compile(rb'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_LITERAL: Final = re.compile(rb'\\(["\\])')
_CONTROL: Final = re.compile(rb"[\x00-\x1f]")
_SHORT: Final = {b"b": "\b", b"f": "\f", b"n": "\n", b"r": "\r", b"t": "\t"}

_WORDS: Final = (b"true", b"false", b"null")
_LONGEST_WORD: Final = len(b"-infinity")
_DOUBLE_DIGITS: Final = 300

# Whole numbers of more digits are taken for nothing.
LONGEST_INTEGER: Final = 4000

_QUOTE, _COMMA, _COLON, _BRACKET_END, _BRACE, _BRACE_END = b'",:]{}'


class Cut(Exception):  # noqa: N818 - an outcome, not an error
    """The text ends before the token does."""


class Broken(Exception):  # noqa: N818 - an outcome, not an error
    """What stands at ``at`` is no JSON."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class Note(NamedTuple):
    """Damage that was read past."""

    code: str
    at: int


class Found(NamedTuple):
    """A whole event: where it ends, itself as clean JSON, and where its ``args`` object lies (or -1)."""

    end: int
    clean: bytes
    args_start: int
    args_length: int
    keys: list[str]


def _is_surrogate(unit: int) -> bool:
    return 0xD800 <= unit <= 0xDFFF  # noqa: PLR2004 - the surrogates


def _unescaped(body: bytes) -> tuple[str, int, int]:
    """A string's content with its escapes read; where the first lone backslash and half of a pair stand, or -1."""
    parts: list[str] = []
    lone = half = -1
    at = 0
    while True:
        slash = body.find(b"\\", at)
        parts.append(body[at : slash if slash >= 0 else len(body)].decode("utf-8", "replace"))
        if slash < 0:
            return "".join(parts), lone, half
        found = _ESCAPE.match(body, slash)
        if not found:
            lone = slash if lone < 0 else lone
            parts.append("\\")
            at = slash + 1
            continue
        at = found.end()
        unit, short = found.groups()
        if unit is None:
            parts.append(_SHORT.get(short) or short.decode("ascii"))
            continue
        code = int(unit, 16)
        low = _ESCAPE.match(body, at)
        if 0xD800 <= code < 0xDC00 and low and low[1] and 0xDC00 <= int(low[1], 16) < 0xE000:  # noqa: PLR2004
            parts.append(chr(0x10000 + ((code - 0xD800) << 10) + int(low[1], 16) - 0xDC00))
            at = low.end()
        elif _is_surrogate(code):
            half = slash if half < 0 else half
            parts.append("\ufffd")
        else:
            parts.append(chr(code))


def decoded(body: bytes) -> tuple[str, list[Note]]:
    """The text of a string's content, and what is wrong with it: each kind once, where it was first met.

    A lone backslash shows a writer that does not escape: then only quotes and backslashes are escaped in that string.
    """
    notes: list[Note] = []
    bad = -1
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        text = body.decode("utf-8", "replace")
        bad = error.start
    if b"\\" in body:
        text, lone, half = _unescaped(body)
        if lone >= 0:
            notes.append(Note("backslash", lone))
            text = _LITERAL.sub(rb"\1", body).decode("utf-8", "replace")
        if half >= 0:
            bad = half if bad < 0 else min(bad, half)
    control = _CONTROL.search(body)
    if control:
        notes.append(Note("control-character", control.start()))
    if bad >= 0:
        notes.append(Note("bad-utf8", bad))
    return text, notes


def _is_boundless(number: bytes) -> bool:
    """Whether a number is one that neither a double nor an integer of reasonable length holds."""
    if b"e" in number or b"E" in number or (len(number) > _DOUBLE_DIGITS and b"." in number):
        return float(number) in (float("inf"), float("-inf"))
    return len(number) > LONGEST_INTEGER


# Without a category, or with none of the first name of an id, an event is read otherwise.
_THERE: Final = frozenset({"cat", "External id"})


class Tokens:
    """Reads values of one text, notes damage, and writes what it read as clean JSON."""

    def __init__(self, text: bytes | mmap, *, end: int | None = None, lax: bool = False) -> None:
        self.text = text
        self.end = len(text) if end is None else end
        self.lax = lax
        self.notes: list[Note] = []
        self.nest: list[bool] = []
        """What is open around the place read: objects true, lists false."""
        self._parts: list[bytes] = []
        self._copied = 0
        self._behind = 0

    # ---- what was read, as clean JSON ----

    def begin(self, at: int) -> None:
        """Clean text starts at ``at``."""
        self._parts = []
        self._copied = at

    def replace(self, start: int, end: int, clean: bytes) -> None:
        """Text from ``start`` to ``end`` reads ``clean``."""
        self._parts.append(bytes(self.text[self._copied : start]))
        self._parts.append(clean)
        self._copied = end

    def clean(self, end: int) -> bytes:
        """All that was read since ``begin``, up to ``end``."""
        self._parts.append(bytes(self.text[self._copied : end]))
        self._copied = end
        return b"".join(self._parts)

    # ---- tokens ----

    def space(self, at: int) -> int:
        """The next byte that is no white space."""
        found = SPACE.match(self.text, at, self.end)
        at = found.end() if found else at
        if at >= self.end:
            raise Cut
        return at

    def string(self, at: int, *, key: bool) -> tuple[int, str]:  # noqa: ARG002 - for Guesses
        """From an opening quote to behind the closing one, and the text between."""
        plain = _PLAIN.match(self.text, at, self.end)
        if plain:
            return plain.end(), plain.group()[1:-1].decode("ascii")
        found = _STRING.match(self.text, at, self.end)
        if not found:
            raise Cut
        return found.end(), self.content(at, found.end(), found.group()[1:-1])

    def content(self, start: int, end: int, body: bytes, *, always: bool = False) -> str:
        """The text of a string token; damage is noted and mended in the clean text."""
        text, damage = decoded(body)
        if damage or always:
            self.notes += [Note(note.code, start + 1 + note.at) for note in damage]
            self.replace(start, end, json.dumps(text, ensure_ascii=False).encode())
        return text

    def scalar(self, at: int, *, bounded: bool) -> int:
        """From a value that is no list or object to behind it; ``bounded`` numbers that no double holds are null."""
        if self.text[at] == _QUOTE:
            return self.string(at, key=False)[0]
        found = _NUMBER.match(self.text, at, self.end)
        if not found:
            return self.word(at, bounded=bounded)
        end = found.end()
        if end >= self.end:
            raise Cut
        if self.text[end] in b"0123456789.eE":
            return self.word(at, bounded=bounded)
        if bounded and _is_boundless(found.group()):
            self.replace(at, end, b"null")
        return end

    def word(self, at: int, *, bounded: bool) -> int:
        """true, false, null, or what C and Python print for numbers that are not finite; if lax, odd numbers."""
        left = self.end - at
        for word in _WORDS:
            if bytes(self.text[at : at + len(word)]) == word[:left]:
                if left < len(word):
                    raise Cut
                return at + len(word)
        if left < _LONGEST_WORD:
            rest = bytes(self.text[at : self.end]).lower()
            cut = _NUMBER_CUT.match(rest)
            if (cut and cut.end() == left) or any(w.startswith(rest.lstrip(b"-+")) for w in (b"nan(ind)", b"infinity")):
                raise Cut
        found = _NOT_FINITE.match(self.text, at, self.end)
        if found:
            self.notes.append(Note("not-finite", at))
            self.replace(at, found.end(), b"null")
            return found.end()
        if self.lax:
            return self.odd_number(at, bounded=bounded)
        raise Broken(at)

    def odd_number(self, at: int, *, bounded: bool) -> int:
        """A number that JSON spells otherwise: ``+1``, ``01``, ``.5``, ``5.``."""
        found = _LAX_NUMBER.match(self.text, at, self.end)
        if not found or not any(digit in found.group() for digit in b"0123456789"):
            raise Broken(at)
        sign, whole, fraction, exponent = found.groups()
        clean = (b"-" if sign == b"-" else b"") + (whole or b"0")
        clean += b"." + fraction if fraction else b""
        clean += b"e" + exponent if exponent else b""
        self.notes.append(Note("number", at))
        self.replace(at, found.end(), b"null" if bounded and _is_boundless(clean) else clean)
        return found.end()

    # ---- members ----

    def opened(self, at: int, *, is_object: bool) -> int:
        """From a bracket or brace to the first member, or to what closes it."""
        self.nest.append(is_object)
        at = self.space(at + 1)
        while self.lax and self.text[at] == _COMMA:
            self.notes.append(Note("extra-comma", at))
            self.replace(at, at + 1, b" ")
            at = self.space(at + 1)
        return at

    def closes(self, at: int) -> bool:
        """Whether the innermost list or object ends at ``at``."""
        return self.text[at] == (_BRACE_END if self.nest[-1] else _BRACKET_END)

    def separator(self, at: int, behind: int) -> int:  # noqa: ARG002 - for Guesses
        """From the comma behind a member to the next member, or to what closes it."""
        if self.text[at] != _COMMA:
            raise Broken(at)
        comma = at
        at = self.space(at + 1)
        while self.text[at] == _COMMA or self.closes(at):
            if not self.lax:
                raise Broken(at)
            self.notes.append(Note("extra-comma", comma))
            self.replace(comma, comma + 1, b" ")
            if self.closes(at):
                return at
            comma = at
            at = self.space(at + 1)
        return at

    def key(self, at: int) -> tuple[int, str]:
        """From a key to its value, and its text."""
        if self.text[at] != _QUOTE:
            raise Broken(at)
        behind, name = self.string(at, key=True)
        colon = self.space(behind)
        if self.text[colon] != _COLON:
            raise Broken(colon)
        return self.space(colon + 1), name

    def value(self, at: int, *, bounded: bool = True) -> int:
        """From a value to behind it, without recursion."""
        if self.text[at] not in b"{[":
            return self.scalar(at, bounded=bounded)
        start, parts, copied, level = at, len(self._parts), self._copied, len(self.nest)
        deepest = 0
        while True:
            # A value begins here.
            first = self.text[at]
            if first in b"{[":
                at = self.opened(at, is_object=first == _BRACE)
                deepest = max(deepest, len(self.nest) - level)
                if not self.closes(at):
                    at = self.key(at)[0] if self.nest[-1] else at
                    continue
            else:
                at = self.scalar(at, bounded=bounded)
            # Behind a value, or where the list just opened closes.
            while len(self.nest) > level:
                behind = at
                at = self.space(at)
                if not self.closes(at):
                    at = self.separator(at, behind)
                    if not self.closes(at):
                        at = self.key(at)[0] if self.nest[-1] else at
                        break
                self.nest.pop()
                at += 1
            if len(self.nest) == level:
                break
        if deepest > RAW_DEPTH:
            del self._parts[parts:]
            self._copied = copied
            self.replace(start, at, b"null")
        return at

    def members(self, at: int, kept: frozenset[str], inner: str = "") -> Iterator[tuple[str, int, int]]:
        """(key, start and end of the value) of an object; ``self._behind`` is behind its brace.

        Numbers of the ``kept`` keys stay as they are written; an object under ``inner`` is read by its own members.
        Where it matters whether a value is there, one that cannot be kept reads false rather than null.
        """
        at = self.opened(at, is_object=True)
        while not self.closes(at):
            at, name = self.key(at)
            start = at
            if name == inner and inner and self.text[at] == _BRACE:
                for _ in self.members(at, RAW_KEYS):
                    pass
                at = self._behind
            else:
                at = self.value(at, bounded=name not in kept)
                if name in _THERE and self._copied == at and self._parts[-1] == b"null":
                    self._parts[-1] = b"false"
            yield name, start, at
            behind = at
            at = self.space(at)
            if not self.closes(at):
                at = self.separator(at, behind)
        self.nest.pop()
        self._behind = at + 1

    def event(self, at: int) -> Found:
        """A whole event: the object whose brace is at ``at``."""
        start = at
        args_start, args_end = -1, -1
        keys: list[str] = []
        self.begin(at)
        for name, value, end in self.members(at, _TEXT_NUMBERS, "args"):
            keys.append(name)
            if name == "args":
                args_start, args_end = (value, end) if self.text[value] == _BRACE else (-1, -1)
        end = self._behind
        if end - start > MAX_EVENT:
            raise Broken(start)
        return Found(end, self.clean(end), args_start, args_end - args_start, keys)
