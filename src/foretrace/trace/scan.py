"""The reader of events in C: columns from the extension's memory, large files by several threads at once.

A large mapped file is cut between two events into as many parts as there are processors, and the parts are scanned
side by side (the interpreter's lock is free meanwhile). A cut is a guess until the part before it has ended exactly
there; where it has not, the parts behind are thrown away and the text is read on from where the part before stopped.
So the columns are the same as when one thread reads all, whatever the text.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from foretrace.trace._scan import Scanner, count_lines
from foretrace.trace.beside import Beside
from foretrace.trace.kineto import CATEGORIES, DEVICE_CATEGORIES, LEGACY_CPU_PROCESS, Category
from foretrace.trace.raw import ActivityColumns, FlowColumns, MemoryColumns, OpColumns, RowColumns

if TYPE_CHECKING:
    from collections.abc import Callable
    from mmap import mmap

__all__ = ["ScanReader", "count_lines"]

_TABLES: Final = (RowColumns, ActivityColumns, OpColumns, FlowColumns, MemoryColumns)
_TYPES: Final = {"I64": "int64", "I32": "int32", "U8": "uint8", "F64": "float64"}

# A part below this is read before another thread is worth its while.
_PART: Final = 24 << 20
_MOST_PARTS: Final = 8
# Between two events as PyTorch lays them out; what lies behind the comma is where a part begins.
_BETWEEN: Final = re.compile(rb'\}\s*,\s*(?=\{\s*"ph")')
_NEAR: Final = 1 << 20
_MORE: Final = 1


@dataclass
class _Part:
    """A stretch of the text that another thread reads."""

    start: int
    scanner: Scanner
    outcome: Beside[tuple[int, int]]


class ScanReader:
    """Reads whole events into columns; the lock of the interpreter is free meanwhile.

    Args:
        threads: how many may read at once; as many as there are processors unless said otherwise.
    """

    def __init__(self, threads: int | None = None) -> None:
        self._seed = int.from_bytes(os.urandom(8), "little")
        self._threads = min(threads or _processors(), _MOST_PARTS)
        self._scanner = self._made()
        self._ahead: list[_Part] | None = None
        self._begun: list[_Part] = []

    def _made(self) -> Scanner:
        return Scanner(
            {text: int(category) for text, category in CATEGORIES.items()},
            int(Category.CPU_OP),
            bytes(DEVICE_CATEGORIES),
            LEGACY_CPU_PROCESS,
            self._seed,
        )

    # ---- what a document asks ----

    def scan(self, text: bytes | mmap, at: int, end: int, base: int) -> tuple[int, int]:
        """Read events from ``text[at:end]``; why it stopped and where."""
        if self._ahead is None:
            self._ahead = self._begin(text, at, base)
        if self._ahead and at > self._ahead[0].start:
            # What was mended reaches over the cut.
            self._discard()
        if not self._ahead or end < self._ahead[0].start:
            return self._scanner.scan(text, at, end, base)
        why, stop = self._scanner.scan(text, at, self._ahead[0].start, base)
        while self._ahead and why == _MORE and _is_blank(text, stop, self._ahead[0].start):
            part = self._ahead.pop(0)
            why, stop = part.outcome.result()
            self._scanner.absorb(part.scanner)
        # What is left begins inside an event, or behind damage: the cut was none.
        self._discard()
        return self._scanner.scan(text, stop, end, base) if why == _MORE and stop < end else (why, stop)

    def add(self, text: bytes, args_start: int, args_length: int) -> bool:
        """Read one mended event; whether it was one."""
        return self._scanner.add(text, args_start, args_length)

    def skip(self) -> None:
        """Leave an event out: it keeps its number."""
        self._scanner.skip()

    def restart(self) -> None:
        """Go on between two events without asking for a comma."""
        self._scanner.restart()

    def notes(self) -> list[tuple[int, int]]:
        """(count, first byte) of each kind of damage read past."""
        found: list[tuple[int, int]] = self._scanner.notes()
        return found

    def columns(self) -> dict[str, Any]:
        """What was read, as the fields of a ``RawTrace``; the reader then holds nothing more."""
        self._discard()
        return _columns(self._scanner)

    # ---- reading ahead ----

    def _begin(self, text: bytes | mmap, at: int, base: int) -> list[_Part]:
        """Start the threads that read ahead, where the text is large enough."""
        number = min(self._threads, (len(text) - at) // _PART)
        if number < 2 or base:  # noqa: PLR2004 - one part is all of it
            return []
        cuts: list[int] = []
        for part in range(1, number):
            found = _cut(text, at + (len(text) - at) * part // number)
            if found is not None and (not cuts or found > cuts[-1]):
                cuts.append(found)
        if not cuts:
            return []
        for start, stop in zip(cuts, [*cuts[1:], len(text)], strict=True):
            scanner = self._made()
            scanner.restart()
            self._begun.append(_Part(start, scanner, Beside(partial(scanner.scan, text, start, stop, base))))
        return list(self._begun)

    def _discard(self) -> None:
        """Read on in one thread."""
        self._ahead = []
        for part in self._begun:
            part.outcome.wait()
        self._begun = []


def _processors() -> int:
    affinity: Callable[[int], set[int]] | None = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _cut(text: bytes | mmap, near: int) -> int | None:
    """Where an event seems to begin, soon after a place; None where none does."""
    found = _BETWEEN.search(text, near, min(near + _NEAR, len(text)))
    return found.end() if found else None


def _is_blank(text: bytes | mmap, start: int, end: int) -> bool:
    """Whether nothing but white space and a comma lies between."""
    return end - start <= _NEAR and not text[start:end].strip(b" \t\r\n,")


def _columns(scanner: Scanner) -> dict[str, Any]:
    import numpy as np  # noqa: PLC0415 - loads while the threads scan

    tables = []
    for number, kind in enumerate(_TABLES):
        names = kind.__annotations__
        columns = {
            name: np.frombuffer(column, dtype=_TYPES[names[name]])
            for name, column in zip(names, scanner.columns(number), strict=True)
        }
        tables.append(kind(**columns))
    events, fractions, text_times = scanner.facts()
    return {
        **dict(zip(("rows", "activities", "ops", "flows", "memory"), tables, strict=True)),
        "strings": scanner.strings(),
        "threads": scanner.threads(),
        "labels": scanner.labels(),
        "phases": scanner.phases(),
        "events": events,
        "fractions": fractions,
        "text_times": text_times,
    }
