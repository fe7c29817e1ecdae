"""Peak memory, from the allocator's records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foretrace.analysis.metrics.metric import Figure, absent
from foretrace.trace.raw import MISSING

if TYPE_CHECKING:
    from foretrace.analysis.metrics.basis import Basis
    from foretrace.analysis.metrics.quantity import Select

__all__ = ["peak_memory"]


def peak_memory(basis: Basis, _select: Select) -> Figure:
    """The most that PyTorch's allocator held at once, on the device where it held most; of the CPU where none did."""
    memory = basis.trace.memory
    known = (memory.total_allocated != MISSING) & (memory.total_allocated >= 0)
    if not known.any():
        return absent("allocations were not recorded: profile with profile_memory=True.")
    on_device = known & (memory.device_type > 0)
    if on_device.any():
        return Figure(int(memory.total_allocated[on_device].max()))
    return Figure(int(np.max(memory.total_allocated[known])), note="No device allocations were recorded: of the CPU.")
