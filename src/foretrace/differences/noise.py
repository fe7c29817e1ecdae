"""Is a change of time more than noise? Held against the spread over the steps of both sides, and over runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from foretrace.analysis.timeline import Spread

__all__ = ["CPU_MARGIN", "DEVICE_MARGIN", "KERNEL_MARGIN", "Verdict", "verdict"]

DEVICE_MARGIN: Final = 0.02
"""Two recordings of one program differ by this share in device time although each is steadier in itself: the same
attention recorded twice on two H200s differs by 0.9 % with a spread of 0.1 % within each."""
KERNEL_MARGIN: Final = 0.05
"""The same for a single kernel."""
CPU_MARGIN: Final = 0.35
"""The same for CPU time, which clocks, other processes and a warm or cold process move far more: recordings of one
attention differ by up to a third of it, beyond their own spread."""


@dataclass(frozen=True)
class Verdict:
    """What a change of time amounts to."""

    word: str
    """``faster``, ``slower``, ``within noise``, or ``unknown`` where a side has a single step."""
    share: float | None
    """The change of the median relative to before: -0.12 is 12 % less; None where before is zero."""

    @property
    def changed(self) -> bool:
        """More than noise."""
        return self.word in ("faster", "slower")

    def to_json(self) -> dict[str, Any]:
        """The keys ``verdict`` and ``change``."""
        return {"verdict": self.word, "change": self.share}


def verdict(before: Spread, after: Spread, *, steps: int, margin: float) -> Verdict:
    """Whether two times differ: their ranges over the steps lie apart by more than runs do.

    ``steps`` is the smaller number of steps of the two sides. One step shows no spread, so that nothing but a change
    of a fifth and more is told of it.
    """
    share = after.median / before.median - 1 if before.median else None
    if not before.median and not after.median:
        return Verdict("within noise", 0.0)
    allowed = margin * min(before.median, after.median)
    gap = max(after.min - before.max, before.min - after.max)
    if gap <= allowed:
        return Verdict("within noise", share)
    if steps < _ENOUGH and gap <= _LARGE * min(before.median, after.median):
        return Verdict("unknown", share)
    return Verdict("faster" if after.median < before.median else "slower", share)


_ENOUGH: Final = 2
_LARGE: Final = 0.2
