"""Where events and their args lie in a text, found without reading it.

What is found is right for events that are clean JSON, which whoever asks has checked or will check.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from mmap import mmap

    from foretrace.trace.raw import I64

__all__ = ["args_places", "boundary"]

# Braces that are looked at for the end of an event.
_MOST_LOOKS: Final = 200

_NEXT_EVENT: Final = re.compile(
    rb'\{[ \t\n\r]*+"(?:ph|cat|name|pid|tid|ts|dur|args|id2?|bp|sf?|tts|tdur|cname|scope|v)"'
)
_ARGS: Final = re.compile(rb'"args"[ \t\n\r]*+:[ \t\n\r]*+')
_ARGS_WORD: Final = int.from_bytes(b"args", "little")
_SPACES: Final = b" \t\n\r"
_SPACE, _QUOTE, _COMMA, _COLON, _OPEN, _CLOSE = b' ",:{}'


def boundary(text: bytes | mmap, start: int, before: int) -> int:
    """The last place before ``before`` where an event seems to end and another to follow, or ``start``."""
    at = before
    for _ in range(_MOST_LOOKS):
        at = text.rfind(b"{", start, at)
        if at <= start:
            return start
        comma = at - 1
        while comma > start and text[comma] in _SPACES:
            comma -= 1
        if text[comma] != _COMMA or not _NEXT_EVENT.match(text, at, before):
            continue
        brace = comma - 1
        while brace > start and text[brace] in _SPACES:
            brace -= 1
        if text[brace] == _CLOSE:
            return brace + 1
    return start


def args_places(text: bytes) -> I64:
    """Where the values of all keys ``"args"`` begin, in the text of a list of one event or more."""
    byte = np.frombuffer(text, np.uint8)
    # The word is found by comparing four bytes at a time, which is quicker than a search byte by byte.
    words = [np.frombuffer(text, "<u4", (len(text) - shift) // 4, shift) == _ARGS_WORD for shift in range(4)]
    found = np.sort(np.concatenate([np.flatnonzero(is_word) * 4 + shift for shift, is_word in enumerate(words)]))
    # So many bytes are behind each of these keys in a list of events.
    found = found[(found > 0) & (found <= len(text) - len('args":1}]'))]
    found = found[(byte[found - 1] == _QUOTE) & (byte[found + 4] == _QUOTE)]
    places: I64 = found + len('args":') + (byte[found + len('args":')] == _SPACE)
    if ((byte[places] == _OPEN) & (byte[found + len('args"')] == _COLON)).all():
        return places
    return np.array([match.end() for match in _ARGS.finditer(text)], np.int64)
