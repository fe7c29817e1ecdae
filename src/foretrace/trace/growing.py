"""Columns that grow a piece of a file at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["GrowingTable"]


class GrowingTable:
    """A table while it grows: an array for each column of each piece."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.count = 0
        types = {"I64": np.int64, "I32": np.int32, "U8": np.uint8, "F64": np.float64}
        self.types = [types[kind.__annotations__[name]] for name in kind.__annotations__]
        self.done: list[list[Any]] = [[] for _ in self.types]

    def add(self, *columns: Any) -> None:
        """Add the rows of a piece, given as columns."""
        for parts, column, kind in zip(self.done, columns, self.types, strict=True):
            parts.append(np.asarray(column, kind))
        self.count += len(columns[0])

    def columns(self) -> Any:
        """All rows, as the column class."""
        arrays = []
        for at, kind in enumerate(self.types):
            parts, self.done[at] = self.done[at], []
            arrays.append(np.concatenate(parts) if parts else np.empty(0, kind))
        return self.kind(*arrays)
