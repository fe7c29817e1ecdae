"""The content of `foretrace attention`: one row a variant, from its trace and what was measured beside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import msgspec

from foretrace._version import __version__
from foretrace.analysis.attention_backend import attention_backend, attention_path
from foretrace.analysis.fingerprints import row_decoded, row_occupancy
from foretrace.capture.recording import DeviceInfo, Recording, ShapeInfo, VariantRecord
from foretrace.errors import ForetraceError, MissingDataError
from foretrace.findings.unprofiled import within_wall
from foretrace.names.decoded import MATRIX_ROLES
from foretrace.report.comparison_floor import shape_floor_ns
from foretrace.report.comparison_pin import Pin, pin_of
from foretrace.report.data import SCHEMA, Reading, reading
from foretrace.trace.load import load_trace

if TYPE_CHECKING:
    from pathlib import Path

    from foretrace.analysis.dispatch.decide import Dispatch
    from foretrace.analysis.launches import KernelRow
    from foretrace.analysis.timeline import Count, PerStep, Spread
    from foretrace.findings.rule import Finding
    from foretrace.names.occupancy import Occupancy
    from foretrace.trace.model import Trace

__all__ = ["REFERENCE", "Comparison", "VariantRow", "comparison"]

REFERENCE: Final = "naive"
"""The variant that the others' speed is given relative to."""
_MAIN_SHARE: Final = 0.5


@dataclass(frozen=True)
class VariantRow:
    """One variant: what its trace shows, and what was measured beside it."""

    record: VariantRecord
    reading: Reading | None
    """Its trace, read; None where it did not run or its trace could not be read."""
    problem: str | None = None
    """Why its trace could not be read."""

    @property
    def name(self) -> str:
        """The variant's name."""
        return self.record.variant

    @property
    def ok(self) -> bool:
        """It ran, and its trace was read."""
        return self.reading is not None

    @property
    def reason(self) -> str | None:
        """Why there are no figures, or what is wrong with the result."""
        return self.problem or self.record.reason

    @cached_property
    def per_step(self) -> PerStep | None:
        """Figures over the steps."""
        return None if self.reading is None else self.reading.timeline.per_step

    @cached_property
    def device_step(self) -> PerStep | None:
        """The same, where the trace has device activity: without any, device figures are unknown, not zero."""
        if self.reading is None or not self.reading.trace.has_device_activity:
            return None
        return self.per_step

    @cached_property
    def backend(self) -> str | None:
        """The SDPA backend that ran; None where SDPA was not called."""
        return None if self.reading is None else attention_backend(self.reading.trace)

    @cached_property
    def path(self) -> str | None:
        """The backend, or how attention was computed without SDPA."""
        return None if self.reading is None else attention_path(self.reading.trace)

    @cached_property
    def launches(self) -> list[str]:
        """The runtime calls that launched its work in steps, the most used first."""
        if self.reading is None:
            return []
        calls: dict[str, int] = {}
        for row in self.reading.kernels:
            if row.launch is not None and row.calls_in_steps:
                calls[row.launch] = calls.get(row.launch, 0) + row.calls_in_steps
        return sorted(calls, key=lambda name: (-calls[name], name))

    @cached_property
    def unit(self) -> str | None:
        """Where its matrix multiplications (attention kernels included) run, by device time in steps.

        ``tensor_core``, ``cuda_core`` or ``unknown``; None where no kernel multiplies matrices.
        """
        if self.reading is None:
            return None
        times: dict[str, int] = {}
        for kernel in self.reading.kernels:
            decoded = row_decoded(kernel)
            if decoded.role in MATRIX_ROLES and kernel.calls_in_steps:
                times[decoded.unit] = times.get(decoded.unit, 0) + kernel.time_in_steps_ns
        return max(times, key=lambda unit: times[unit]) if times else None

    @cached_property
    def main_kernel(self) -> KernelRow | None:
        """The kernel that takes at least half of the device time in steps; None where none does."""
        rows = () if self.reading is None else self.reading.kernels
        return next((kernel for kernel in rows if kernel.kind == "kernel" and (kernel.share or 0) >= _MAIN_SHARE), None)

    @cached_property
    def occupancy(self) -> Occupancy | None:
        """Of the main kernel: of many kernels alike in weight there is no one occupancy."""
        if self.reading is None or self.main_kernel is None:
            return None
        return row_occupancy(self.reading.trace, self.main_kernel)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is odd in its trace, the most at stake first; idle time no more than its wall time leaves."""
        if self.reading is None:
            return ()
        found, wall = self.reading.examination.findings, self.record.wall_time_ns
        if wall is None or self.device_step is None:
            return found
        return within_wall(found, wall.median, self.device_step.busy_ns.median)

    @property
    def time_ns(self) -> float | None:
        """What its speed is judged by: device time; without device activity wall time, else CPU time."""
        if self.device_step is not None:
            return self.device_step.device_time_ns.median
        if self.record.wall_time_ns is not None:
            return self.record.wall_time_ns.median
        return None if self.per_step is None else self.per_step.cpu_time_ns.median

    @property
    def spread_ns(self) -> float | None:
        """How far that time scatters: over the steps, or between the quartiles of the calls."""
        if self.device_step is not None:
            return self.device_step.device_time_ns.max - self.device_step.device_time_ns.min
        if self.record.wall_time_ns is not None:
            return self.record.wall_time_ns.spread
        return None if self.per_step is None else self.per_step.cpu_time_ns.max - self.per_step.cpu_time_ns.min


@dataclass(frozen=True)
class Comparison:
    """The variants of one recording, side by side."""

    recording: Recording
    folder: Path
    rows: tuple[VariantRow, ...]
    replayed: bool

    @property
    def variants(self) -> tuple[VariantRow, ...]:
        """The rows, by another name: what the JSON calls them."""
        return self.rows

    def trace(self, variant: str) -> Trace:
        """The trace of a variant. Raises ``MissingDataError`` when there is none of that name."""
        for row in self.rows:
            if row.name == variant and row.reading is not None:
                return row.reading.trace
        raise MissingDataError(f"no trace of {variant!r} in {self.folder}; it holds {', '.join(self.names)}.")

    @property
    def names(self) -> list[str]:
        """The variants that ran."""
        return [row.name for row in self.rows if row.ok]

    @cached_property
    def on_device(self) -> bool:
        """Any trace has device activity."""
        return any(row.device_step is not None for row in self.rows)

    def speedup(self, row: VariantRow) -> float | None:
        """How many times as fast as ``naive`` it is; None where either time is unknown."""
        reference = next((other for other in self.rows if other.name == REFERENCE), None)
        if reference is None or reference.time_ns is None or not row.time_ns:
            return None
        if (reference.device_step is None) != (row.device_step is None):
            return None
        return reference.time_ns / row.time_ns

    @cached_property
    def floor_ns(self) -> float | None:
        """The least device time a step could take at this shape on this card; None where either is unknown."""
        name, shape = self.device["name"], self.recording.shape
        return None if shape is None or not name else shape_floor_ns(shape, name)

    def over_floor(self, row: VariantRow) -> float | None:
        """How many times the floor its device time is; None where either is unknown."""
        if self.floor_ns is None or row.device_step is None:
            return None
        return row.device_step.device_time_ns.median / self.floor_ns or None

    @cached_property
    def pin(self) -> Pin | None:
        """The SDPA backend to pin here; None where nothing is gained beyond the spread."""
        return pin_of(self)

    @cached_property
    def why(self) -> Dispatch | None:
        """What the dispatch rules say of this call: what runs, and what keeps each other backend from it.

        None where the shape was not recorded, or the rules do not know the device or its release of torch.
        """
        from foretrace.report.shape_dispatch import default_dispatch  # noqa: PLC0415 - few ask

        shape = self.recording.shape
        return None if shape is None else default_dispatch(shape, self.recording.device)

    @cached_property
    def device(self) -> dict[str, Any]:
        """The device; of a bare folder, what the traces say of it."""
        known: dict[str, Any] = dict.fromkeys(DeviceInfo.__struct_fields__)
        if self.recording.device is not None:
            known |= msgspec.to_builtins(self.recording.device)
            return known
        for row in self.rows:
            for device in () if row.reading is None else row.reading.trace.devices[:1]:
                return known | {
                    "name": device.name,
                    "compute_capability": device.compute_capability,
                    "sms": device.sms,
                }
        return known

    @cached_property
    def shape(self) -> dict[str, Any]:
        """The shape; of a bare folder all null."""
        known: dict[str, Any] = dict.fromkeys(ShapeInfo.__struct_fields__)
        if self.recording.shape is not None:
            known |= msgspec.to_builtins(self.recording.shape)
        return known

    def to_json(self) -> dict[str, Any]:
        """The JSON of ``attention``: plain values with stable keys."""
        return {
            "schema": SCHEMA,
            "foretrace": __version__,
            "device": self.device,
            "shape": self.shape,
            "error_heads": self.recording.error_heads,
            "error_of_heads": self.recording.error_of_heads,
            "variants": [self._row_json(row) for row in self.rows],
            "pin": None if self.pin is None else self.pin.to_json(),
            "why": None if self.why is None else self.why.to_json(),
        }

    def _row_json(self, row: VariantRow) -> dict[str, Any]:
        record, figures, device = row.record, row.per_step, row.device_step
        return {
            "variant": row.name,
            "status": "ok" if row.ok else "unsupported",
            "reason": row.reason,
            "backend": row.backend,
            **{name: _figure(device, name) for name in ("kernels", "memcpys", "memsets", "device_time_ns")},
            "cpu_time_ns": _figure(figures, "cpu_time_ns"),
            "wall_time_ns": None if record.wall_time_ns is None else msgspec.to_builtins(record.wall_time_ns),
            "period_ns": None if figures is None else figures.period_ns,
            "busy_share": None if device is None else device.busy_share,
            "unit": row.unit,
            "occupancy": _occupancy_json(row),
            "launch": row.launches,
            "peak_memory_bytes": record.peak_memory_bytes,
            "max_abs_error": record.max_abs_error,
            "masked_row": record.masked_row,
            "masked_row_boolean": record.masked_row_boolean,
            "speedup": self.speedup(row),
            "floor_ns": self.floor_ns,
            "over_floor": self.over_floor(row),
            "trace": record.trace,
            "findings": [finding.to_json() for finding in row.findings],
        }

    def _repr_html_(self) -> str:
        from foretrace.report.notebook import comparison_html  # noqa: PLC0415 - only a notebook asks

        return comparison_html(self)

    def __str__(self) -> str:
        from foretrace.report.comparison_text import comparison_text  # noqa: PLC0415 - rich is for people

        return comparison_text(self)


def _occupancy_json(row: VariantRow) -> dict[str, Any] | None:
    if row.occupancy is None or row.main_kernel is None:
        return None
    return {"kernel": row.main_kernel.name, **row.occupancy.to_json()}


def _figure(figures: PerStep | None, name: str) -> dict[str, Any] | None:
    figure: Count | Spread | None = getattr(figures, name, None)
    return None if figure is None else figure.to_json()


def comparison(recording: Recording, folder: Path, *, replayed: bool = False) -> Comparison:
    """Read the traces of a recording. Raises ``MissingDataError`` when not one of them can be read."""
    rows = tuple(_row(record, folder) for record in recording.variants)
    broken = [row for row in rows if row.problem is not None]
    if broken and not any(row.ok for row in rows):
        raise MissingDataError(f"no trace in {folder} can be read; the first: {broken[0].problem}")
    return Comparison(recording, folder, rows, replayed)


def _row(record: VariantRecord, folder: Path) -> VariantRow:
    if record.trace is None:
        return VariantRow(record, None)
    try:
        return VariantRow(record, reading(load_trace(folder / record.trace)))
    except ForetraceError as error:
        return VariantRow(record, None, str(error))
