"""A worker process: one device, one case at a time, until it is told to go or whoever started it is gone.

    python -m foretrace.sweep.worker DEVICE THREADS FOLDER [PATH...]

Jobs come on standard input, replies go to standard output, as lines of ``sweep.protocol``. Whatever a variant prints
goes to standard error.
"""

from __future__ import annotations

import gc
import os
import queue
import shutil
import signal
import sys
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from foretrace.capture.attention import Candidate, chosen_variants
from foretrace.capture.device import choose_device, describe_device
from foretrace.capture.needs_torch import import_torch
from foretrace.capture.own_variant import own_forward
from foretrace.capture.shapes import AttentionShape
from foretrace.capture.sweep_case import measure_case
from foretrace.capture.target import load_target
from foretrace.errors import ForetraceError
from foretrace.sweep.protocol import Done, Given, Hello, Job, Sorry, Turn, VariantRef, decode_job, line

if TYPE_CHECKING:
    import torch

    from foretrace.capture.inputs import AttentionInputs, Forward
    from foretrace.capture.recording import DeviceInfo
    from foretrace.capture.sweep_row import SweepRow

__all__ = ["main"]

_FIRST_VICTIM = "500"  # when memory runs out, Linux should end the worker, not the sweep or somebody else


class _Voice:
    """Says things to whoever started the process."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def say(self, message: msgspec.Struct) -> None:
        self._out.write(line(message))
        self._out.flush()


def main(arguments: list[str]) -> None:
    """Serve jobs until standard input ends."""
    device_name, threads, folder, *paths = arguments
    voice = _Voice(_claim_output())
    jobs = _jobs(folder)
    sys.path.extend(path for path in paths if path not in sys.path)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_VICTIM, encoding="ascii")
    try:
        torch = import_torch()
        if int(threads):
            torch.set_num_threads(int(threads))
        device = choose_device(device_name or None)
        about = describe_device(device)
        devices = 1 if device.type == "cpu" else getattr(torch, device.type).device_count()
    except Exception as error:  # noqa: BLE001 (whatever keeps the worker from starting is what the sweep must say)
        voice.say(Sorry(str(error) if isinstance(error, ForetraceError) else f"{type(error).__name__}: {error}"))
        return
    # Each case ends with a search for garbage; what importing torch made need not be searched every time.
    gc.freeze()
    voice.say(Hello(about, devices))
    while (job := jobs.get()) is not None:
        voice.say(Done(_measure(job, device, about, Path(folder), voice)))


def _claim_output() -> BinaryIO:
    """Keep standard output for replies; what a variant prints goes to standard error."""
    sys.stdout.flush()
    claimed = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return claimed


def _jobs(folder: str) -> queue.SimpleQueue[Job | None]:
    """The jobs as they come, read in a thread that ends the process, busy or hung, when no more can come."""
    jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()

    def read() -> None:
        for text in sys.stdin.buffer:
            jobs.put(decode_job(text))
        # Whoever started this process may be gone, and then nobody else clears up after it.
        shutil.rmtree(folder, ignore_errors=True)
        if os.getpid() == os.getpgid(0):
            # With it go the helpers that compiling variants start.
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=read, daemon=True).start()
    return jobs


def _measure(job: Job, device: torch.device, about: DeviceInfo, folder: Path, voice: _Voice) -> bool:
    def give(row: SweepRow) -> None:
        voice.say(Given(_with_counts(row, folder)))

    return measure_case(
        AttentionShape(**msgspec.structs.asdict(job.shape)),
        [_candidate(reference) for reference in job.variants],
        device,
        about=about,
        options=job.options,
        folder=folder,
        turn=lambda name: voice.say(Turn(name)),
        give=give,
    )


def _candidate(reference: VariantRef) -> Candidate:
    if reference.target is None:
        return chosen_variants([reference.name])[0]
    return Candidate(reference.name, partial(_own, reference.target))


def _own(target: str, inputs: AttentionInputs) -> Forward:
    """The user's callable, loaded in its turn, so that a module that does not import is its variant's failure."""
    function: Any = load_target(target)
    return own_forward(function, inputs)


def _with_counts(row: SweepRow, folder: Path) -> SweepRow:
    """The row with what its trace counts a call; as it is when there is no trace or nothing ran on a device."""
    if row.trace is None:
        return row
    from foretrace.analysis.timeline import timeline  # noqa: PLC0415 - only where traces are asked for
    from foretrace.trace.load import load_trace  # noqa: PLC0415 - the same

    try:
        trace = load_trace(folder / row.trace)
    except ForetraceError:
        return row
    if not trace.has_device_activity:
        return row
    step = timeline(trace).per_step
    return msgspec.structs.replace(
        row, kernels=int(step.kernels.value), memcpys=int(step.memcpys.value), memsets=int(step.memsets.value)
    )


if __name__ == "__main__":
    main(sys.argv[1:])
