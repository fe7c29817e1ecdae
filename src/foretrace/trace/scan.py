"""The reader of events in C: columns from the extension's memory."""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np

from foretrace.trace._scan import Scanner, count_lines
from foretrace.trace.kineto import CATEGORIES, DEVICE_CATEGORIES, LEGACY_CPU_PROCESS, Category
from foretrace.trace.raw import ActivityColumns, FlowColumns, MemoryColumns, OpColumns, RowColumns

__all__ = ["ScanReader", "count_lines"]

_TABLES: Final = (RowColumns, ActivityColumns, OpColumns, FlowColumns, MemoryColumns)
_TYPES: Final = {"I64": np.int64, "I32": np.int32, "U8": np.uint8, "F64": np.float64}


class ScanReader:
    """Reads whole events into columns; the lock of the interpreter is free meanwhile."""

    def __init__(self) -> None:
        self._scanner = Scanner(
            {text: int(category) for text, category in CATEGORIES.items()},
            int(Category.CPU_OP),
            bytes(DEVICE_CATEGORIES),
            LEGACY_CPU_PROCESS,
            int.from_bytes(os.urandom(8), "little"),
        )
        self.scan = self._scanner.scan
        self.add = self._scanner.add
        self.skip = self._scanner.skip
        self.restart = self._scanner.restart
        self.notes = self._scanner.notes

    def columns(self) -> dict[str, Any]:
        """What was read, as the fields of a ``RawTrace``; the reader then holds nothing more."""
        scanner = self._scanner
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
