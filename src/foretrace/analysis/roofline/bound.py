"""Work held against what a device can do: the floor, what was achieved, and what bounds it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foretrace.analysis.roofline.work import Work
    from foretrace.names.peaks import Peaks

__all__ = ["Bound", "bound_of", "floor_ns"]

_NS = 1e9


@dataclass(frozen=True)
class Bound:
    """One op's place under the roof. What the inputs or the peaks leave open is None."""

    flops: int
    bytes: int | None
    count: str
    """How well the FLOPs are known: ``exact``, ``at_least`` or ``at_most``."""
    intensity: float | None
    """FLOPs a byte."""
    floor_ns: float | None
    """The least time the work takes at the device's peaks: that of its FLOPs or of its bytes, the longer one."""
    bound: str
    """``compute`` or ``memory``, by which of the two is longer; ``unknown``."""
    measured_ns: float
    over_floor: float | None
    """Measured over floor: 1 is the roof."""
    share_of_peak: float | None
    """Floor over measured: the share of the peak of what bounds it, 0 to 1."""
    achieved_flops_per_s: float | None
    achieved_bytes_per_s: float | None
    """At the fewest bytes; the device may have moved more."""

    def to_json(self) -> dict[str, Any]:
        """The keys of ``roofline``."""
        return dict(vars(self))


def floor_ns(work: Work, peaks: Peaks) -> tuple[float | None, str]:
    """The least time for some work in nanoseconds, and which of ``compute`` and ``memory`` it is.

    FLOPs that are only an upper bound set no floor. A rate that is not known makes the floor unknown; where only the
    bytes are not known, the FLOPs still set one, but what bounds is ``unknown``.
    """
    compute = 0.0
    if work.count != "at_most":
        for (unit, dtype), number in work.flops.items():
            rate = peaks.rate(unit, dtype)
            if rate is None:
                return None, "unknown"
            compute += number / rate * _NS
    if work.bytes is None or peaks.bytes_per_s is None:
        return compute or None, "unknown"
    memory = work.bytes / peaks.bytes_per_s * _NS
    return (compute, "compute") if compute > memory else (memory, "memory")


def bound_of(work: Work, measured_ns: float, peaks: Peaks | None) -> Bound:
    """Work that took some device time, under a device's roof.

    Args:
        work: what had to be done.
        measured_ns: how long it took on the device.
        peaks: the device's peak rates; None where they are not known.
    """
    floor, kind = floor_ns(work, peaks) if peaks else (None, "unknown")
    flops = work.total_flops
    known = measured_ns > 0
    return Bound(
        flops=flops,
        bytes=work.bytes,
        count=work.count,
        intensity=flops / work.bytes if work.bytes else None,
        floor_ns=floor,
        bound=kind,
        measured_ns=measured_ns,
        over_floor=measured_ns / floor if floor and known else None,
        share_of_peak=floor / measured_ns if floor is not None and known else None,
        achieved_flops_per_s=flops / measured_ns * _NS if known and work.count != "at_most" else None,
        achieved_bytes_per_s=work.bytes / measured_ns * _NS if known and work.bytes is not None else None,
    )
