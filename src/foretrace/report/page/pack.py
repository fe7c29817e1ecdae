"""Columns and content as one compressed text that a page can hold, and that its script unpacks.

A payload is the length of the JSON content (4 bytes, little-endian), the content, and the columns' bytes; gzip over
all of it, then base64. Each column of integers is written as zigzagged values (or differences from the value
before), split into planes: first the lowest byte of every value, then the next, as many planes as the largest needs.
Planes of equal bytes compress to next to nothing, and unpacking is a loop of additions.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Packer"]

# Numbers of a page's script are exact up to here.
_EXACT: Final = 1 << 52


class Packer:
    """Collects columns, then packs them with their content."""

    def __init__(self) -> None:
        self._columns: dict[str, list[int]] = {}
        self._planes: list[bytes] = []
        self._size = 0

    def add(self, name: str, values: npt.ArrayLike, *, delta: bool = False) -> None:
        """Add a column of integers below 2**52; ``delta`` for one whose neighbors are alike (times, positions)."""
        column = np.asarray(values, np.int64)
        if delta and column.size:
            column = np.diff(column, prepend=np.int64(0))
        zigzag = ((column << 1) ^ (column >> 63)).astype(np.uint64)
        largest = int(zigzag.max()) if zigzag.size else 0
        if largest >= 2 * _EXACT:
            raise ValueError(f"column {name} holds a value that a page cannot hold exactly")
        planes = (largest.bit_length() + 7) // 8
        data = zigzag.astype("<u8").view(np.uint8).reshape(-1, 8).T[:planes]
        self._columns[name] = [self._size, len(column), planes, int(delta)]
        self._planes.append(np.ascontiguousarray(data).tobytes())
        self._size += planes * len(column)

    def pack(self, content: dict[str, Any]) -> str:
        """The payload, as base64 text: ``content`` and under its key ``columns`` where each column lies."""
        text = json.dumps({**content, "columns": self._columns}, separators=(",", ":"), allow_nan=False).encode()
        data = len(text).to_bytes(4, "little") + text + b"".join(self._planes)
        # No time and no file name in the gzip header: the same trace gives the same page.
        return b64encode(gzip.compress(data, compresslevel=9, mtime=0)).decode("ascii")
