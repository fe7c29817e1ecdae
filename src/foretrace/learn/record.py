"""Make the recordings of the lessons, or of one, on the device that is here."""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Final

import msgspec

from foretrace._version import __version__
from foretrace.errors import CaptureError, ForetraceError, UsageError
from foretrace.learn.programs import PROGRAMS, Program
from foretrace.learn.recorded import ABOUT, About, Notes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import torch

__all__ = ["record"]

_STEPS: Final = 3
_WARMUP: Final = 5
_SETTLE_NS: Final = 500_000_000
_ROW_VARIANTS: Final = ("naive", "math", "efficient", "flash", "cudnn")
_WEIGHED: Final = ("attention-naive", "attention-inplace")


def record(
    folder: Path,
    names: Sequence[str] | None = None,
    *,
    device: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> About:
    """Record programs into a folder and write ``lessons.json`` there; a program that cannot run leaves its reason.

    Args:
        folder: where to; made if it is not there.
        names: recordings to make; all where not given.
        device: a CUDA device; the current one where not given.
        progress: told the recording's name, how many are done, and how many there are.

    Raises:
        UsageError: there is no such recording.
        CaptureError: torch or a CUDA device is missing.

    """
    from foretrace.capture.device import choose_device, describe_device  # noqa: PLC0415 - imports torch

    chosen = [PROGRAMS[name] for name in _known(names)]
    where = choose_device(device)
    _needs_gpu(where)
    folder.mkdir(parents=True, exist_ok=True)
    refused: dict[str, str] = {}
    memory: dict[str, int] = {}
    for number, program in enumerate(chosen):
        if progress is not None:
            progress(program.name, number, len(chosen))
        path = folder / f"{program.name}.json.gz"
        path.unlink(missing_ok=True)
        try:
            peak = _record(program, path, where)
        except Exception as error:  # noqa: BLE001 - one program is one case: whatever it raises is its reason
            path.unlink(missing_ok=True)
            refused[program.name] = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:300]}"
            continue
        if peak is not None:
            memory[program.name] = peak
    if progress is not None:
        progress("", len(chosen), len(chosen))
    about = About(
        foretrace=__version__,
        device=describe_device(where),
        refused=refused,
        notes=_notes(where, memory),
    )
    (folder / ABOUT).write_bytes(msgspec.json.format(msgspec.json.encode(about), indent=1) + b"\n")
    return about


def _needs_gpu(device: torch.device) -> None:
    if device.type != "cuda":
        raise CaptureError(
            "lessons are about what a CUDA device does, and there is none here; leave --live out to use the recordings."
        )


def _known(names: Sequence[str] | None) -> list[str]:
    """The recordings of these names, in the order in which they are made."""
    unknown = [name for name in names or () if name not in PROGRAMS]
    if unknown:
        raise UsageError(f"there is no recording {unknown[0]}; there are {', '.join(PROGRAMS)}.")
    return [name for name in PROGRAMS if names is None or name in names]


def _record(program: Program, path: Path, device: torch.device) -> int | None:
    """Record one; gives the peak memory of a call where that is asked for."""
    import torch  # noqa: PLC0415 - recording needs it, reading does not

    from foretrace.capture.measure import peak_memory, settle  # noqa: PLC0415 - the same
    from foretrace.capture.profile import profile  # noqa: PLC0415 - the same
    from foretrace.capture.turn import forget, on_device  # noqa: PLC0415 - the same

    module = importlib.import_module(f"foretrace.learn.programs.{program.module}")
    try:
        # torch warns of recordings without warm-up, which is what some of these are about.
        with on_device(device), torch.set_grad_enabled(program.training), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            step = getattr(module, program.maker)(device)
            if program.how == "first":
                with profile(_STEPS, wait=0, warmup=0, path=path) as recorded:
                    for _ in recorded.steps():
                        step()
                return None
            settle(step, device, at_least=_WARMUP, at_most_ns=_SETTLE_NS)
            if program.how == "plain":
                module.record_plainly(step, path)
                return None
            with profile(_STEPS, path=path) as recorded:
                for _ in recorded.steps():
                    step()
            return peak_memory(step, device) if program.name in _WEIGHED else None
    finally:
        forget(device)


def _notes(device: torch.device, memory: dict[str, int]) -> Notes:
    """What is measured beside the traces."""
    from foretrace.learn.programs import attention  # noqa: PLC0415 - imports torch

    try:
        said, difference = attention.what_autograd_says(device), attention.gradient_difference(device)
    except RuntimeError:
        said = difference = None
    rows = _masked_rows(device)
    return Notes(autograd=said, gradient_difference=difference, masked_rows=rows, peak_memory_bytes=memory)


def _masked_rows(device: torch.device) -> dict[str, str]:
    from functools import partial  # noqa: PLC0415 - with the rest

    from foretrace.capture.masked_row import masked_row  # noqa: PLC0415 - imports torch
    from foretrace.capture.shapes import AttentionShape, default_shape  # noqa: PLC0415 - with the rest
    from foretrace.capture.variants import VARIANTS, variant_forward  # noqa: PLC0415 - the same

    sizes = default_shape(device.type)
    shape = AttentionShape(
        batch=1,
        heads=1,
        kv_heads=1,
        length=128,
        kv_length=128,
        head_dim=64,
        dtype=str(sizes["dtype"]),
        causal=False,
        mask="float",
        training=False,
    )
    found: dict[str, str] = {}
    for name in _ROW_VARIANTS:
        try:
            # torch warns of each backend that the pinned one leaves out, which is what pinning means.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                said = masked_row(partial(variant_forward, VARIANTS[name]), shape, device, "float")
        except (RuntimeError, ForetraceError):
            continue
        if said is not None:
            found[name] = said
    return found
