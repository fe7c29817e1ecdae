"""Unions, gaps and overlaps of half-open intervals [start, end), in nanoseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from foretrace.trace.raw import I64

__all__ = ["gaps", "overlaps", "union", "union_length"]


def union(start: I64, end: I64) -> tuple[I64, I64]:
    """The union as disjoint intervals in time order; empty intervals count for nothing."""
    kept = end > start
    start, end = start[kept], end[kept]
    if not start.size:
        return start, end
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    reach = np.maximum.accumulate(end)
    fresh = np.ones(len(start), bool)
    fresh[1:] = start[1:] > reach[:-1]
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(start)) - 1
    return start[first], reach[last]


def union_length(start: I64, end: I64) -> int:
    """The length of the union: what is busy, each moment counted once."""
    low, high = union(start, end)
    return int((high - low).sum())


def gaps(start: I64, end: I64) -> tuple[I64, I64]:
    """What lies between the parts of the union; union + gaps = span."""
    low, high = union(start, end)
    return high[:-1], low[1:]


def overlaps(start: I64, end: I64) -> tuple[I64, I64]:
    """(which intervals begin before an earlier one has ended, by how much), in time order of the starts.

    Positions are those of the given arrays. Intervals that only touch do not overlap; an empty one overlaps nothing.
    """
    kept = np.flatnonzero(end > start)
    order = kept[np.lexsort((end[kept], start[kept]))]
    if len(order) < 2:  # noqa: PLR2004 - one interval overlaps nothing
        none = np.zeros(0, np.int64)
        return none, none
    reach = np.maximum.accumulate(end[order])[:-1]
    begin = start[order][1:]
    late = np.flatnonzero(begin < reach)
    length = np.minimum(reach[late], end[order][1:][late]) - begin[late]
    return order[1:][late], length
