"""Elementwise ops, fills, casts and copies: an element in, an element out, one operation each on a CUDA core."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.analysis.roofline.inputs import Inputs, Tensor, total_bytes
from foretrace.analysis.roofline.work import VECTOR, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["ELEMENT_OPS", "counted_in", "vector_work"]

# Formats in the order that PyTorch promotes them; those of one rank promote to the next float above them both.
_RANKS: Final = (
    ("bool",), ("uint8",), ("int8",), ("int16",), ("int32",), ("int64",), ("bf16", "fp16"), ("fp32",), ("fp64",),
    ("complex64",), ("complex128",),
)  # fmt: skip
_RANK: Final = {dtype: rank for rank, dtypes in enumerate(_RANKS) for dtype in dtypes}
_FIRST_FLOAT: Final = _RANK["bf16"]


def counted_in(dtype: str) -> str:
    """The format whose arithmetic rate holds: 16-bit floats are computed in float32, integers in int32."""
    if dtype in ("fp64", "complex128"):
        return "fp64"
    return "fp32" if _RANK.get(dtype, _FIRST_FLOAT) >= _FIRST_FLOAT else "int32"


def vector_work(dtype: str, operations: int, moved: int | None) -> Work:
    """Work on CUDA cores; integer operations are not floating-point and not counted."""
    kind = counted_in(dtype)
    flops = {(VECTOR, kind): operations} if operations and kind != "int32" else {}
    return Work(flops, moved)


def _promoted(tensors: Sequence[Tensor]) -> str:
    """The dtype of a result: tensors with dimensions decide over those without, where they are of one kind."""
    given = [tensor for tensor in tensors if tensor.dims] or list(tensors)
    best = given[0].dtype
    for tensor in given[1:]:
        one, other = _RANK.get(best), _RANK.get(tensor.dtype)
        if one is None or other is None:
            return ""
        if one == other and best != tensor.dtype:
            best = "fp32"
        elif other > one:
            best = tensor.dtype
    return best


def _shape(tensors: Sequence[Tensor]) -> tuple[int, ...] | None:
    rank = max(len(tensor.dims) for tensor in tensors)
    result = []
    for at in range(-rank, 0):
        sizes = {tensor.dims[at] for tensor in tensors if len(tensor.dims) >= -at} - {1}
        if len(sizes) > 1:
            return None
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def _elementwise(operands: int, operations: int, *, out: str | None, in_place: bool) -> Callable[[Inputs], Work | None]:
    def work(inputs: Inputs) -> Work | None:
        found = [inputs.tensor(at) for at in range(operands)]
        tensors = [tensor for tensor in found if tensor is not None]
        if not tensors or found[0] is None:
            return None
        shape = tensors[0].dims if in_place else _shape(tensors)
        if shape is None:
            return None
        dtype = tensors[0].dtype if in_place else out or _promoted(tensors)
        made = Tensor(shape, dtype, tensors[0].strides if in_place else None)
        return vector_work(_promoted(tensors), operations * made.numel, total_bytes(*tensors, made))

    return work


# Op: (tensor operands, operations for each element). The name with an underscore behind it works in place.
_PLAIN: Final[Mapping[str, tuple[int, int]]] = {
    **dict.fromkeys(
        ("abs", "neg", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "sin",
         "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sigmoid", "relu", "relu6", "floor", "ceil",
         "round", "trunc", "frac", "sign", "sgn", "square", "erf", "erfc", "erfinv", "lgamma", "digamma", "hardtanh",
         "leaky_relu", "elu", "celu", "selu", "softplus", "hardswish", "hardsigmoid", "threshold", "nan_to_num",
         "bitwise_not", "clamp_min", "clamp_max", "logit", "deg2rad", "rad2deg", "log_sigmoid_forward"), (1, 1),
    ),
    **dict.fromkeys(("silu", "mish", "clamp", "hardshrink", "softshrink"), (1, 2)),
    "gelu": (1, 8),
    **dict.fromkeys(
        ("add", "sub", "rsub", "mul", "div", "true_divide", "floor_divide", "pow", "maximum", "minimum", "fmax",
         "fmin", "fmod", "remainder", "atan2", "hypot", "copysign", "bitwise_and", "bitwise_or", "bitwise_xor",
         "threshold_backward", "hardtanh_backward", "leaky_relu_backward", "elu_backward", "prelu"), (2, 1),
    ),
    **dict.fromkeys(("sigmoid_backward", "tanh_backward", "softplus_backward", "hardswish_backward"), (2, 3)),
    "silu_backward": (2, 5),
    "gelu_backward": (2, 12),
    "addcmul": (3, 3),
    "addcdiv": (3, 3),
    "lerp": (3, 3),
}  # fmt: skip

# The result is bool whatever goes in.
_COMPARISONS: Final = ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor")
_TESTS: Final = ("logical_not", "isnan", "isinf", "isfinite", "isneginf", "isposinf", "signbit")
# Move elements, compute nothing: (name, tensor operands).
_CHOICES: Final = {"masked_fill": 3, "tril": 1, "triu": 1, "flip": 1, "roll": 1}
_FILLS: Final = ("fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "log_normal_")


def _where(inputs: Inputs) -> Work | None:
    """``where(condition, a, b)``; a and b may be scalars."""
    tensors = [tensor for at in range(3) if (tensor := inputs.tensor(at)) is not None]
    if len(tensors) < 2:  # noqa: PLR2004 - the condition alone is nonzero()
        return None
    shape = _shape(tensors)
    if shape is None:
        return None
    return Work({}, total_bytes(*tensors, Tensor(shape, _promoted(tensors[1:]))))


def _fill(inputs: Inputs) -> Work | None:
    target = inputs.tensor(0)
    return None if target is None else Work({}, total_bytes(target))


def _copy(inputs: Inputs) -> Work | None:
    """``copy_(to, from)``, which casts too."""
    to, source = inputs.tensor(0), inputs.tensor(1)
    return None if to is None or source is None else Work({}, total_bytes(to, source))


def _cat(inputs: Inputs) -> Work | None:
    """``cat``, ``stack``: each element read and written."""
    parts = inputs.tensors(0)
    if parts is None:
        return None
    made = [Tensor(part.dims, part.dtype) for part in parts]
    return Work({}, total_bytes(*parts, *made))


def _table() -> dict[str, Callable[[Inputs], Work | None]]:
    table: dict[str, Callable[[Inputs], Work | None]] = {}
    for name, (operands, operations) in _PLAIN.items():
        table[f"aten::{name}"] = _elementwise(operands, operations, out=None, in_place=False)
        table[f"aten::{name}_"] = _elementwise(operands, operations, out=None, in_place=True)
    for name in _COMPARISONS:
        table[f"aten::{name}"] = _elementwise(2, 1, out="bool", in_place=False)
        table[f"aten::{name}_"] = _elementwise(2, 1, out=None, in_place=True)
    for name in _TESTS:
        table[f"aten::{name}"] = _elementwise(1, 1, out="bool", in_place=False)
    for name, operands in _CHOICES.items():
        table[f"aten::{name}"] = _elementwise(operands, 0, out=None, in_place=False)
        table[f"aten::{name}_"] = _elementwise(operands, 0, out=None, in_place=True)
    table |= {f"aten::{name}": _fill for name in _FILLS}
    table |= {"aten::where": _where, "aten::copy_": _copy, "aten::cat": _cat, "aten::stack": _cat}
    return table


ELEMENT_OPS: Final[Mapping[str, Callable[[Inputs], Work | None]]] = _table()
