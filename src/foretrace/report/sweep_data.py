"""The content of a sweep: its rows, and what they amount to on each device. JSON is that, text prints it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import msgspec

from foretrace._version import __version__
from foretrace.analysis.table import Table
from foretrace.capture.recording import DeviceInfo, ShapeInfo, WallTime
from foretrace.capture.ties import YARDSTICK
from foretrace.report.data import SCHEMA
from foretrace.report.sweep_flips import flips
from foretrace.report.sweep_outcome import CaseOutcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.capture.sweep_row import SweepRow
    from foretrace.report.sweep_flips import Flip

__all__ = ["DefaultLoss", "DeviceSweep", "Failure", "Standing", "Sweep", "sweep_table"]

_VARIANT_ORDER: Final = ("auto", "math", "efficient", "flash", "cudnn")


@dataclass(frozen=True)
class Standing:
    """How one variant fares over the cases of a device."""

    variant: str
    cases: int
    """Cases it has a time for."""
    wins: int
    """Cases it is fastest in, alone."""
    ties: int
    """Cases in which it and another are as fast as any."""
    failed: int
    behind: float | None
    """The median, over its cases, of how much longer than the fastest it takes."""

    def to_json(self) -> dict[str, Any]:
        """Plain values with stable keys."""
        return dict(vars(self))


@dataclass(frozen=True)
class DefaultLoss:
    """What PyTorch's own dispatch loses against the fastest backend."""

    cases: int
    """Cases in which both are known."""
    within_spread: int
    """Cases in which it is as fast as any."""
    median: float | None
    """Over the cases in which it is not: the median loss, as a share of the fastest ..."""
    worst: CaseOutcome | None
    """... and the case where it is largest."""
    backends: dict[str, int]
    """What it chose, and how often."""

    def to_json(self) -> dict[str, Any]:
        """Plain values with stable keys."""
        return {
            "cases": self.cases,
            "within_spread": self.within_spread,
            "median_loss": self.median,
            "worst_loss": None if self.worst is None else self.worst.loss,
            "worst_case": None if self.worst is None else self.worst.case,
            "backends": self.backends,
        }


@dataclass(frozen=True)
class Failure:
    """Rows of one variant that failed for the same reason."""

    variant: str
    status: str
    reason: str
    count: int
    example: CaseOutcome

    def to_json(self) -> dict[str, Any]:
        """Plain values with stable keys."""
        return {
            "variant": self.variant,
            "status": self.status,
            "reason": self.reason,
            "count": self.count,
            "example": self.example.case,
        }


@dataclass(frozen=True)
class DeviceSweep:
    """The cases measured on one device with one release of torch."""

    device: DeviceInfo | None
    outcomes: tuple[CaseOutcome, ...]

    @property
    def name(self) -> str:
        """The device's name."""
        return "unknown device" if self.device is None else self.device.name

    @cached_property
    def variants(self) -> tuple[str, ...]:
        """The variants, ``auto`` first."""
        names = dict.fromkeys(row.variant for outcome in self.outcomes for row in outcome.rows)
        ranks = {name: rank for rank, name in enumerate(_VARIANT_ORDER)}
        return tuple(sorted(names, key=lambda name: (ranks.get(name, len(ranks)), name)))

    @cached_property
    def standings(self) -> tuple[Standing, ...]:
        """Each variant but ``auto``, which does not compete; the one with most wins first."""
        wins: Counter[str] = Counter()
        ties: Counter[str] = Counter()
        failed: Counter[str] = Counter()
        behind: defaultdict[str, list[float]] = defaultdict(list)
        for outcome in self.outcomes:
            (ties if outcome.tie else wins).update(outcome.winner_names)
            for row in outcome.rows:
                share = outcome.behind(row)
                if row.time_ns is None or row.reason is not None:
                    failed[row.variant] += 1
                elif share is not None:
                    behind[row.variant].append(share)
        found = [
            Standing(
                variant=name,
                cases=len(behind[name]),
                wins=wins[name],
                ties=ties[name],
                failed=failed[name],
                behind=median(behind[name]) if behind[name] else None,
            )
            for name in self.variants
            if name != YARDSTICK
        ]
        return tuple(sorted(found, key=lambda each: (-each.wins, -each.ties, -each.cases)))

    @cached_property
    def default_loss(self) -> DefaultLoss | None:
        """What the default dispatch loses; None where ``auto`` was not measured."""
        known = [outcome for outcome in self.outcomes if outcome.default_is_best is not None]
        if not known:
            return None
        losing = [outcome for outcome in known if not outcome.default_is_best]
        backends = Counter(
            outcome.default.backend for outcome in known if outcome.default is not None and outcome.default.backend
        )
        return DefaultLoss(
            cases=len(known),
            within_spread=len(known) - len(losing),
            median=median(outcome.loss or 0.0 for outcome in losing) if losing else None,
            worst=max(losing, key=lambda outcome: outcome.loss or 0.0, default=None),
            backends=dict(backends.most_common()),
        )

    @cached_property
    def flips(self) -> tuple[Flip, ...]:
        """Where the winner flips as one size grows."""
        return tuple(flips(self.outcomes))

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """Failed rows by variant and reason, the most frequent first; wrong results are among them."""
        found: dict[tuple[str, str, str], list[CaseOutcome]] = defaultdict(list)
        for outcome in self.outcomes:
            for row in outcome.rows:
                if row.reason is not None or row.time_ns is None:
                    status = "wrong" if row.time_ns is not None else row.status
                    found[row.variant, status, row.reason or ""].append(outcome)
        made = [Failure(*key, len(outcomes), outcomes[0]) for key, outcomes in found.items()]
        return tuple(sorted(made, key=lambda each: (-each.count, each.variant, each.reason)))

    def to_json(self) -> dict[str, Any]:
        """Plain values with stable keys."""
        device: dict[str, Any] = dict.fromkeys(DeviceInfo.__struct_fields__)
        if self.device is not None:
            device |= msgspec.to_builtins(self.device)
        return {
            "device": device,
            "cases": len(self.outcomes),
            "variants": [each.to_json() for each in self.standings],
            "default": None if self.default_loss is None else self.default_loss.to_json(),
            "flips": [each.to_json() for each in self.flips],
            "failures": [each.to_json() for each in self.failures],
            "outcomes": [each.to_json() for each in self.outcomes],
        }


@dataclass(frozen=True)
class Sweep:
    """A sweep's rows, read from where it keeps them."""

    rows: tuple[SweepRow, ...]
    place: str
    """The folder, as it was given."""
    damaged: int = 0
    """Lines that could not be read: a run that was killed may leave one."""
    finished: bool = True
    """Whether everything that was asked for is in it; False after a time budget ran out."""

    @cached_property
    def devices(self) -> tuple[DeviceSweep, ...]:
        """The rows by device and release of torch, that with the most cases first."""
        # Rows of a worker that never came up name no device; they belong to whatever else the case ran on.
        by_case: dict[str, DeviceInfo | None] = {}
        for row in self.rows:
            if row.device is not None:
                by_case.setdefault(row.case, row.device)
        groups: dict[tuple[str, str], dict[str, list[SweepRow]]] = defaultdict(lambda: defaultdict(list))
        about: dict[tuple[str, str], DeviceInfo | None] = {}
        for row in self.rows:
            device = row.device or by_case.get(row.case)
            key = ("", "") if device is None else (device.name, device.torch or "")
            about.setdefault(key, device)
            groups[key][row.case].append(row)
        found = [
            DeviceSweep(
                about[key], tuple(CaseOutcome(case, rows[0].shape, tuple(rows)) for case, rows in _in_order(cases))
            )
            for key, cases in groups.items()
        ]
        return tuple(sorted(found, key=lambda each: -len(each.outcomes)))

    @property
    def table(self) -> Table:
        """The rows as a table."""
        return sweep_table(self.rows)

    def to_json(self) -> dict[str, Any]:
        """The JSON of ``sweep show``: plain values with stable keys, nothing cut."""
        return {
            "schema": SCHEMA,
            "foretrace": __version__,
            "sweep": self.place,
            "finished": self.finished,
            "rows": len(self.rows),
            "damaged_lines": self.damaged,
            "devices": [device.to_json() for device in self.devices],
        }

    def __str__(self) -> str:
        from foretrace.report.sweep_text import sweep_text  # noqa: PLC0415 - rich is for people

        return sweep_text(self)


def _in_order(cases: dict[str, list[SweepRow]]) -> list[tuple[str, list[SweepRow]]]:
    """Cases by shape: forward before training, then small before large."""

    def place(pair: tuple[str, list[SweepRow]]) -> tuple[Any, ...]:
        shape = pair[1][0].shape
        return (
            shape.training, shape.dtype, shape.mask, not shape.causal, shape.head_dim, shape.heads, shape.kv_heads,
            shape.batch, shape.length, shape.kv_length,
        )  # fmt: skip

    return sorted(cases.items(), key=place)


_SHAPE: Final = ShapeInfo.__struct_fields__
_TIME: Final = WallTime.__struct_fields__
_DEVICE: Final = ("name", "torch", "driver", "runtime", "cudnn")
_PLAIN: Final = (
    "host_ns", "peak_memory_bytes", "max_abs_error", "kernels", "memcpys", "memsets", "trace",
)  # fmt: skip


def sweep_table(rows: Sequence[SweepRow]) -> Table:
    """Rows as a flat table: what the Parquet file and data frames hold. Times are in nanoseconds."""
    columns: dict[str, Sequence[Any]] = {
        name: [getattr(row, name) for row in rows] for name in ("case", "variant", "status", "reason", "backend")
    }
    columns |= {name: [getattr(row.shape, name) for row in rows] for name in _SHAPE}
    columns |= {
        f"time_{name}" + ("" if name == "runs" else "_ns"): [getattr(row.time_ns, name, None) for row in rows]
        for name in _TIME
    }
    columns |= {name: [getattr(row, name) for row in rows] for name in _PLAIN}
    columns |= {
        "device" if name == "name" else name: [getattr(row.device, name, None) for row in rows] for name in _DEVICE
    }
    return Table("sweep", columns)
