"""Cases in processes on this machine: one worker process for each device, or for the CPU."""

from __future__ import annotations

import os
import queue
import threading
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from foretrace.errors import CaptureError, UsageError
from foretrace.sweep.executor import CaseEnd
from foretrace.sweep.session import Measured, Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.sweep.protocol import Job

    _Word = Measured | CaseEnd | BaseException | None

__all__ = ["LocalExecutor"]


class LocalExecutor:
    """One ``Session`` for each visible GPU; on a CPU one, or as many ``workers`` as are asked for.

    ``threads`` is what each worker computes with on a CPU; 0 is the CPUs over the workers.

    Raises ``UsageError`` for numbers that make no sense.
    """

    def __init__(self, device: str | None = None, workers: int | None = None, threads: int | None = None) -> None:
        for word, number in (("workers", workers), ("threads", threads)):
            if number is not None and number < 1:
                raise UsageError(f"--{word} is {number}; it must be at least 1.")
        self._device = device
        self._workers = workers
        self._threads = threads or (0 if workers in (None, 1) else max(1, _cpus() // (workers or 1)))
        self._sessions: list[Session] = []

    @property
    def device_type(self) -> str:
        """``cuda``, ``xpu`` or ``cpu``."""
        return self._started()[0].start().hello.device.type

    def _started(self) -> list[Session]:
        """The sessions, the first of them started: its worker knows what devices are here."""
        if self._sessions:
            return self._sessions
        first = Session(self._device, self._threads)
        self._sessions = [first]
        hello = first.start().hello
        kind = hello.device.type
        if kind == "cpu":
            names = ["cpu"] * (self._workers or 1)
        else:
            here = 1 if self._device is not None and ":" in self._device else hello.devices
            if (self._workers or 1) > here:
                raise UsageError(f"--workers is {self._workers}, but there is one for each device and {here} here.")
            names = [f"{kind}:{index}" for index in range(self._workers or here)]
        self._sessions += [Session(name, self._threads) for name in names[1:]]
        return self._sessions

    def results(self, jobs: Iterator[Job]) -> Iterator[Measured | CaseEnd]:
        """Rows as they come. Raises ``CaptureError`` when no device is left."""
        sessions = list(self._started())
        returned: list[Job] = []
        while True:
            lost: dict[int, CaptureError] = {}
            yield from self._round(sessions, chain(returned.copy(), jobs), returned, lost)
            if not lost:
                return
            sessions = [session for at, session in enumerate(sessions) if at not in lost]
            if not sessions:
                raise next(iter(lost.values()))

    @staticmethod
    def _round(
        sessions: list[Session], jobs: Iterator[Job], returned: list[Job], lost: dict[int, CaptureError]
    ) -> Iterator[Measured | CaseEnd]:
        """Let every session take jobs until there are none; cases of a session that is lost go to ``returned``."""
        returned.clear()
        gate = threading.Lock()
        out: queue.SimpleQueue[_Word] = queue.SimpleQueue()

        def serve(at: int, session: Session) -> None:
            try:
                while True:
                    with gate:
                        job = next(jobs, None)
                    if job is None:
                        return
                    _serve(session, job, returned, out)
            except CaptureError as error:
                lost[at] = error
            except BaseException as error:  # noqa: BLE001 (the thread that asked for results raises it)
                out.put(error)
            finally:
                out.put(None)

        for at, session in enumerate(sessions):
            threading.Thread(target=serve, args=(at, session), daemon=True).start()
        running = len(sessions)
        while running:
            word = out.get()
            if word is None:
                running -= 1
            elif isinstance(word, BaseException):
                raise word
            else:
                yield word

    def close(self) -> None:
        """End all workers."""
        for session in self._sessions:
            session.close()


def _serve(session: Session, job: Job, returned: list[Job], out: queue.SimpleQueue[_Word]) -> None:
    """One case; where its device is lost, what is left of the case goes back for another device."""
    left = {variant.name: variant for variant in job.variants}
    try:
        for measured in session.measure(job):
            left.pop(measured.row.variant, None)
            out.put(measured)
    except CaptureError:
        returned.append(msgspec.structs.replace(job, variants=tuple(left.values())))
        raise
    out.put(CaseEnd(job.case))


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
