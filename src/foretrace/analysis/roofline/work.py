"""Work: floating-point operations by unit and dtype, and the fewest bytes that must move."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ELEMENT_BITS", "MATRIX", "VECTOR", "Work", "element_bytes"]

MATRIX: Final = "tensor_core"
"""Where matrix products run at best."""
VECTOR: Final = "cuda_core"

ELEMENT_BITS: Final = {
    "bool": 8, "uint8": 8, "int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16, "uint32": 32, "uint64": 64,
    "bf16": 16, "fp16": 16, "fp32": 32, "fp64": 64, "complex32": 32, "complex64": 64, "complex128": 128,
    "opaque8": 8, "opaque16": 16, "opaque32": 32, "opaque64": 64, "c10::Float4_e2m1fn_x2": 8,
    "fp8_e4m3": 8, "fp8_e5m2": 8, "fp8_e8m0": 8, "fp4_e2m1": 4, "int4": 4, "uint4": 4,
}  # fmt: skip


def element_bytes(dtype: str) -> float | None:
    """The size of an element in bytes (half a byte for 4-bit formats); None where the dtype is not known."""
    bits = ELEMENT_BITS.get(dtype)
    return None if bits is None else bits / 8


@dataclass(frozen=True)
class Work:
    """What one op has to do."""

    flops: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """By (unit, dtype). A multiply-add counts two; of attention only the matrix products are counted."""
    bytes: int | None = None
    """Each distinct input element read once and each output element written once; None where a dtype is not known."""
    count: str = "exact"
    """``exact``; ``at_least`` or ``at_most`` where the inputs leave the FLOPs open."""

    @property
    def total_flops(self) -> int:
        """All FLOPs, whatever their unit."""
        return sum(self.flops.values())
