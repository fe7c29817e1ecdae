"""Record attention variants at one shape: a trace of each, and what is measured beside it.

Every variant gets the same tensors. In its turn each is built, called once, held against float64, warmed up until
its times settle, timed and weighed without the profiler, and only then profiled. A variant that cannot run here
becomes a record with the reason; nothing a variant raises ends the comparison.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from foretrace.capture.device import choose_device, describe_device, synchronize
from foretrace.capture.inputs import make_inputs
from foretrace.capture.masked_row import masked_row
from foretrace.capture.measure import peak_memory, settle, wall_time
from foretrace.capture.needs_torch import import_torch
from foretrace.capture.own_variant import own_forward
from foretrace.capture.profile import profile
from foretrace.capture.reasons import reason
from foretrace.capture.recording import Recording, VariantRecord, file_names, shape_info, write_recording
from foretrace.capture.reference import max_abs_error, reference_output
from foretrace.capture.target import load_target
from foretrace.capture.turn import check_output, forget, on_device, variant_calls, warnings_heard
from foretrace.capture.variants import VARIANTS, is_installed, variant_forward
from foretrace.errors import CaptureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import torch

    from foretrace.capture.inputs import AttentionInputs, Forward
    from foretrace.capture.reference import Reference
    from foretrace.capture.shapes import AttentionShape

    Progress = Callable[[str, int, int], None]

__all__ = ["MIN_STEPS", "Candidate", "chosen_variants", "record_attention"]

# A GPU's clocks take a while to rise; a CPU that other programs use never settles.
_SETTLE_NS: Final = (2_000_000_000, 1_000_000_000)
MIN_STEPS: Final = 3
"""Below this, a median over the steps would be no median."""


@dataclass(frozen=True)
class Candidate:
    """A variant to record: its name, and how to build it."""

    name: str
    build: Callable[[AttentionInputs], Forward]
    missing: str | None = None
    """Why it will not even be tried."""
    compiled: bool = False
    """It is compiled anew for each kind of input."""


def chosen_variants(names: Sequence[str] | None, own: Sequence[str | Callable[..., Any]] = ()) -> list[Candidate]:
    """The variants of these names, or all whose packages are here; then the user's own, MODULE:CALLABLE or callables.

    Raises ``UsageError`` for a name that does not exist, ``CaptureError`` when a module does not import.
    """
    asked = names is not None
    candidates: list[Candidate] = []
    for name in dict.fromkeys(VARIANTS if names is None else names):
        variant = VARIANTS.get(name)
        if variant is None:
            near = get_close_matches(name, VARIANTS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(VARIANTS)}."
            raise UsageError(f"no variant {name!r}; {hint}")
        missing = None
        if not is_installed(variant):
            if not asked:
                continue
            missing = f"{variant.package} is not installed here; pip install {variant.install}."
        elif name == "kernels" and not asked:
            missing = _not_fetched()
        candidates.append(Candidate(name, partial(variant_forward, variant), missing, variant.compiled))
    taken = {candidate.name for candidate in candidates}
    for target in own:
        function = load_target(target) if isinstance(target, str) else target
        full = target if isinstance(target, str) else f"{target.__module__}:{target.__qualname__}"
        name = next((word for word in (full.rpartition(":")[2], full) if word not in taken), "")
        if not name:
            raise UsageError(f"the variant {full} is given twice; leave one out.")
        taken.add(name)
        candidates.append(Candidate(name, partial(own_forward, function)))
    if not candidates:
        raise UsageError("no variant is left to compare; name at least one with --variants.")
    return candidates


def _not_fetched() -> str | None:
    """Nobody's default run downloads and executes code from the Hub: only a kernel that is cached is run."""
    from foretrace.capture.variants.kernels import REPOSITORY, is_cached

    if is_cached():
        return None
    return f"{REPOSITORY} is not in the Hub's cache; --variants kernels downloads it."


def record_attention(
    shape: AttentionShape,
    candidates: Sequence[Candidate],
    folder: Path,
    *,
    device: str | None = None,
    steps: int = 5,
    warmup: int = 10,
    progress: Progress | None = None,
) -> Recording:
    """Record each candidate into ``folder`` and write ``attention.json`` there, anew after each variant.

    ``warmup`` is the least number of calls before anything is measured. ``progress`` is told the variant's name, how
    many are done, and how many there are.

    Raises ``UsageError`` for fewer than three steps, ``CaptureError`` without torch or when the inputs do not fit.
    """
    if steps < MIN_STEPS:
        raise UsageError(f"--steps is {steps}; record at least {MIN_STEPS}, so that a median means something.")
    torch = import_torch()
    where = choose_device(device)
    try:
        with on_device(where):
            inputs = make_inputs(shape, where)
            reference = reference_output(inputs)
            upstream = torch.randn_like(inputs.q.detach()) if shape.training else None
    except (RuntimeError, MemoryError) as error:
        raise CaptureError(f"the inputs do not fit on {where}: {_first_line(error)}; use a smaller shape.") from error
    session = _Session(shape, where, inputs, reference, upstream, steps, warmup)
    traces = file_names(candidate.name for candidate in candidates)
    records: list[VariantRecord] = []
    recording = Recording(
        device=describe_device(where),
        shape=shape_info(shape),
        error_heads=reference.heads,
        error_of_heads=reference.of_heads,
    )
    for done, candidate in enumerate(candidates):
        if progress is not None:
            progress(candidate.name, done, len(candidates))
        records.append(session.record(candidate, folder / traces[candidate.name]))
        recording = _with(recording, records)
        write_recording(folder, recording)
    if progress is not None:
        progress("", len(candidates), len(candidates))
    return recording


def _with(recording: Recording, records: list[VariantRecord]) -> Recording:
    return msgspec.structs.replace(recording, variants=tuple(records))


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


@dataclass(frozen=True)
class _Session:
    """What all variants of one comparison share."""

    shape: AttentionShape
    device: torch.device
    inputs: AttentionInputs
    reference: Reference
    upstream: torch.Tensor | None
    """Gradient of the output, in training."""
    steps: int
    warmup: int

    def record(self, candidate: Candidate, trace: Path) -> VariantRecord:
        """Record one variant, or the reason why it cannot run."""
        if candidate.missing is not None:
            return VariantRecord(variant=candidate.name, status="unsupported", reason=candidate.missing)
        trace.unlink(missing_ok=True)
        with on_device(self.device), warnings_heard() as said:
            try:
                return self._recorded(candidate, trace)
            except Exception as error:  # noqa: BLE001 (one variant is one case: whatever it raises is its reason)
                trace.unlink(missing_ok=True)
                why = reason(candidate.name, error, said, self.device.type)
                return VariantRecord(variant=candidate.name, status="unsupported", reason=why)
            finally:
                forget(self.device)

    def _recorded(self, candidate: Candidate, trace: Path) -> VariantRecord:
        import torch

        with nullcontext() if self.shape.training else torch.no_grad():
            forward = candidate.build(self.inputs)
            output = forward()
            synchronize(self.device)
            check_output(output, self.inputs)
            error = max_abs_error(output, self.reference)
            del output
            plain, annotated = variant_calls(forward, self.inputs, self.upstream)
            settle(plain, self.device, at_least=self.warmup, at_most_ns=_SETTLE_NS[self.device.type == "cpu"])
            wall = wall_time(plain, self.device)
            memory = peak_memory(plain, self.device)
            device = "cpu" if self.device.type == "cpu" else None
            with profile(self.steps, path=trace, device=device) as recorded:
                for _ in recorded.steps():
                    annotated()
            boolean = masked_row(candidate.build, self.shape, self.device, "bool")
            # One more compilation would only say the same: what is compiled is our own masking either way.
            added = None if candidate.compiled else masked_row(candidate.build, self.shape, self.device, "float")
        finite = math.isfinite(error)
        return VariantRecord(
            variant=candidate.name,
            reason=None if finite else "its output holds NaN or infinity where the reference does not.",
            trace=trace.name,
            wall_time_ns=wall,
            peak_memory_bytes=memory,
            max_abs_error=error if finite else None,
            masked_row=added or boolean,
            masked_row_boolean=boolean,
        )
