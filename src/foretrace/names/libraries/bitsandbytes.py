"""bitsandbytes: weights in 8 and 4 bits, optimizers with 8-bit state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.names.libraries.table import Function, read_table

if TYPE_CHECKING:
    from foretrace.names.reading import Reading
    from foretrace.names.spelling import Name

__all__ = ["read"]

_FUNCTIONS: Final[tuple[Function, ...]] = (
    Function("kDequantizeBlockwise", "cast", "dequantize", "expands quantized weights"),
    Function("kQuantizeBlockwise", "cast", "quantize", "quantizes weights"),
    Function("kgemm_4bit_inference_naive", "gemm", "gemv", "matrix-vector product with 4-bit weights", "cuda_core"),
    Function("kgemm_4bit", "gemm", None, "matrix multiplication with 4-bit weights", "tensor_core"),
    Function("Optimizer", "optimizer", None, "optimizer step"),
    Function("kInt8VectorQuant", "cast", "quantize", "quantizes to int8"),
    Function("kdequant_mm", "cast", "dequantize", "scales an int32 product back"),
)


def read(name: Name, mark: str) -> Reading | None:
    """Take a bitsandbytes name apart."""
    return read_table(name, "bitsandbytes", mark, "bitsandbytes, quantized weights and optimizers", _FUNCTIONS)
