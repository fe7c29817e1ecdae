"""What a row of the kernel table is by its name, and its occupancy by its launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.names.decode import decode
from foretrace.names.occupancy import occupancy

if TYPE_CHECKING:
    from foretrace.analysis.launches import KernelRow
    from foretrace.names.decoded import Decoded
    from foretrace.names.occupancy import Occupancy
    from foretrace.trace.model import Trace

__all__ = ["row_decoded", "row_occupancy"]


def row_decoded(row: KernelRow) -> Decoded:
    """The name taken apart."""
    return decode(row.name)


def row_occupancy(trace: Trace, row: KernelRow) -> Occupancy | None:
    """The occupancy of the row's launch; None for copies, and where the trace lacks a figure or knows no such device.

    A trace with one device needs no device number on its kernels.
    """
    if row.kind != "kernel" or row.block is None:
        return None
    device = trace.device(row.device) if row.device is not None else None
    if device is None and len(trace.devices) == 1:
        device = trace.devices[0]
    if device is None or device.compute_capability is None:
        return None
    major, _, minor = device.compute_capability.partition(".")
    threads = row.block[0] * row.block[1] * row.block[2]
    return occupancy(
        registers=row.registers,
        block_threads=threads,
        shared_memory_bytes=row.shared_memory,
        grid_blocks=row.grid[0] * row.grid[1] * row.grid[2] if row.grid else None,
        compute_capability=(int(major), int(minor)),
        sms=device.sms,
        reported_pct=row.reported_occupancy_pct,
        limits=device.properties,
    )
