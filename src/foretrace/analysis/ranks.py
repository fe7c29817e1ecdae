"""The ranks of one job, found and missing, from the ``distributedInfo`` of its traces."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foretrace.analysis.timeline import timeline
from foretrace.errors import TraceFormatError
from foretrace.units import count_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.analysis.timeline import PerStep
    from foretrace.trace.model import Trace

__all__ = ["Rank", "Ranks", "ranks"]


@dataclass(frozen=True)
class Rank:
    """One rank's trace and what a step of it is."""

    file: str
    rank: int | None
    step_names: list[str]
    kernels: int
    per_step: PerStep

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "file": self.file,
            "rank": self.rank,
            "steps": len(self.step_names),
            "kernels": self.kernels,
            "per_step": self.per_step.to_json(),
        }


@dataclass(frozen=True)
class Ranks:
    """The traces of a folder as ranks of one job."""

    ranks: list[Rank]
    world_size: int | None
    missing: list[int]
    """Ranks of the job that the folder has no trace of."""
    notes: list[str]
    """What keeps these files from being one session: a rank twice, different world sizes, different steps."""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "ranks": [rank.to_json() for rank in self.ranks],
            "world_size": self.world_size,
            "missing": self.missing,
            "notes": self.notes,
        }


def ranks(traces: Sequence[Trace]) -> Ranks:
    """The ranks of some traces. Files are compared as they are, never merged.

    Raises:
        TraceFormatError: there are no traces.
    """
    if not traces:
        raise TraceFormatError("No traces to compare.")
    found = [
        Rank(trace.file, trace.rank, trace.step_names, trace.kernels, timeline(trace).per_step) for trace in traces
    ]
    found.sort(key=lambda rank: (rank.rank is None, rank.rank or 0, rank.file))
    sizes = sorted({trace.world_size for trace in traces if trace.world_size is not None})
    known = {rank.rank for rank in found if rank.rank is not None}
    missing = [number for number in range(sizes[-1]) if number not in known] if sizes and known else []
    return Ranks(found, sizes[-1] if sizes else None, missing, _notes(found, sizes))


def _notes(found: list[Rank], sizes: list[int]) -> list[str]:
    notes = []
    for number, times in Counter(rank.rank for rank in found if rank.rank is not None).items():
        if times > 1:
            files = ", ".join(rank.file for rank in found if rank.rank == number)
            notes.append(f"Rank {number} occurs {times} times ({files}): more than one session; keep one a folder.")
    if len(sizes) > 1:
        notes.append(f"World sizes differ ({', '.join(map(str, sizes))}): these are different jobs.")
    unnamed = sum(rank.rank is None for rank in found)
    if unnamed:
        notes.append(f"{count_text(unnamed, 'file gives', 'files give')} no rank (no distributedInfo).")
    steps = {tuple(rank.step_names) for rank in found if rank.rank is not None}
    if len(steps) > 1:
        notes.append("The ranks recorded different steps; compare only steps that all have.")
    return notes
