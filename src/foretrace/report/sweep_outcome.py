"""What the rows of one case amount to: who is fastest, by how much, and what PyTorch's own choice loses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec

from foretrace.capture.ties import YARDSTICK, tied, winners

if TYPE_CHECKING:
    from foretrace.capture.recording import ShapeInfo, WallTime
    from foretrace.capture.sweep_row import SweepRow

__all__ = ["CaseOutcome"]


@dataclass(frozen=True)
class CaseOutcome:
    """One case on one device."""

    case: str
    shape: ShapeInfo
    rows: tuple[SweepRow, ...]

    @cached_property
    def winners(self) -> tuple[SweepRow, ...]:
        """The fastest variant and those that tie with it, the fastest first; ``auto`` is never among them."""
        return winners(self.rows)

    @property
    def winner_names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(row.variant for row in self.winners)

    @property
    def tie(self) -> bool:
        """More than one variant is as fast as any."""
        return len(self.winners) > 1

    @property
    def best(self) -> WallTime | None:
        """The time of the fastest; None where no variant but ``auto`` ran."""
        return self.winners[0].time_ns if self.winners else None

    @cached_property
    def runner_up(self) -> SweepRow | None:
        """The fastest that does not tie with the winner."""
        ahead = set(self.winner_names)
        others = [
            row
            for row in self.rows
            if row.time_ns and row.reason is None and row.variant != YARDSTICK and row.variant not in ahead
        ]
        return min(others, key=lambda row: row.time_ns.median if row.time_ns else 0, default=None)

    @cached_property
    def default(self) -> SweepRow | None:
        """The row of ``auto``, where it has a time."""
        return next((row for row in self.rows if row.variant == YARDSTICK and row.time_ns), None)

    def behind(self, row: SweepRow | None) -> float | None:
        """How much longer than the fastest a row takes, as a share of the fastest; None where either is unknown."""
        if row is None or row.time_ns is None or self.best is None or not self.best.median:
            return None
        return row.time_ns.median / self.best.median - 1

    @property
    def loss(self) -> float | None:
        """What the default dispatch loses against the fastest, as a share of the fastest."""
        return self.behind(self.default)

    @property
    def default_is_best(self) -> bool | None:
        """The default dispatch is within the spread of the fastest, or runs its very kernel; None where unknown."""
        if self.default is None or self.default.time_ns is None or self.best is None:
            return None
        if self.default.backend is not None and self.default.backend in self.winner_names:
            return True
        return tied(self.best, self.default.time_ns)

    def to_json(self) -> dict[str, Any]:
        """Plain values with stable keys, all rows included."""
        best, default = self.best, self.default
        return {
            "case": self.case,
            "shape": msgspec.to_builtins(self.shape),
            "winners": list(self.winner_names),
            "tie": self.tie,
            "time_ns": None if best is None else msgspec.to_builtins(best),
            "next": None if self.runner_up is None else self.runner_up.variant,
            "margin": self.behind(self.runner_up),
            "default": None
            if default is None
            else {
                "backend": default.backend,
                "time_ns": msgspec.to_builtins(default.time_ns),
                "loss": self.loss,
                "within_spread": self.default_is_best,
            },
            "rows": [_row_json(row) for row in self.rows],
        }


def _row_json(row: SweepRow) -> dict[str, Any]:
    """A row without what the case and the device say already."""
    left_out = {"case", "shape", "device"}
    return {name: msgspec.to_builtins(getattr(row, name)) for name in row.__struct_fields__ if name not in left_out}
