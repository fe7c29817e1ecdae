"""What one multiprocessor holds, by compute capability: the figures that occupancy is computed from.

Sources: the table "Technical Specifications per Compute Capability" of the CUDA C++ Programming Guide (blocks, warps,
shared memory and registers per multiprocessor), the tuning guides of Volta, Turing, Ampere, Ada, Hopper and Blackwell
(the same, and the 1 kB of shared memory that the system keeps of each block since Ampere), and the arithmetic of
CUDA's ``cuda_occupancy.h`` (registers go to warps in units of 256, each of four partitions has a quarter of them).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["WARP", "DeviceLimits", "device_limits"]

WARP: Final = 32
_KIB: Final = 1024


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """What one multiprocessor (SM) holds at a time, and in which units it gives it out."""

    warps: int
    blocks: int
    shared_memory_bytes: int
    registers: int = 65_536
    register_unit: int = 256
    """Registers are given to a warp in multiples of this."""
    partitions: int = 4
    """Parts of the register file; a warp's registers lie in one of them."""
    shared_memory_unit: int = 128
    """Shared memory is given to a block in multiples of this many bytes."""
    shared_memory_reserved: int = _KIB
    """Bytes of shared memory that the system keeps of each block."""


def _before_ampere(warps: int, blocks: int, kib: int, partitions: int = 4) -> DeviceLimits:
    return DeviceLimits(
        warps,
        blocks,
        kib * _KIB,
        partitions=partitions,
        shared_memory_unit=256,
        shared_memory_reserved=0,
    )


_LIMITS: Final[dict[tuple[int, int], DeviceLimits]] = {
    (6, 0): _before_ampere(64, 32, 64, partitions=2),  # P100
    (6, 1): _before_ampere(64, 32, 96),  # GTX 1080, P40
    (7, 0): _before_ampere(64, 32, 96),  # V100
    (7, 2): _before_ampere(64, 32, 96),  # Xavier
    (7, 5): _before_ampere(32, 16, 64),  # T4, RTX 20
    (8, 0): DeviceLimits(64, 32, 164 * _KIB),  # A100
    (8, 6): DeviceLimits(48, 16, 100 * _KIB),  # A10, A40, RTX 30
    (8, 7): DeviceLimits(48, 16, 164 * _KIB),  # Orin
    (8, 9): DeviceLimits(48, 24, 100 * _KIB),  # L4, L40, RTX 40
    (9, 0): DeviceLimits(64, 32, 228 * _KIB),  # H100, H200, GH200
    (10, 0): DeviceLimits(64, 32, 228 * _KIB),  # B200
    (10, 3): DeviceLimits(64, 32, 228 * _KIB),  # B300
    (11, 0): DeviceLimits(48, 24, 228 * _KIB),  # Thor (first called 10.1)
    (10, 1): DeviceLimits(48, 24, 228 * _KIB),
    (12, 0): DeviceLimits(48, 24, 100 * _KIB),  # RTX 50, RTX PRO 6000
    (12, 1): DeviceLimits(48, 24, 100 * _KIB),  # DGX Spark
}


def device_limits(
    compute_capability: tuple[int, int], properties: Mapping[str, Any] | None = None
) -> DeviceLimits | None:
    """The limits of a device; None for a compute capability that no table knows.

    ``properties`` is the device's entry in the trace's ``deviceProperties``; its figures stand before the table's.
    """
    limits = _LIMITS.get(compute_capability)
    if limits is None or properties is None:
        return limits
    changes: dict[str, int] = {}
    for field, key, divisor in (
        ("registers", "regsPerMultiprocessor", 1),
        ("shared_memory_bytes", "sharedMemPerMultiprocessor", 1),
        ("warps", "maxThreadsPerMultiprocessor", WARP),
    ):
        value = properties.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value >= divisor:
            changes[field] = value // divisor
    return replace(limits, **changes)
