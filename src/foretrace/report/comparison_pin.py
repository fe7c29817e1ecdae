"""What a comparison recommends: the SDPA backend to pin at this shape on this card, where that gains something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from foretrace.report.pin_code import pin_code

if TYPE_CHECKING:
    from foretrace.report.comparison import Comparison, VariantRow

__all__ = ["Pin", "default_row", "fastest_backend", "gain_beyond_spread", "pin_of"]

_BACKENDS: Final = ("cudnn", "flash", "efficient", "math")


@dataclass(frozen=True)
class Pin:
    """One backend to pin."""

    variant: str
    instead_of: str
    """The backend that PyTorch picks when left alone."""
    gain_ns: float
    """What a step (without device activity a call) takes less: more than either time scatters."""
    gain: float
    """The same as a share of the time of what PyTorch picks."""
    code: str | None
    """The lines that pin it; None where the shape was not recorded."""

    def to_json(self) -> dict[str, Any]:
        """Plain values with stable keys."""
        return dict(vars(self))


def default_row(found: Comparison) -> VariantRow | None:
    """``auto``, where it was measured and ran one of SDPA's backends."""
    return next((row for row in found.rows if row.name == "auto" and row.time_ns and row.backend), None)


def fastest_backend(found: Comparison) -> VariantRow | None:
    """The fastest of the variants that pin an SDPA backend, if it was measured as the default was and is sound."""
    default = default_row(found)
    rows = [
        row
        for row in found.rows
        if row.name in _BACKENDS
        and row.backend == row.name
        and row.time_ns
        and row.reason is None
        and (default is None or (row.device_step is None) == (default.device_step is None))
    ]
    return min(rows, key=lambda row: row.time_ns or 0, default=None)


def gain_beyond_spread(row: VariantRow, default: VariantRow) -> float | None:
    """What ``row`` takes less than ``default``, in nanoseconds; None where either scatters by as much."""
    gain = (default.time_ns or 0) - (row.time_ns or 0)
    return gain if gain > max(row.spread_ns or 0, default.spread_ns or 0) else None


def pin_of(found: Comparison) -> Pin | None:
    """The backend to pin; None where PyTorch picks the fastest by itself, or as fast within the spread."""
    default, best = default_row(found), fastest_backend(found)
    if default is None or default.backend is None or best is None or best.backend == default.backend:
        return None
    gain = gain_beyond_spread(best, default)
    if gain is None:
        return None
    shape = found.recording.shape
    code = None if shape is None else pin_code(best.name, shape)
    return Pin(best.name, default.backend, gain, gain / (default.time_ns or 1), code)
