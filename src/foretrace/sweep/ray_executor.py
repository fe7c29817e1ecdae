"""Cases as tasks of a Ray cluster: each asks for one GPU (or for CPUs), and Ray says where it runs.

Every node needs this release of foretrace and torch installed, and Ray. A task measures its case in a worker process
of its own, as a sweep on one machine does, so a variant that crashes, hangs or eats the memory takes no part of Ray
with it. Ray itself runs a task again when its node dies.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any, Final

import msgspec

from foretrace._version import __version__
from foretrace.capture.sweep_row import SweepRow
from foretrace.errors import CaptureError, MissingDataError, UsageError
from foretrace.sweep.executor import CaseEnd
from foretrace.sweep.protocol import Job, decode_job, line
from foretrace.sweep.session import Measured, Session

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RayExecutor"]

_RETRIES: Final = 3
_AHEAD: Final = 2  # tasks handed to Ray for each that can run: nothing idles, and a cluster that can grow sees why
_LEAST_AHEAD: Final = 4
_POLL_S: Final = 5.0
_KNOCK_S: Final = 10.0

# In a process of Ray's: the session that measured the last case here, kept for the next one.
_kept: dict[tuple[str, int, str], Session] = {}


class RayExecutor:
    """Tasks on a Ray cluster: ``auto`` is the one this machine belongs to, ``local`` one that is made for the sweep.

    Raises ``MissingDataError`` without Ray, ``CaptureError`` when there is no such cluster or it has no such device.
    """

    def __init__(self, address: str, device: str | None = None, threads: int | None = None) -> None:
        if device is not None and ":" in device:
            raise UsageError(f"--device is {device}, but Ray chooses among its GPUs; use cuda or cpu.")
        if threads is not None and threads < 1:
            raise UsageError(f"--threads is {threads}; it must be at least 1.")
        self._ray = _ray()
        self._device = device
        self._threads = threads or 1
        self._ours = not self._ray.is_initialized()
        if self._ours:
            self._join(address)

    def _join(self, address: str) -> None:
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if address == "local":
            options["include_dashboard"] = False
        try:
            _knock(address)
            self._ray.init(address=address, **options)
        except (OSError, RuntimeError, ValueError) as error:
            what = str(error).strip().splitlines() or [type(error).__name__]
            raise CaptureError(
                f"no Ray cluster at {address!r}: {what[0].rstrip('.')}; start one with `ray start --head`, or use "
                "--ray local."
            ) from error

    @property
    def device_type(self) -> str:
        """``cuda`` where the cluster has GPUs, else ``cpu``; or what was asked for."""
        has_gpu = self._ray.cluster_resources().get("GPU", 0) > 0
        if self._device is None:
            return "cuda" if has_gpu else "cpu"
        if self._device != "cpu" and not has_gpu:
            raise CaptureError(
                f"the Ray cluster has no GPU for --device {self._device}; leave --device out, or use cpu."
            )
        return self._device

    def results(self, jobs: Iterator[Job]) -> Iterator[Measured | CaseEnd]:
        """Rows case by case, as the tasks end. Raises ``CaptureError`` when a node cannot measure anything."""
        kind = self.device_type
        needs: dict[str, Any] = {"num_cpus": 1, "num_gpus": 1} if kind != "cpu" else {"num_cpus": self._threads}
        # A task with a GPU would end its process with itself; the process holds the worker for the next case.
        task = self._ray.remote(max_calls=0, max_retries=_RETRIES, **needs)(_measure)
        pending: dict[Any, Job] = {}
        more = True
        while True:
            while more and len(pending) < self._ahead(needs):
                job = next(jobs, None)
                if job is None:
                    more = False
                else:
                    pending[task.remote(line(job), kind, self._threads, __version__)] = job
            if not pending:
                return
            ended, _ = self._ray.wait(list(pending), num_returns=1, timeout=_POLL_S)
            for reference in ended:
                yield from self._result(reference, pending.pop(reference))

    def _ahead(self, needs: dict[str, Any]) -> int:
        resource, each = ("GPU", 1) if "num_gpus" in needs else ("CPU", needs["num_cpus"])
        return max(_LEAST_AHEAD, int(_AHEAD * self._ray.cluster_resources().get(resource, 0) // each))

    def _result(self, reference: Any, job: Job) -> Iterator[Measured | CaseEnd]:
        try:
            answer = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            # Ray has tried it on other nodes as well.
            said = (str(error).strip().splitlines() or [type(error).__name__])[0]
            for variant in job.variants:
                yield Measured(
                    SweepRow(
                        case=job.case,
                        variant=variant.name,
                        status="crashed",
                        reason=f"Ray gave the task up after {_RETRIES} retries: {said}",
                        shape=job.shape,
                    )
                )
        else:
            if isinstance(answer, str):
                raise CaptureError(answer)
            for row, trace in answer:
                yield Measured(msgspec.json.decode(row, type=SweepRow), trace)
        yield CaseEnd(job.case)

    def close(self) -> None:
        """Leave the cluster; what still runs for this sweep ends with that."""
        if self._ours and self._ray.is_initialized():
            self._ray.shutdown()


def _knock(address: str) -> None:
    """Whether anybody listens at HOST:PORT, for Ray asks itself that for minutes. Raises ``OSError``."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_KNOCK_S).close()


def _ray() -> Any:
    # Ray's own wish for the next release, and statistics that nobody here was asked about.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray  # noqa: PLC0415 - imported only where it is chosen
    except ImportError as error:
        raise MissingDataError(
            "--ray needs Ray, which is not installed here; install it with pip install 'foretrace[ray]'."
        ) from error
    return ray


def _measure(text: bytes, device: str, threads: int, version: str) -> list[tuple[bytes, bytes | None]] | str:
    """What a task does, in a process of Ray's: the rows and traces of a case, or why this node cannot measure."""
    if version != __version__:
        return f"a node of the Ray cluster has foretrace {__version__}, the sweep {version}; install the same on both."
    job = decode_job(text)
    key = (device, threads, os.environ.get("CUDA_VISIBLE_DEVICES", ""))
    if key not in _kept:
        for session in _kept.values():
            session.close()
        _kept.clear()
        _kept[key] = Session(device, threads)
    try:
        return [(msgspec.json.encode(found.row), found.trace) for found in _kept[key].measure(job)]
    except CaptureError as error:
        return f"a node of the Ray cluster cannot measure: {error}"
