"""Times and memory of one call, taken without the profiler."""

from __future__ import annotations

import time
from itertools import pairwise
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any, Final

from foretrace.capture.device import synchronize
from foretrace.capture.recording import WallTime

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

__all__ = ["peak_memory", "settle", "wall_time"]

_AGREE: Final = 0.05  # settled: three batches in a row whose mean times lie within 5 % of each other
_BATCHES: Final = 3
_BATCH_NS: Final = 20_000_000
_SETTLE_NS: Final = 2_000_000_000
_MIN_RUNS: Final = 10
_MAX_RUNS: Final = 200
_WALL_NS: Final = 500_000_000  # enough runs to fill half a second


def settle(call: Callable[[], Any], device: torch.device, *, at_least: int, at_most_ns: int = _SETTLE_NS) -> int:
    """Call until the time of a call no longer falls or rises, ``at_least`` times in any case; gives the calls made.

    After ``at_most_ns`` it is left at that: some machines never settle.
    """
    calls = 0
    began = time.perf_counter_ns()
    batch = 1
    means: list[float] = []
    while True:
        synchronize(device)
        start = time.perf_counter_ns()
        for _ in range(batch):
            call()
        synchronize(device)
        took = time.perf_counter_ns() - start
        calls += batch
        if took < _BATCH_NS:
            batch = min(2 * batch, 256)
        means.append(took / batch if took >= _BATCH_NS else took / max(batch // 2, 1))
        recent = means[-_BATCHES:]
        agreed = len(recent) == _BATCHES and max(recent) <= (1 + _AGREE) * min(recent)
        if calls >= at_least and (agreed or time.perf_counter_ns() - began > at_most_ns):
            return calls


def wall_time(call: Callable[[], Any], device: torch.device) -> WallTime:
    """Time of each of many calls made back to back: by device events, on a CPU by the clock.

    Between two device events lies what the device waited for the host as well, so this is what a call costs in a
    loop that does nothing else.
    """
    times = _by_clock(call) if device.type == "cpu" else _by_events(call, device)
    low, _, high = quantiles(times, n=4, method="inclusive")
    return WallTime(
        median=round(median(times)), min=min(times), max=max(times), spread=round(high - low), runs=len(times)
    )


def _by_clock(call: Callable[[], Any]) -> list[int]:
    times: list[int] = []
    while len(times) < _MIN_RUNS or (len(times) < _MAX_RUNS and sum(times) < _WALL_NS):
        start = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - start)
    return times


def _by_events(call: Callable[[], Any], device: torch.device) -> list[int]:
    import torch

    synchronize(device)
    start = time.perf_counter_ns()
    for _ in range(_BATCHES):
        call()
    synchronize(device)
    once = max((time.perf_counter_ns() - start) // _BATCHES, 1)
    runs = max(_MIN_RUNS, min(_MAX_RUNS, _WALL_NS // once))
    module = getattr(torch, device.type)
    marks = [module.Event(enable_timing=True) for _ in range(runs + 1)]
    call()
    marks[0].record()
    for mark in marks[1:]:
        call()
        mark.record()
    synchronize(device)
    # Events are timed in milliseconds; their resolution is about half a microsecond.
    return [round(1e6 * before.elapsed_time(after)) for before, after in pairwise(marks)]


def peak_memory(call: Callable[[], Any], device: torch.device) -> int | None:
    """The most bytes that were allocated during one call, beyond those allocated before it: output and scratch."""
    import torch

    if device.type == "cpu":
        return _peak_on_cpu(call)
    module = getattr(torch, device.type)
    if not hasattr(module, "max_memory_allocated"):
        return None
    synchronize(device)
    before: int = module.memory_allocated(device)
    module.reset_peak_memory_stats(device)
    call()
    synchronize(device)
    return int(module.max_memory_allocated(device)) - before


def _peak_on_cpu(call: Callable[[], Any]) -> int | None:
    """From the allocator's records in a profile of their own: the CPU allocator keeps no peak.

    What libraries below torch (oneDNN, MKL) take for themselves is not in there.
    """
    # torch.profiler.profile would import the compiler as well, which takes seconds.
    from torch.autograd.profiler import profile

    with profile(use_kineto=True, profile_memory=True) as recorded:
        call()
    results = getattr(recorded, "kineto_results", None)
    if results is None:
        return None
    records = sorted((event.start_ns(), event.nbytes()) for event in results.events() if event.name() == "[memory]")
    held = peak = 0
    for _, size in records:
        held += size
        peak = max(peak, held)
    return peak
