"""Texts and threads of the events of a trace, numbered as they come.

Most pieces of a file hold none that is new: then each column is one pass of lookups.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.trace.entries import is_deep
from foretrace.trace.raw import MISSING32
from foretrace.trace.values import id_text

if TYPE_CHECKING:
    import msgspec

    from foretrace.trace.entries import Event
    from foretrace.trace.raw import I32, I64

__all__ = ["Strings", "Threads"]

_NULL: Final = b"null"
_INT64: Final = 2**63 - 1


class Strings:
    """Names, and lists that are kept as they are written."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        """The number of each text."""
        self._lists: dict[bytes, int] = {b"": MISSING32}

    def columns(self, names: list[str], ops: I64, lists: list[list[msgspec.Raw]]) -> tuple[I32, list[I32]]:
        """The numbers of names of rows, and those of each kind of list that some of the rows (``ops``) have."""
        texts = [list(map(bytes, raw)) if any(raw) else [] for raw in lists]
        try:
            return self._known(names, ops, texts)
        except KeyError:
            self._take_in(names, ops, texts)
            return self._known(names, ops, texts)

    def _known(self, names: list[str], ops: I64, lists: list[list[bytes]]) -> tuple[I32, list[I32]]:
        numbers, known = self.numbers, self._lists
        return np.array([numbers[name] for name in names], np.int32), [
            np.array([known[text] for text in texts] if texts else np.full(len(ops), MISSING32), np.int32)
            for texts in lists
        ]

    def _take_in(self, names: list[str], ops: I64, lists: list[list[bytes]]) -> None:
        """Number what is new in the order of events: the lists of an event, then its name."""
        numbers, known = self.numbers, self._lists
        new: list[tuple[int, int, Any]] = [
            (row, len(lists), name) for row, name in enumerate(names) if name not in numbers
        ]
        for place, texts in enumerate(lists):
            # There are no texts where no op has the list.
            new += [(row, place, text) for row, text in zip(ops.tolist(), texts, strict=False) if text not in known]
        for _, place, text in sorted(new):
            if place == len(lists):
                numbers.setdefault(text, len(numbers))
            elif text not in known:
                written = (_NULL if is_deep(text) else text).decode()
                known[text] = numbers.setdefault(written, len(numbers))


class Threads:
    """Pairs of a process and a thread."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[str, str], int] = {}
        """The number of each pair, as text."""
        self._known: dict[tuple[Any, Any], int] = {}

    def column(self, events: list[Event]) -> I32:
        """The number of each event's thread."""
        known = self._known
        try:
            return np.array([known[event.pid, event.tid] for event in events], np.int32)
        except (KeyError, TypeError):
            return np.array([self._number(event) for event in events], np.int32)

    def _number(self, event: Event) -> int:
        number = self.numbers.setdefault((id_text(event.pid), id_text(event.tid)), len(self.numbers))
        # Keys that are equal have one text: 1, 1.0 and True are all "1". A list or an object is no key.
        if _is_one_text(event.pid) and _is_one_text(event.tid):
            with suppress(TypeError):
                self._known[event.pid, event.tid] = number
        return number


def _is_one_text(value: Any) -> bool:
    """Whether all that is equal to an id is spelled alike: a float that int64 does not hold has no text."""
    return not isinstance(value, int | float) or abs(value) <= _INT64
