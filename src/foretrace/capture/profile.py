"""``foretrace.profile``: torch.profiler with warm-up, schedule, shapes and export done right.

    with foretrace.profile(steps=3) as p:
        for _ in p.steps():
            train(batch)
    p.trace

or, in a loop of your own, ``p.step()`` at the end of each iteration.

The first calls of ``step()`` pass unrecorded (a wait, then the profiler's own warm-up); the device is synchronized
right before the first recorded step and right after the last, never in between, so that no step is charged for
another's work. The trace is written once and read back.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from foretrace.capture.device import choose_device
from foretrace.capture.measure import settle
from foretrace.capture.needs_torch import import_torch
from foretrace.errors import CaptureError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from foretrace.trace.model import Trace

__all__ = ["profile", "profile_callable"]

_SUFFIXES = (".json", ".json.gz")


class profile:  # noqa: N801 (a context manager, named as the function people call)
    """Record a trace of the code in the ``with`` block and read it.

    Args:
        steps: Steps to record. Call ``step()`` at the end of each iteration, at least ``wait + warmup + steps``
            times. None records the whole block as one window instead; ``step()`` may still be called in it.
        wait: Steps that pass before the profiler is switched on.
        warmup: Steps that the profiler runs but throws away: the first ones after switching it on are slowed.
        path: Where to write the trace, ``.json`` or ``.json.gz``; None keeps it only until it is read.
        device: ``"cpu"`` leaves the GPU out; None records whatever devices are here.
        record_shapes: Record shapes, dtypes and strides of each op's inputs.
        with_stack: Record Python frames and the time of each ``nn.Module``; slows the CPU side noticeably.
        profile_memory: Record allocations.

    Raises:
        UsageError: The arguments make no sense.
        CaptureError: torch is missing, nothing was recorded, or the trace could not be written.
    """

    def __init__(
        self,
        steps: int | None = 3,
        *,
        wait: int = 1,
        warmup: int = 2,
        path: str | Path | None = None,
        device: str | None = None,
        record_shapes: bool = True,
        with_stack: bool = False,
        profile_memory: bool = False,
    ) -> None:
        if steps is not None and steps < 1:
            raise UsageError(f"steps is {steps}; record at least one step, or pass None to record the whole block.")
        if wait < 0 or warmup < 0:
            raise UsageError(f"wait is {wait} and warmup {warmup}; neither may be negative.")
        if path is not None and not str(path).endswith(_SUFFIXES):
            raise UsageError(f"the trace would be written to {path}; its name must end in .json or .json.gz.")
        self.path = None if path is None else Path(path)
        self._steps = steps
        self._first = wait + warmup
        self._calls = 0
        self._trace: Trace | None = None
        self._written: Path | None = None
        self._discard: Callable[[], Any] | None = None
        self._torch = import_torch()
        self._device = None if device == "cpu" else _device_type()
        self.profiler: Any = self._torch.profiler.profile(
            activities=self._activities(),
            schedule=None if steps is None else self._schedule(wait, warmup, steps),
            on_trace_ready=self._write,
            record_shapes=record_shapes,
            with_stack=with_stack,
            profile_memory=profile_memory,
            acc_events=True,
        )
        """The ``torch.profiler.profile`` underneath."""

    def _activities(self) -> list[Any]:
        from torch import profiler

        kinds = profiler.ProfilerActivity
        device = {"cuda": kinds.CUDA, "xpu": kinds.XPU}.get(self._device or "")
        return [kinds.CPU] if device is None else [kinds.CPU, device]

    def _schedule(self, wait: int, warmup: int, steps: int) -> Callable[[int], Any]:
        from torch import profiler

        planned = profiler.schedule(wait=wait, warmup=warmup, active=steps, repeat=1)
        edges = (self._first, self._first + steps)

        def schedule(step: int) -> Any:
            # torch asks for the action of a step after it has closed the range of the step before and before it
            # switches recording on or off: the one moment that lies outside every step.
            if step in edges:
                self._synchronize()
            return planned(step)

        return schedule

    def __enter__(self) -> Self:
        if self._steps is None:
            self._synchronize()
        self.profiler.__enter__()
        return self

    @property
    def written(self) -> Path | None:
        """Where the trace lies, once it is recorded; a trace without a ``path`` lies there only until it is read."""
        return self._written

    @property
    def calls_needed(self) -> int:
        """How often ``step()`` must be called until every asked-for step is recorded."""
        return 0 if self._steps is None else self._first + self._steps

    def steps(self) -> Iterator[int]:
        """Iterate as often as it takes until every asked-for step is recorded, with a ``step()`` after each.

        Raises ``UsageError`` where the whole block is recorded, so that no number of steps was asked for.
        """
        if self._steps is None:
            raise UsageError("foretrace.profile(steps=None) records the whole block; give it a number to use steps().")
        for number in range(self.calls_needed):
            yield number
            self.step()

    def step(self) -> None:
        """Say that a step has ended (and the next begins)."""
        self._calls += 1
        self.profiler.step()

    def __exit__(
        self, kind: type[BaseException] | None, _error: BaseException | None, _where: TracebackType | None
    ) -> None:
        self._synchronize()
        self.profiler.__exit__(None, None, None)
        if kind is not None:
            return
        if self._written is not None and self._calls < self.calls_needed:
            warnings.warn(
                f"step() was called {self._calls} times, so fewer than the {self._steps} steps asked for were "
                f"recorded whole; call it {self.calls_needed} times.",
                stacklevel=2,
            )

    def _write(self, profiler: Any) -> None:
        target = self.path
        if target is None:
            folder = tempfile.mkdtemp(prefix="foretrace-")
            self._discard = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            target = Path(folder) / "profile.json.gz"
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            profiler.export_chrome_trace(str(target))
        except (OSError, RuntimeError) as error:
            raise CaptureError(f"the trace could not be written to {target}: {error}.") from error
        self._written = target

    def _synchronize(self) -> None:
        if self._device is not None:
            getattr(self._torch, self._device).synchronize()

    @property
    def trace(self) -> Trace:
        """The recorded trace, read. Raises ``CaptureError`` when nothing was recorded."""
        from foretrace.trace.load import load_trace

        if self._trace is None:
            if self._written is None:
                raise CaptureError(self._why_nothing())
            self._trace = load_trace(self._written)
            if self._discard is not None:
                self._discard()
        return self._trace

    def _why_nothing(self) -> str:
        if self._steps is None:
            return "no trace was recorded yet; leave the with block of foretrace.profile first."
        return (
            f"no step was recorded: step() was called {self._calls} times; call it at the end of each iteration, "
            f"at least {self.calls_needed} times, or pass steps=None to record the whole block."
        )


def profile_callable(
    function: Callable[[], Any],
    *,
    steps: int = 3,
    warmup: int = 10,
    path: str | Path | None = None,
    device: str | None = None,
    with_stack: bool = False,
    profile_memory: bool = False,
) -> profile:
    """Profile ``function()``: called beforehand until its times settle, then on the schedule of ``profile``.

    ``warmup`` is the least number of calls beforehand; each recorded step is one call. Gives the finished
    ``profile``, whose ``trace`` is the read trace. Raises as ``profile`` does; what ``function`` raises passes
    through.
    """
    settle(function, choose_device(device), at_least=warmup)
    with profile(steps, path=path, device=device, with_stack=with_stack, profile_memory=profile_memory) as recorded:
        for _ in recorded.steps():
            function()
    return recorded


def _device_type() -> str | None:
    """The accelerator torch would record here: ``cuda`` (HIP too) or ``xpu``."""
    import torch

    for name in ("cuda", "xpu"):
        module = getattr(torch, name, None)
        if module is not None and module.is_available():
            return name
    return None
