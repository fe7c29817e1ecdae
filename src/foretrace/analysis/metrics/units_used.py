"""Where matrix work ran: the tensor-core share of GEMM and attention time, and fp32 GEMMs on CUDA cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.metrics.metric import Figure, absent, counted
from foretrace.analysis.metrics.selected import chosen_activities
from foretrace.trace.kineto import Category
from foretrace.units import share_text

if TYPE_CHECKING:
    from foretrace.analysis.metrics.basis import Basis
    from foretrace.analysis.metrics.quantity import Select

__all__ = ["MATMUL_ROLES", "fp32_gemms", "tensor_core_share"]

MATMUL_ROLES: Final = frozenset({"gemm", "attention_forward", "attention_backward", "attention_decode"})
"""Roles that are matrix multiplication at heart; combining partial attention results is not."""


def tensor_core_share(basis: Basis, select: Select) -> Figure:
    """Tensor-core share of GEMM and attention time, over all steps together."""
    mask = chosen_activities(basis, select, Category.KERNEL)
    mask &= basis.ground.by_kernel_name(lambda decoded: decoded.role in MATMUL_ROLES)
    chosen = np.flatnonzero(mask)
    if not chosen.size:
        return absent("no GEMM and no attention kernel ran, so that there is no share of their time.")
    dur = basis.trace.activities.dur
    total = int(dur[chosen].sum())
    if not total:
        return absent("the GEMM and attention kernels have no times, so that there is no share of them.")
    times = {}
    for unit in ("tensor_core", "unknown"):
        on = mask & basis.ground.by_kernel_name(lambda decoded, unit=unit: decoded.unit == unit)
        times[unit] = int(dur[on].sum())
    low, high = times["tensor_core"] / total, (times["tensor_core"] + times["unknown"]) / total
    if high == low:
        return Figure(low, activities=chosen)
    if not times["tensor_core"] and times["unknown"] == total:
        return absent("the names of the GEMM and attention kernels do not say on which unit they run.")
    note = f"The names of kernels with {share_text(high - low)} of the time do not say on which unit they run."
    return Figure(low, low=low, high=high, note=note, activities=chosen)


def fp32_gemms(basis: Basis, select: Select) -> Figure:
    """GEMM kernels in fp32 on CUDA cores."""
    mask = chosen_activities(basis, select, Category.KERNEL)
    mask &= basis.ground.by_kernel_name(
        lambda decoded: decoded.role == "gemm" and decoded.unit == "cuda_core" and decoded.input_dtype == "fp32"
    )
    chosen = np.flatnonzero(mask)
    slots = basis.ground.activity_slot[chosen]
    return counted(np.bincount(slots, minlength=basis.ground.slots), activities=chosen)
