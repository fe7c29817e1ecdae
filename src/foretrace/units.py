"""Numbers as people read them: times, sizes, shares and counts, always with a unit."""

from __future__ import annotations

__all__ = ["bytes_text", "count_text", "share_text", "time_text"]

_US = 1_000
_MS = 1_000_000
_S = 1_000_000_000


def time_text(ns: float) -> str:
    """A duration given in nanoseconds, e.g. ``1.065 ms``: three decimals from a microsecond up."""
    size = abs(ns)
    if size < _US:
        return f"{ns:.0f} ns"
    if size < _MS:
        return f"{ns / _US:.3f} us" if size < 100 * _US else f"{ns / _US:.1f} us"
    if size < _S:
        return f"{ns / _MS:.3f} ms"
    return f"{ns / _S:.3f} s"


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
