"""Who is fastest: what lies within the spread of the fastest is tied with it, and ``auto`` never competes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foretrace.capture.recording import WallTime
    from foretrace.capture.sweep_row import SweepRow

__all__ = ["LEAST_SPREAD", "YARDSTICK", "spread_between", "tied", "winners"]

YARDSTICK: Final = "auto"
"""SDPA with the backend that PyTorch picks: one of the others under another name, so it is measured against."""

LEAST_SPREAD: Final = 0.01
"""Two runs of one sweep on one card differ by up to about this share of a time, however small the spread within a
run: the allocator places tensors elsewhere, and clocks settle elsewhere."""


def spread_between(one: WallTime, other: WallTime) -> float:
    """The spread, in nanoseconds, within which two variants are tied.

    It is the larger of the two distances between quartiles, and at least ``LEAST_SPREAD`` of the shorter time.
    """
    return max(one.spread, other.spread, LEAST_SPREAD * min(one.median, other.median))


def tied(best: WallTime, other: WallTime) -> bool:
    """Whether a time cannot be told from the shortest: they lie within the spread of each other.

    A wide spread alone does not do it: of a slow variant that was seldom run, even the fastest run would be slow.
    """
    near = best.median + max(best.spread, LEAST_SPREAD * best.median)
    return other.median - best.median <= spread_between(best, other) and other.min <= near


def winners(rows: Iterable[SweepRow]) -> tuple[SweepRow, ...]:
    """The fastest row of one case and all that tie with it, the fastest first; empty when nothing was timed.

    ``auto`` is left out, and so is a row whose result is wrong (``reason`` beside a time).
    """
    timed = [(row.time_ns, row) for row in rows if row.time_ns and row.variant != YARDSTICK and row.reason is None]
    timed.sort(key=lambda pair: (pair[0].median, pair[1].variant))
    if not timed:
        return ()
    best = timed[0][0]
    return tuple(row for time, row in timed if tied(best, time))
