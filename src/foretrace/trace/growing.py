"""Columns that grow row by row, a piece of a file at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["GrowingTable"]


class GrowingTable:
    """A table while it grows: rows of a piece as tuples, earlier pieces as arrays."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        self.rows: list[tuple[Any, ...]] = []
        self.count = 0
        types = {"I64": np.int64, "I32": np.int32, "U8": np.uint8, "F64": np.float64}
        self.types = [types[kind.__annotations__[name]] for name in kind.__annotations__]
        self.done: list[list[Any]] = [[] for _ in self.types]

    def settle(self, given: dict[int, Any] | None = None) -> None:
        """Turn the rows of a piece into arrays; ``given`` columns come as such and are not in the rows."""
        if not self.rows:
            return
        given = given or {}
        values = iter(zip(*self.rows, strict=True))
        for at, kind in enumerate(self.types):
            self.done[at].append(given[at] if at in given else np.array(next(values), kind))
        self.count += len(self.rows)
        self.rows = []

    def columns(self) -> Any:
        """All rows, as the column class."""
        arrays = []
        for at, kind in enumerate(self.types):
            parts, self.done[at] = self.done[at], []
            arrays.append(np.concatenate(parts) if parts else np.empty(0, kind))
        return self.kind(*arrays)
