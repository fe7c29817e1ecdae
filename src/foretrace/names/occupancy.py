"""Occupancy of a launch: how many warps a multiprocessor can hold, what holds it back, and what the trace says.

The arithmetic is that of CUDA's own calculator (``cuda_occupancy.h``). It needs the registers of a thread, the
threads and the shared memory of a block, and the device's compute capability; without them there is no answer.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from foretrace.names.devices import WARP, DeviceLimits, device_limits

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Occupancy", "occupancy"]

# The profiler's own estimate calls CUDA's calculator without the kernel's opt-in to more shared memory than this;
# the answer is then zero blocks. The kernel ran all the same.
_DEFAULT_SHARED_MEMORY: Final = 48 * 1024

# Below this share of the warps the tile is what fills the multiprocessor; the sentence says so.
_LOW_PCT: Final = 26.0


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The occupancy of one launch on one multiprocessor (SM)."""

    theoretical_pct: float
    """Resident warps over the most the SM holds, in percent, if the grid is large enough."""
    limiter: str
    """What holds it back: ``registers``, ``shared_memory``, ``warps``, ``blocks``, or ``grid`` where the grid has
    too few blocks to fill the SMs as far as the rest would allow."""
    blocks_per_sm: int
    """Resident blocks per SM."""
    warps_per_sm: int
    """Resident warps per SM."""
    waves: float | None
    """The grid over what all SMs hold at once; below 1 some SMs are not filled. None if the grid or the number of
    SMs is not known."""
    achievable_pct: float | None
    """The same as ``theoretical_pct`` for this grid: with too few blocks it is lower. None like ``waves``."""
    reported_pct: float | None
    """The trace's own ``est. achieved occupancy %``."""
    explanation: str
    """What the figures mean, in sentences."""

    def to_json(self) -> dict[str, Any]:
        """The record with stable keys; absent figures are null."""
        return {column.name: getattr(self, column.name) for column in fields(self)}


def occupancy(
    *,
    registers: int | None,
    block_threads: int | None,
    shared_memory_bytes: int | None,
    grid_blocks: int | None = None,
    compute_capability: tuple[int, int] | None,
    sms: int | None = None,
    reported_pct: float | None = None,
    limits: Mapping[str, Any] | None = None,
) -> Occupancy | None:
    """The theoretical occupancy of a launch and what limits it.

    Args:
        registers: registers of one thread.
        block_threads: threads of one block.
        shared_memory_bytes: static and dynamic shared memory of one block.
        grid_blocks: blocks of the grid.
        compute_capability: of the device, e.g. ``(9, 0)``.
        sms: multiprocessors of the device.
        reported_pct: the trace's own estimate; a zero is explained.
        limits: the device's entry in the trace's ``deviceProperties``, where its figures stand before the table's.

    Returns:
        None where a figure is missing or the compute capability unknown (AMD, say), and where such a block cannot be
        launched at all. Never a guess.

    """
    if not registers or not block_threads or shared_memory_bytes is None or compute_capability is None:
        return None
    if registers < 0 or block_threads < 0 or shared_memory_bytes < 0:
        return None
    if limits is not None and limits.get("warpSize", WARP) != WARP:
        # AMD's devices carry compute capabilities of their own (gfx90a is 9.0) and other rules.
        return None
    device = device_limits(compute_capability, limits)
    if device is None:
        return None
    warps = -(-block_threads // WARP)
    bounds = _bounds(device, registers, warps, shared_memory_bytes)
    blocks = min(bounds.values())
    if blocks <= 0:
        return None
    resident = blocks * warps
    theoretical = 100 * resident / device.warps
    waves = achievable = None
    limiter = _limiter(bounds, blocks)
    if grid_blocks and sms and grid_blocks > 0 and sms > 0:
        waves = grid_blocks / (blocks * sms)
        on_fullest = -(-grid_blocks // sms)
        achievable = min(theoretical, 100 * grid_blocks / sms * warps / device.warps)
        if on_fullest < blocks:
            limiter = "grid"
    launch = _Launch(registers, block_threads, shared_memory_bytes, grid_blocks, sms)
    return Occupancy(
        theoretical_pct=theoretical,
        limiter=limiter,
        blocks_per_sm=blocks,
        warps_per_sm=resident,
        waves=waves,
        achievable_pct=achievable,
        reported_pct=reported_pct,
        explanation=_explanation(device, launch, bounds, limiter, (theoretical, achievable, reported_pct)),
    )


@dataclass(frozen=True, slots=True)
class _Launch:
    registers: int
    threads: int
    shared_memory_bytes: int
    grid_blocks: int | None
    sms: int | None


def _bounds(device: DeviceLimits, registers: int, warps: int, shared_memory_bytes: int) -> dict[str, int]:
    """How many blocks an SM could hold for the sake of each resource."""
    of_warp = -(-registers * WARP // device.register_unit) * device.register_unit
    in_partition = device.registers // device.partitions // of_warp
    bounds = {
        "warps": device.warps // warps,
        "blocks": device.blocks,
        "registers": in_partition * device.partitions // warps,
    }
    needed = shared_memory_bytes + device.shared_memory_reserved
    if needed > 0:
        unit = device.shared_memory_unit
        bounds["shared_memory"] = device.shared_memory_bytes // (-(-needed // unit) * unit)
    return bounds


def _limiter(bounds: dict[str, int], blocks: int) -> str:
    """The resource that runs out first. Of several the one that no change of the kernel would move comes first."""
    return next(name for name in ("warps", "blocks", "registers", "shared_memory") if bounds.get(name) == blocks)


def _pct(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") + " %"


def _explanation(
    device: DeviceLimits,
    launch: _Launch,
    bounds: dict[str, int],
    limiter: str,
    figures: tuple[float, float | None, float | None],
) -> str:
    theoretical, achievable, reported = figures
    blocks = min(bounds.values())
    resident = blocks * -(-launch.threads // WARP)
    fits = "1 block" if blocks == 1 else f"{blocks} blocks"
    text = (
        f"{fits} of {launch.threads} threads fit{'s' if blocks == 1 else ''} one SM: {resident} of {device.warps} "
        f"warps, {_pct(theoretical)}. {_reason(device, launch, bounds, blocks)}"
    )
    if limiter == "grid" and launch.grid_blocks is not None and achievable is not None:
        given = "1 block" if launch.grid_blocks == 1 else f"{launch.grid_blocks} blocks"
        text += f" The grid is too small to fill that: {given} for {launch.sms} SMs, {_pct(achievable)} on average."
    elif theoretical < _LOW_PCT and limiter in ("registers", "shared_memory"):
        text += (
            " This is low by design in kernels that keep their tile on chip (matrix multiplication, attention): few "
            "warps, with much work in each."
        )
    if reported == 0:
        text += f" {_zero(launch, achievable if achievable is not None else theoretical)}"
    return text


def _reason(device: DeviceLimits, launch: _Launch, bounds: dict[str, int], blocks: int) -> str:
    if blocks * -(-launch.threads // WARP) == device.warps:
        return "Nothing holds it back."
    if bounds["warps"] == blocks:
        return f"Limited by warps: a further block would need more than {device.warps}."
    if bounds["blocks"] == blocks:
        return f"Limited by resident blocks: an SM holds at most {device.blocks}."
    needs = {
        "registers": f"{launch.registers} registers a thread",
        "shared_memory": f"{launch.shared_memory_bytes:,} bytes of shared memory a block",
    }
    tight = [name for name in needs if bounds.get(name) == blocks]
    what = " and ".join(name.replace("_", " ") for name in tight)
    return f"Limited by {what}: {' and '.join(needs[name] for name in tight)} leave no room for another block."


def _zero(launch: _Launch, expected: float) -> str:
    if launch.shared_memory_bytes > _DEFAULT_SHARED_MEMORY:
        return (
            "The trace's 0 % is no measurement: the profiler's estimate does not know that this kernel may use more "
            "than 48 kB of shared memory a block, as most matrix kernels may."
        )
    if expected < 0.5:  # noqa: PLR2004
        return f"The trace's 0 % is {_pct(expected)} rounded down: the grid is small."
    return (
        "The trace's 0 % is no measurement: the profiler made no estimate for this launch, as happens where the launch "
        "is a call of the CUDA driver's (cuLaunchKernel and the like)."
    )
