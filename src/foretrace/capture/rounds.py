"""Times of several calls that are to be compared: in turns, so that whatever drifts drifts for all of them.

One round is a block of calls of each; every second round goes through them backwards. On an accelerator a block is
timed by device events while the device is held back until the host has enqueued all of it, so that what is measured
is the device's work and not how fast the host hands it over; the host's own time stands beside it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final, Protocol

from foretrace.capture.device import synchronize
from foretrace.capture.recording import WallTime

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

__all__ = ["Effort", "Repeated", "Timing", "interleaved"]

Call = Callable[[], Any]

_BLOCK_NS: Final = 1_000_000  # two thousand times what an event's clock can tell apart
_MOST_CALLS: Final = 32  # in a block: with 20 kernels each they still fit the device's queue
_LEAST_ROUNDS: Final = 3  # whatever the limit says: below this there is no spread
_HOPELESS: Final = 2.0  # beyond this many times the fastest a time need not be known to a percent
_FIRST_HOST_NS: Final = 500_000
_LONGEST_HOLD_NS: Final = 50_000_000
_HOLD: Final = 1.5  # times what enqueueing took before
_MOST_HOLD: Final = 4.0  # a queue that is full makes the host wait for the hold itself: no growing after that


@dataclass(frozen=True)
class Effort:
    """How long to go on measuring."""

    spread: float = 0.01
    """Small enough: the distance between the quartiles, as a share of the median."""
    seconds: float = 2.0
    """The limit, for all calls of a comparison together."""
    rounds: int = 9
    """Rounds before a spread is believed."""
    most_rounds: int = 60


@dataclass(frozen=True)
class Repeated:
    """A call, and what is entered once around a block of them."""

    call: Call
    around: Callable[[], AbstractContextManager[Any]] = nullcontext


@dataclass
class Timing:
    """What was measured of one call."""

    times_ns: list[float] = field(default_factory=list)
    """Mean time of a call, block by block."""
    host_ns: float | None = None
    """The least mean time of enqueueing a call; None on a CPU, where it is the same."""
    error: BaseException | None = None
    """What the call raised, if it did."""

    def summary(self) -> WallTime | None:
        """Median, extremes and spread of the times; None without any."""
        if len(self.times_ns) < 2:  # noqa: PLR2004 - no spread of one
            return None
        low, _, high = quantiles(self.times_ns, n=4, method="inclusive")
        return WallTime(
            median=round(median(self.times_ns)),
            min=round(min(self.times_ns)),
            max=round(max(self.times_ns)),
            spread=round(high - low),
            runs=len(self.times_ns),
        )


class _Clock(Protocol):
    def block(self, call: Call, calls: int, host_ns: float) -> tuple[float, float | None]:
        """Mean time of a call and of enqueueing it, in nanoseconds; ``host_ns`` is what enqueueing may take."""


class _HostClock:
    """Of a CPU, where calling is computing."""

    def block(self, call: Call, calls: int, host_ns: float) -> tuple[float, None]:  # noqa: ARG002 - see _Clock
        start = time.perf_counter_ns()
        for _ in range(calls):
            call()
        return (time.perf_counter_ns() - start) / calls, None


class _EventClock:
    """Of an accelerator: two events around the block."""

    def __init__(self, device: torch.device) -> None:
        import torch

        self._device = device
        self._module = getattr(torch, device.type)
        # Spins on the device for a number of its clock's ticks. Only CUDA and HIP have it.
        self._spin: Callable[[int], None] | None = getattr(self._module, "_sleep", None)
        self._ticks_per_ns = self._rate()

    def _event(self) -> Any:
        return self._module.Event(enable_timing=True)

    def _rate(self) -> float:
        if self._spin is None:
            return 0.0
        ticks = 1_000_000
        self._spin(ticks)
        before, after = self._event(), self._event()
        before.record()
        self._spin(ticks)
        after.record()
        synchronize(self._device)
        took: float = 1e6 * before.elapsed_time(after)
        return ticks / max(took, 1.0)

    def block(self, call: Call, calls: int, host_ns: float) -> tuple[float, float]:
        before, after = self._event(), self._event()
        synchronize(self._device)
        if self._spin is not None:
            self._spin(int(self._ticks_per_ns * min(calls * host_ns, _LONGEST_HOLD_NS)))
        start = time.perf_counter_ns()
        before.record()
        for _ in range(calls):
            call()
        after.record()
        host = time.perf_counter_ns() - start
        synchronize(self._device)
        return 1e6 * before.elapsed_time(after) / calls, host / calls


def interleaved(
    calls: Mapping[str, Repeated], device: torch.device, effort: Effort, turn: Callable[[str], None] | None = None
) -> dict[str, Timing]:
    """Time the calls in rounds until each one's spread is small, or it is out of the running, or the limit is hit.

    ``turn`` is told whose block comes next. A call that raises is left out from there on, its error kept.
    """
    clock: _Clock = _HostClock() if device.type == "cpu" else _EventClock(device)
    runs = {name: _Run(repeated, clock) for name, repeated in calls.items()}
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        _rounds(runs, effort, turn or (lambda _name: None))
    finally:
        if collecting:
            gc.enable()
    return {name: run.timing for name, run in runs.items()}


def _rounds(runs: dict[str, _Run], effort: Effort, turn: Callable[[str], None]) -> None:
    for name, run in runs.items():
        turn(name)
        run.first()
    began = time.perf_counter()
    for number in range(effort.most_rounds):
        late = time.perf_counter() - began > effort.seconds
        best = min((run.fastest for run in runs.values() if run.timing.times_ns), default=0.0)
        due = [name for name, run in runs.items() if run.due(effort, best, late=late)]
        if not due:
            return
        for name in due if number % 2 == 0 else reversed(due):
            turn(name)
            runs[name].next()


class _Run:
    """One call's way through the rounds."""

    def __init__(self, repeated: Repeated, clock: _Clock) -> None:
        self.timing = Timing()
        self._repeated = repeated
        self._clock = clock
        self._calls = 1
        self._host_ns = 0.0
        self._most_host_ns = 0.0

    @property
    def fastest(self) -> float:
        """The shortest time so far."""
        return min(self.timing.times_ns)

    def due(self, effort: Effort, best: float, *, late: bool) -> bool:
        """Whether another block is worth its time."""
        times = self.timing.times_ns
        if self.timing.error is not None:
            return False
        if len(times) < _LEAST_ROUNDS:
            return True
        if late or self.fastest > _HOPELESS * best:
            return False
        if len(times) < effort.rounds:
            return True
        low, middle, high = quantiles(times, n=4, method="inclusive")
        return high - low > effort.spread * middle

    def first(self) -> None:
        """One call that only says how many calls make a block, and how long to hold the device."""
        once = self._timed(1, _FIRST_HOST_NS)
        if once is not None:
            self._calls = max(1, min(_MOST_CALLS, round(_BLOCK_NS / max(once[0], 1.0))))
            self._host_ns = _HOLD * (once[1] or 0.0)
            self._most_host_ns = _MOST_HOLD * (once[1] or 0.0)

    def next(self) -> None:
        """One more block."""
        took = self._timed(self._calls, self._host_ns)
        if took is None:
            return
        self.timing.times_ns.append(took[0])
        if took[1] is not None:
            self.timing.host_ns = min(took[1], self.timing.host_ns or took[1])
            self._host_ns = min(max(self._host_ns, _HOLD * took[1]), self._most_host_ns)

    def _timed(self, calls: int, host_ns: float) -> tuple[float, float | None] | None:
        try:
            with self._repeated.around():
                return self._clock.block(self._repeated.call, calls, host_ns)
        except Exception as error:  # noqa: BLE001 (whatever a variant raises is its result)
            self.timing.error = error
            return None
