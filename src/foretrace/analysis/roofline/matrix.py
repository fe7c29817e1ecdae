"""Matrix products: the GEMM family."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from foretrace.analysis.roofline.inputs import Inputs, Tensor, total_bytes
from foretrace.analysis.roofline.work import MATRIX, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["MATRIX_OPS", "dtype_numbered"]

_PACKED_FP4: Final = "c10::Float4_e2m1fn_x2"
# `Concrete Inputs` give a dtype as its number in c10::ScalarType.
_SCALAR_TYPES: Final = {
    0: "uint8", 1: "int8", 2: "int16", 3: "int32", 4: "int64", 5: "fp16", 6: "fp32", 7: "fp64", 11: "bool",
    15: "bf16", 23: "fp8_e5m2", 24: "fp8_e4m3",
}  # fmt: skip


def product(
    dtype: str, batch: int, rows: int, inner: int, columns: int, *moved: Tensor | None, out: str | None = None
) -> Work:
    """``batch`` products of [rows, inner] by [inner, columns], the tensors that are read, and the one written."""
    if dtype == _PACKED_FP4:
        inner, word = 2 * inner, "fp4_e2m1"
    else:
        word = dtype
    made = Tensor((batch, rows, columns), out or dtype)
    flops = 2 * batch * rows * inner * columns
    return Work({(MATRIX, word): flops} if flops else {}, total_bytes(*moved, made))


def _mm(inputs: Inputs) -> Work | None:
    return _two(inputs.tensor(0), inputs.tensor(1))


def _two(left: Tensor | None, right: Tensor | None, added: Tensor | None = None, out: str | None = None) -> Work | None:
    if left is None or right is None or len(left.dims) != 2 or len(right.dims) != 2:  # noqa: PLR2004 - matrices
        return None
    (rows, inner), (_, columns) = left.dims, right.dims
    return product(left.dtype, 1, rows, inner, columns, left, right, added, out=out)


def _addmm(inputs: Inputs) -> Work | None:
    added = None if inputs.number(3) == 0 else inputs.tensor(0)
    return _two(inputs.tensor(1), inputs.tensor(2), added)


def _bmm(inputs: Inputs) -> Work | None:
    return _batched(inputs.tensor(0), inputs.tensor(1))


def _batched(left: Tensor | None, right: Tensor | None, added: Tensor | None = None) -> Work | None:
    if left is None or right is None or len(left.dims) != 3 or len(right.dims) != 3:  # noqa: PLR2004 - batches of matrices
        return None
    batch, rows, inner = left.dims
    return product(left.dtype, batch, rows, inner, right.dims[2], left, right, added)


def _baddbmm(inputs: Inputs) -> Work | None:
    added = None if inputs.number(3) == 0 else inputs.tensor(0)
    return _batched(inputs.tensor(1), inputs.tensor(2), added)


def _addbmm(inputs: Inputs) -> Work | None:
    added = None if inputs.number(3) == 0 else inputs.tensor(0)
    found = _batched(inputs.tensor(1), inputs.tensor(2))
    left, right = inputs.tensor(1), inputs.tensor(2)
    if found is None or left is None or right is None:
        return None
    return Work(found.flops, total_bytes(left, right, added, Tensor((left.dims[1], right.dims[2]), left.dtype)))


def _linear(inputs: Inputs) -> Work | None:
    given, weight = inputs.tensor(0), inputs.tensor(1)
    if given is None or weight is None or not given.dims or len(weight.dims) != 2:  # noqa: PLR2004 - [out, in]
        return None
    rows = math.prod(given.dims[:-1])
    return product(given.dtype, 1, rows, given.dims[-1], weight.dims[0], given, weight, inputs.tensor(2))


def _matmul(inputs: Inputs) -> Work | None:
    left, right = inputs.tensor(0), inputs.tensor(1)
    if left is None or right is None or not left.dims or not right.dims:
        return None
    rows = left.dims[-2] if len(left.dims) > 1 else 1
    columns = right.dims[-1] if len(right.dims) > 1 else 1
    batch = math.prod(_broadcast(left.dims[:-2], right.dims[:-2]))
    return product(left.dtype, batch, rows, left.dims[-1], columns, left, right)


def _broadcast(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    size = max(len(left), len(right))
    pairs = zip((1,) * (size - len(left)) + left, (1,) * (size - len(right)) + right, strict=True)
    return tuple(0 if 0 in pair else max(pair) for pair in pairs)


def _mv(inputs: Inputs) -> Work | None:
    return _vector(inputs.tensor(0), inputs.tensor(1))


def _vector(matrix: Tensor | None, vector: Tensor | None, added: Tensor | None = None) -> Work | None:
    if matrix is None or vector is None or len(matrix.dims) != 2:  # noqa: PLR2004 - a matrix
        return None
    return product(matrix.dtype, 1, matrix.dims[0], matrix.dims[1], 1, matrix, vector, added)


def _addmv(inputs: Inputs) -> Work | None:
    return _vector(inputs.tensor(1), inputs.tensor(2), None if inputs.number(3) == 0 else inputs.tensor(0))


def _dot(inputs: Inputs) -> Work | None:
    left, right = inputs.tensor(0), inputs.tensor(1)
    if left is None or right is None:
        return None
    return product(left.dtype, 1, 1, left.numel, 1, left, right)


def _scaled_mm(inputs: Inputs) -> Work | None:
    asked = inputs.whole(6)
    left = inputs.tensor(0)
    out = _SCALAR_TYPES.get(asked, "") if asked is not None else (left.dtype if left else "")
    return _two(left, inputs.tensor(1), inputs.tensor(4), out=out)


def _int_mm(inputs: Inputs) -> Work | None:
    return _two(inputs.tensor(0), inputs.tensor(1), out="int32")


def _grouped_mm(inputs: Inputs) -> Work | None:
    """[T, K] by [G, K, N], each row by the matrix of its group."""
    left, right = inputs.tensor(0), inputs.tensor(1)
    if left is None or right is None or (len(left.dims), len(right.dims)) != (2, 3):
        return None
    out = "bf16" if left.dtype.startswith("fp8") else left.dtype
    return product(left.dtype, 1, left.dims[0], left.dims[1], right.dims[2], left, right, out=out)


def dtype_numbered(number: int | None) -> str | None:
    """The dtype that a scalar argument gives by its number in ``c10::ScalarType``; None where it gives none."""
    return None if number is None else _SCALAR_TYPES.get(number)


MATRIX_OPS: Final[Mapping[str, Callable[[Inputs], Work | None]]] = {
    "aten::mm": _mm,
    "aten::addmm": _addmm,
    "aten::addmm_": _addmm,
    "aten::_addmm_activation": _addmm,
    "aten::bmm": _bmm,
    "aten::baddbmm": _baddbmm,
    "aten::baddbmm_": _baddbmm,
    "aten::addbmm": _addbmm,
    "aten::linear": _linear,
    "aten::matmul": _matmul,
    "aten::mv": _mv,
    "aten::addmv": _addmv,
    "aten::addmv_": _addmv,
    "aten::dot": _dot,
    "aten::vdot": _dot,
    "aten::_scaled_mm": _scaled_mm,
    "aten::_int_mm": _int_mm,
    "aten::_grouped_mm": _grouped_mm,
    "aten::_scaled_grouped_mm": _grouped_mm,
}
