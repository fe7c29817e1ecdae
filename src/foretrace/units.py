"""Numbers as people read them: times, sizes, shares and counts, always with a unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["TimeScale", "bytes_text", "count_text", "share_text", "time_scale", "time_text"]

_US: Final = 1_000
_MS: Final = 1_000_000
_S: Final = 1_000_000_000
# From here up a time is given in the next unit: 0.127 ms reads better beside 1.065 ms than 127 us does.
_NEXT: Final = 0.1


@dataclass(frozen=True)
class TimeScale:
    """One unit for a column of times, so that they compare at a glance."""

    divisor: int
    unit: str
    decimals: int

    def __call__(self, ns: float) -> str:
        """The time in this unit, e.g. ``0.704 ms``."""
        return f"{self.number(ns)} {self.unit}"

    def number(self, ns: float) -> str:
        """The same without the unit, for a column that names it; what would round to zero says so."""
        text = f"{ns / self.divisor:,.{self.decimals}f}"
        if ns > 0 and not text.strip("0.,"):
            return f"<{10**-self.decimals:.{self.decimals}f}"
        return text


def time_scale(ns: float) -> TimeScale:
    """The unit for times up to this many nanoseconds."""
    size = abs(ns)
    if size < _US:
        return TimeScale(1, "ns", 0)
    if size < _NEXT * _MS:
        return TimeScale(_US, "us", 1)
    if size < _S:
        return TimeScale(_MS, "ms", 3)
    return TimeScale(_S, "s", 3)


def time_text(ns: float) -> str:
    """A duration given in nanoseconds, e.g. ``704 ns``, ``84.8 us``, ``0.127 ms``, ``1.065 ms``, ``2.500 s``."""
    return time_scale(ns)(ns)


def bytes_text(size: float) -> str:
    """A number of bytes in decimal units, e.g. ``268 MB``."""
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(size) >= scale:
            value = size / scale
            return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"  # noqa: PLR2004
    return f"{size:.0f} B"


def share_text(share: float) -> str:
    """A share (0 to 1) in percent, e.g. ``37 %``; below one percent one decimal is kept."""
    percent = 100 * share
    if 0 < percent < 1:
        return "<0.1 %" if percent < 0.05 else f"{percent:.1f} %"  # noqa: PLR2004
    return f"{percent:.0f} %"


def count_text(number: int, singular: str, plural: str | None = None) -> str:
    """A count with its noun, e.g. ``1 kernel``, ``20 kernels``, ``no copies``."""
    noun = singular if number == 1 else (plural or singular + "s")
    return f"{number:,} {noun}" if number else f"no {noun}"
