"""Where the winner flips as one size grows and all else stays."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foretrace.capture.recording import ShapeInfo
    from foretrace.report.sweep_outcome import CaseOutcome

__all__ = ["AXES", "Flip", "flips"]

AXES: Final = ("length", "kv_length", "batch", "heads", "kv_heads", "head_dim")
"""The sizes that grow. Where keys are as many as queries, and kv heads as many as heads, they grow together."""


@dataclass(frozen=True)
class Flip:
    """A change of the winner between two neighboring values of a size, in every line where it happens there."""

    axis: str
    before: tuple[str, ...]
    """Who wins, or ties, up to ``low``."""
    after: tuple[str, ...]
    """Who wins, or ties, from ``high`` on."""
    low: int
    high: int
    lines: int
    """In how many lines (all else equal) it happens just there."""
    of_lines: int
    """Lines that have both values."""
    example: CaseOutcome
    """The first case after one of them."""

    def to_json(self) -> dict[str, Any]:
        """Plain values with stable keys."""
        return {
            "axis": self.axis,
            "before": list(self.before),
            "after": list(self.after),
            "low": self.low,
            "high": self.high,
            "lines": self.lines,
            "of_lines": self.of_lines,
            "example": self.example.case,
        }


def flips(outcomes: Sequence[CaseOutcome]) -> list[Flip]:
    """All flips, axis by axis, those in most lines first."""
    placed = [(_coordinates(outcome.shape), outcome) for outcome in outcomes if outcome.winners]
    found: list[Flip] = []
    for at, axis in enumerate(AXES):
        counts: dict[tuple[tuple[str, ...], tuple[str, ...], int, int], list[CaseOutcome]] = defaultdict(list)
        pairs: dict[tuple[int, int], int] = defaultdict(int)
        for line in _lines(placed, at, axis):
            for (low, _), (high, _) in pairwise(line):
                pairs[low, high] += 1
            for before, after, low, high, case in _flips_of(line):
                counts[before, after, low, high].append(case)
        here = [
            Flip(axis, before, after, low, high, len(cases), pairs[low, high], cases[0])
            for (before, after, low, high), cases in counts.items()
        ]
        found += sorted(here, key=lambda flip: (-flip.lines, flip.low, flip.before, flip.after))
    return found


def _coordinates(shape: ShapeInfo) -> tuple[object, ...]:
    """The values along all axes, and what is no size; what follows another size is not a size of its own."""
    return (
        shape.length,
        None if shape.kv_length == shape.length else shape.kv_length,
        shape.batch,
        shape.heads,
        None if shape.kv_heads == shape.heads else shape.kv_heads,
        shape.head_dim,
        shape.dtype,
        shape.causal,
        shape.mask,
        shape.training,
    )


def _lines(
    placed: Sequence[tuple[tuple[object, ...], CaseOutcome]], at: int, axis: str
) -> Iterator[list[tuple[int, CaseOutcome]]]:
    """Cases that differ in this size alone, in its order; two of them at least."""
    if len({getattr(outcome.shape, axis) for _, outcome in placed}) < 2:  # noqa: PLR2004 - nothing grows
        return
    lines: dict[tuple[object, ...], list[tuple[int, CaseOutcome]]] = defaultdict(list)
    for place, outcome in placed:
        lines[place[:at] + place[at + 1 :]].append((getattr(outcome.shape, axis), outcome))
    for line in lines.values():
        if len(line) > 1:
            line.sort(key=itemgetter(0))
            yield line


def _flips_of(
    line: Sequence[tuple[int, CaseOutcome]],
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], int, int, CaseOutcome]]:
    """Walk a line: as long as somebody wins or ties all along, nothing flips."""
    holders: tuple[str, ...] = ()
    last = 0
    for value, outcome in line:
        names = outcome.winner_names
        still = tuple(name for name in holders if name in names)
        if holders and not still:
            yield tuple(sorted(holders)), tuple(sorted(names)), last, value, outcome
        holders = still or names
        last = value
