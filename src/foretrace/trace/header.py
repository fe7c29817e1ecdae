"""The value of one top-level key: quickly where it is JSON, by its tokens where it is damaged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NoReturn

from foretrace.trace.grammar import Broken, Note, Tokens

if TYPE_CHECKING:
    from mmap import mmap

    from foretrace.trace.window import Window

__all__ = ["MAX_HEADER", "Value", "header_value"]

# A top-level value longer than this is no header of a trace; a damaged one is not looked at any longer than that.
MAX_HEADER: Final = 16 << 20
_MAX_DAMAGED: Final = 256 << 10
_FIRST_LOOK: Final = 16 << 10


class Value(NamedTuple):
    """What stands behind a key."""

    end: int
    value: Any
    notes: list[Note]


def _no_constant(name: str) -> NoReturn:
    """NaN and infinities are damage here."""
    raise ValueError(name)


_ends = json.JSONDecoder(strict=False).raw_decode


def _whole_value(text: bytes | mmap, at: int, size: int, *, is_whole: bool) -> Value | None:
    """The value at ``at``, if the next ``size`` bytes hold it whole and undamaged."""
    stretch = bytes(text[at : at + size])
    try:
        # As Latin-1 each byte is one character, so that the end is found as a byte.
        _, length = _ends(stretch.decode("latin-1"))
        if length == len(stretch) and not (is_whole and at + size >= len(text)):
            return None  # a number may go on
        return _paired(Value(at + length, json.loads(stretch[:length].decode(), parse_constant=_no_constant), []), at)
    except (ValueError, RecursionError):
        return None


def header_value(window: Window, at: int) -> tuple[int, Value]:
    """The value at ``at``; where that now stands, and the value, whose end counts from there.

    Raises:
        Broken: it is no JSON.
        Cut: it does not end within what is looked at.
    """
    size = _FIRST_LOOK
    while True:
        at = window.hold(at, size)
        found = _whole_value(window.text, at, size, is_whole=window.is_whole)
        if found:
            return at, found
        if size >= MAX_HEADER or (window.is_whole and at + size >= len(window)):
            break
        size *= 8
    tokens = Tokens(window.text, end=min(len(window), at + _MAX_DAMAGED), lax=True)
    tokens.nest.append(True)
    tokens.begin(at)
    end = tokens.value(at)
    try:
        value = json.loads(tokens.clean(end))
    except (ValueError, RecursionError) as error:
        raise Broken(at) from error
    return at, _paired(Value(end, value, tokens.notes), at)


def _paired(found: Value, at: int) -> Value:
    """The value with U+FFFD for halves of surrogate pairs, which no output could hold."""
    text = json.dumps(found.value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        mended = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return Value(found.end, json.loads(mended), [*found.notes, Note("bad-utf8", at)])
    return found
