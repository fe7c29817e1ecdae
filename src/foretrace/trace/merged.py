"""One set of columns from several that were read side by side, as if one reader had read them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.trace.raw import MISSING32

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from foretrace.trace.raw import I32

__all__ = ["merged"]

_TABLES: Final = ("rows", "activities", "ops", "flows", "memory")
# Columns that point elsewhere, and so move when what they point into is joined.
_TO_STRINGS: Final = {("rows", "name"), ("ops", "dims"), ("ops", "types"), ("ops", "strides"), ("ops", "concrete")}
_TO_THREADS: Final = {("rows", "thread"), ("flows", "thread"), ("memory", "thread")}
_TO_ROWS: Final = {("activities", "row"), ("ops", "row")}
_TO_EVENTS: Final = {("rows", "index")}


def merged(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The fields of a ``RawTrace`` from those of its parts, in file order.

    Texts and threads keep the order of their first appearance, so that the result does not depend on the cuts.
    """
    if len(parts) == 1:
        return parts[0]
    strings, string_moves = _joined([part["strings"] for part in parts])
    threads, thread_moves = _joined([part["threads"] for part in parts])
    rows = np.cumsum([0, *(len(part["rows"].ts) for part in parts)])
    events = np.cumsum([0, *(part["events"] for part in parts)])
    result: dict[str, Any] = {
        "strings": strings,
        "threads": threads,
        "events": int(events[-1]),
        "labels": {key: text for part in parts for key, text in part["labels"].items()},
        "phases": {},
        "fractions": any(part["fractions"] for part in parts),
        "text_times": any(part["text_times"] for part in parts),
    }
    for part in parts:
        for phase, count in part["phases"].items():
            result["phases"][phase] = result["phases"].get(phase, 0) + count
    for table in _TABLES:
        kind = type(parts[0][table])
        columns = {}
        for name in kind.__annotations__:
            pieces = [getattr(part[table], name) for part in parts]
            key = (table, name)
            if key in _TO_STRINGS:
                pieces = [_moved(piece, move) for piece, move in zip(pieces, string_moves, strict=True)]
            elif key in _TO_THREADS:
                pieces = [_moved(piece, move) for piece, move in zip(pieces, thread_moves, strict=True)]
            elif key in _TO_ROWS:
                pieces = [piece + piece.dtype.type(first) for piece, first in zip(pieces, rows[:-1], strict=True)]
            elif key in _TO_EVENTS:
                pieces = [piece + first for piece, first in zip(pieces, events[:-1], strict=True)]
            columns[name] = np.concatenate(pieces)
        result[table] = kind(**columns)
    return result


def _joined(lists: Sequence[Sequence[Hashable]]) -> tuple[list[Any], list[I32 | None]]:
    """(all values by first appearance, for each list where its positions move to; None where they stay)."""
    places = {value: at for at, value in enumerate(lists[0])}
    moves = [np.array([places.setdefault(value, len(places)) for value in values], np.int32) for values in lists[1:]]
    return list(places), [None, *moves]


def _moved(column: I32, move: I32 | None) -> I32:
    if move is None or not len(column):
        return column
    if column.min() != MISSING32:
        return move[column]
    return np.where(column == MISSING32, np.int32(MISSING32), move[np.maximum(column, 0)]) if len(move) else column
