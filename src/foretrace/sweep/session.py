"""Cases on one device, whatever the variants do: the worker is replaced when one crashes, hangs or eats the memory.

The variant whose turn it was is to blame and becomes a row with the reason; the others of the case are measured
again in a fresh worker. A worker that was ended is given the same variant once more, for the blame may lie with
somebody else (a job scheduler, an operator, the kernel's out-of-memory killer).
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from foretrace.capture.sweep_row import SweepRow
from foretrace.errors import CaptureError
from foretrace.sweep.process import Worker, WorkerGoneError
from foretrace.sweep.protocol import Done, Given, Job, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.capture.recording import DeviceInfo
    from foretrace.capture.sweep_row import Status

__all__ = ["Measured", "Session"]

_TRIES: Final = 2
# Whoever hangs is told by its own limit; making the inputs, and what a turn costs around it, get this many seconds.
_SLACK: Final = 60.0


@dataclass(frozen=True)
class Measured:
    """A row, and its trace if one was recorded."""

    row: SweepRow
    trace: bytes | None = None


@dataclass(frozen=True)
class _End:
    """How a worker's work on a case came to an end before the case did."""

    status: Status
    reason: str
    variant: str
    """Whose turn it was."""


class Session:
    """Measures one case after the other on one device."""

    def __init__(self, device: str | None = None, threads: int = 0) -> None:
        self._device = device
        self._threads = threads
        self._worker: Worker | None = None
        self._about: DeviceInfo | None = None
        self._closed = threading.Event()

    def start(self) -> Worker:
        """The worker, started if there is none. Raises ``CaptureError`` when none comes up."""
        if self._closed.is_set():
            raise CaptureError("the sweep was stopped.")
        if self._worker is None:
            self._worker = Worker(self._device, self._threads)
            self._about = self._worker.hello.device
            if self._closed.is_set():  # by another thread, meanwhile
                self._replace()
                raise CaptureError("the sweep was stopped.")
        return self._worker

    def close(self) -> None:
        """End the worker, whatever it is doing; a case in hand then ends without further rows."""
        self._closed.set()
        self._replace()

    def _replace(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end()

    def measure(self, job: Job) -> Iterator[Measured]:
        """One row for each variant of the case. Raises ``CaptureError`` when no worker comes up any more."""
        left = {variant.name: variant for variant in job.variants}
        deaths: Counter[str] = Counter()
        while left and not self._closed.is_set():
            worker = self.start()
            before = len(left)
            end: _End | None = None
            for word in self._attempt(worker, msgspec.structs.replace(job, variants=tuple(left.values()))):
                if isinstance(word, _End):
                    end = word
                    break
                left.pop(word.row.variant, None)
                yield word
            if self._closed.is_set():
                return
            if end is None and len(left) < before:
                continue
            if end is None:
                end = _End("crashed", "its worker process ended the case without a row for it.", "")
                deaths[""] = _TRIES
            self._replace()
            deaths[end.variant] += 1
            if end.status == "crashed" and deaths[end.variant] < _TRIES:
                continue
            for name in [end.variant] if end.variant else list(left):
                if left.pop(name, None) is not None:
                    yield Measured(self._row(job, name, end))

    def _attempt(self, worker: Worker, job: Job) -> Iterator[Measured | _End]:
        """Rows as they come, and how it ended if it did not end well."""
        variant = ""
        spent: defaultdict[str, float] = defaultdict(float)
        try:
            worker.send(job)
            since = time.monotonic()
            while True:
                limit = job.limit if variant else job.limit + _SLACK
                reply = worker.reply(since + limit - spent[variant] - time.monotonic())
                now = time.monotonic()
                spent[variant] += now - since
                since = now
                if isinstance(reply, Given):
                    yield Measured(reply.row, _trace(worker, reply.row))
                elif isinstance(reply, Done):
                    if not reply.sound:
                        self._replace()
                    return
                elif isinstance(reply, Turn):
                    variant = reply.variant
        except TimeoutError:
            what = "making the inputs" if not variant else "it"
            yield _End("timed-out", f"{what} took longer than the limit of {job.limit:g} s.", variant)
        except WorkerGoneError as gone:
            yield _End("crashed", f"its worker process died: {gone}.", variant)

    def _row(self, job: Job, name: str, end: _End) -> SweepRow:
        return SweepRow(
            case=job.case,
            variant=name,
            status=end.status,
            reason=end.reason,
            shape=job.shape,
            device=self._about,
        )


def _trace(worker: Worker, row: SweepRow) -> bytes | None:
    if row.trace is None:
        return None
    path = worker.folder / row.trace
    try:
        content = path.read_bytes()
        path.unlink()
    except OSError:
        return None
    return content
