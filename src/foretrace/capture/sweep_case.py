"""Measure the variants of one case side by side: the same tensors, in turns, each with its own row.

A variant that fails becomes a row with the reason. Where memory ran out or the device is broken, the process that
it happened in is not to be trusted with another time: measuring stops there and says so, and whoever asked goes on
with the other variants in a fresh process.
"""

from __future__ import annotations

import math
import re
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from foretrace.capture.device import synchronize
from foretrace.capture.dispatched import dispatched_backend
from foretrace.capture.failure import is_memory, leaves_device_broken, status_of
from foretrace.capture.inputs import make_inputs
from foretrace.capture.measure import peak_memory, settle
from foretrace.capture.needs_torch import import_torch
from foretrace.capture.profile import profile
from foretrace.capture.reasons import reason
from foretrace.capture.recording import shape_info
from foretrace.capture.reference import max_abs_error, reference_output
from foretrace.capture.rounds import Effort, Repeated, Timing, interleaved
from foretrace.capture.sweep_row import SweepRow, case_name
from foretrace.capture.ties import YARDSTICK, winners
from foretrace.capture.turn import check_output, forget, on_device, variant_calls, warnings_heard
from foretrace.capture.variants import VARIANTS
from foretrace.capture.variants.sdpa import unpinned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import torch

    from foretrace.capture.attention import Candidate
    from foretrace.capture.inputs import AttentionInputs, Forward
    from foretrace.capture.recording import DeviceInfo
    from foretrace.capture.reference import Reference
    from foretrace.capture.shapes import AttentionShape

__all__ = ["CaseOptions", "Traces", "measure_case"]

Traces = Literal["all", "winners", "none"]

_WARMUP: Final = 3
# Of the seconds for repeating, for each variant: a time that still moves shows in the spread, and rounds go on.
_SETTLE_SHARE: Final = 0.15
_TRACED_STEPS: Final = 3
# Inputs are normal, so outputs are below about 5: a larger error than these is no rounding of the dtype.
_MOST_ERROR: Final = {"bfloat16": 0.25, "float16": 0.25, "float32": 0.02, "float64": 1e-6}
_SDPA: Final = frozenset({"math", "efficient", "flash", "cudnn"})


class CaseOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a case is measured."""

    spread: float = 0.01
    """The spread that is small enough, as a share of the median."""
    seconds: float = 2.0
    """The limit for repeating, for all variants of the case together."""
    traces: Traces = "none"
    samples: bool = False
    """Keep every run's time in the row."""


def measure_case(
    shape: AttentionShape,
    candidates: Sequence[Candidate],
    device: torch.device,
    *,
    about: DeviceInfo,
    options: CaseOptions,
    folder: Path,
    turn: Callable[[str], None],
    give: Callable[[SweepRow], None],
) -> bool:
    """Measure and give one row for each candidate; False when this process must not measure anything after it.

    ``turn`` is told whose turn it is ("" while the inputs are made); traces go to ``folder``. After False the
    candidates that no row was given for are still to be done.
    """
    case = _Case(shape, device, about, options, folder, turn, give)
    grad = nullcontext() if shape.training else import_torch().no_grad()
    with on_device(device), grad:
        try:
            return case.measure(candidates)
        finally:
            case.runners.clear()
            forget(device)


@dataclass
class _Runner:
    """A variant that has been built, held against the reference, and warmed up."""

    candidate: Candidate
    forward: Forward
    row: SweepRow


@dataclass
class _Case:
    """The case in hand."""

    shape: AttentionShape
    device: torch.device
    about: DeviceInfo
    options: CaseOptions
    folder: Path
    turn: Callable[[str], None]
    give: Callable[[SweepRow], None]
    runners: dict[str, _Runner] = field(default_factory=dict)

    def measure(self, candidates: Sequence[Candidate]) -> bool:
        self.turn("")
        try:
            inputs = make_inputs(self.shape, self.device)
            reference = reference_output(inputs)
            upstream = import_torch().randn_like(inputs.q.detach()) if self.shape.training else None
            synchronize(self.device)
        except Exception as error:  # noqa: BLE001 (one case is one case: whatever its inputs raise is its rows' reason)
            for candidate in candidates:
                row = self._failed(candidate.name, error, [])
                self.give(msgspec.structs.replace(row, reason=f"the inputs could not be made: {row.reason}"))
            return not _process_is_lost(error)
        for candidate in candidates:
            self.turn(candidate.name)
            raised = self._prepare(candidate, inputs, reference, upstream)
            if raised is not None and _process_is_lost(raised):
                return False
        timings = self._rounds(inputs, upstream)
        rows = [self._timed(runner, timings[name]) for name, runner in self.runners.items()]
        rows = self._with_traces(rows, inputs, upstream)
        for row in rows:
            self.give(row)
        return not any(timing.error is not None and _process_is_lost(timing.error) for timing in timings.values())

    def _prepare(
        self, candidate: Candidate, inputs: AttentionInputs, reference: Reference, upstream: torch.Tensor | None
    ) -> BaseException | None:
        """Build it and check its result; a failure is given as a row and returned."""
        if candidate.missing is not None:
            self.give(self._row(candidate.name, status="unsupported", reason=candidate.missing))
            return None
        settle_ns = round(1e9 * _SETTLE_SHARE * self.options.seconds)
        with warnings_heard() as said:
            try:
                forward = candidate.build(inputs)
                output = forward()
                synchronize(self.device)
                check_output(output, inputs)
                error = max_abs_error(output, reference)
                del output
                plain, _ = variant_calls(forward, inputs, upstream)
                settle(plain, self.device, at_least=_WARMUP, at_most_ns=settle_ns)
                memory = peak_memory(plain, self.device)
            except (Exception, SystemExit) as raised:  # noqa: BLE001 (whatever a variant raises is its reason)
                self.give(self._failed(candidate.name, raised, said))
                return raised
        row = self._row(
            candidate.name,
            status="ok",
            reason=self._wrong(error),
            backend=self._backend(candidate.name, inputs),
            peak_memory_bytes=memory,
            max_abs_error=error if math.isfinite(error) else None,
        )
        self.runners[candidate.name] = _Runner(candidate, forward, row)
        return None

    def _wrong(self, error: float) -> str | None:
        """What is wrong with a result that is this far from the reference."""
        if not math.isfinite(error):
            return "its output holds NaN or infinity where the reference does not."
        if error > _MOST_ERROR[self.shape.dtype]:
            return f"its output is off by {error:.2g} from attention in float64."
        return None

    def _rounds(self, inputs: AttentionInputs, upstream: torch.Tensor | None) -> dict[str, Timing]:
        calls: dict[str, Repeated] = {}
        for name, runner in self.runners.items():
            bare, pin = unpinned(runner.forward)
            calls[name] = Repeated(variant_calls(bare, inputs, upstream)[0], pin)
        effort = Effort(spread=self.options.spread, seconds=self.options.seconds)
        return interleaved(calls, self.device, effort, self.turn)

    def _timed(self, runner: _Runner, timing: Timing) -> SweepRow:
        if timing.error is not None:
            return self._failed(runner.candidate.name, timing.error, [])
        return msgspec.structs.replace(
            runner.row,
            time_ns=timing.summary(),
            host_ns=None if timing.host_ns is None else round(timing.host_ns),
            samples_ns=tuple(round(time) for time in timing.times_ns) if self.options.samples else None,
        )

    def _with_traces(
        self, rows: list[SweepRow], inputs: AttentionInputs, upstream: torch.Tensor | None
    ) -> list[SweepRow]:
        """Record the traces that were asked for; one that fails is left out, for the time stands without it."""
        if self.options.traces == "none":
            return rows
        chosen = {row.variant for row in rows if row.time_ns}
        if self.options.traces == "winners":
            chosen = {row.variant for row in winners(rows)} | ({YARDSTICK} & chosen)
        traced = []
        for row in rows:
            name = None
            if row.variant in chosen:
                self.turn(row.variant)
                name = self._trace(row, variant_calls(self.runners[row.variant].forward, inputs, upstream)[1])
            traced.append(msgspec.structs.replace(row, trace=name))
        return traced

    def _trace(self, row: SweepRow, annotated: Forward) -> str | None:
        variant = re.sub(r"[^A-Za-z0-9._-]+", "-", row.variant)
        path = self.folder / f"{row.case}-{variant}.json.gz"
        try:
            with profile(_TRACED_STEPS, path=path, device="cpu" if self.device.type == "cpu" else None) as recorded:
                for _ in range(recorded.calls_needed):
                    annotated()
                    recorded.step()
        except Exception:  # noqa: BLE001 (as above)
            path.unlink(missing_ok=True)
            return None
        return path.name

    def _backend(self, variant: str, inputs: AttentionInputs) -> str | None:
        if variant == YARDSTICK:
            return dispatched_backend(inputs)
        return variant if variant in _SDPA and variant in VARIANTS else None

    def _failed(self, variant: str, error: BaseException, said: Sequence[Any]) -> SweepRow:
        return self._row(variant, status=status_of(error), reason=reason(variant, error, said, self.device.type))

    def _row(self, variant: str, **values: Any) -> SweepRow:
        shape = shape_info(self.shape)
        return SweepRow(case=case_name(shape), variant=variant, shape=shape, device=self.about, **values)


def _process_is_lost(error: BaseException) -> bool:
    return is_memory(error) or leaves_device_broken(error)
