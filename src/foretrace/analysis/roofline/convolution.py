"""Convolutions, forward and backward.

Of a forward convolution each output element needs one multiply-add for each weight of its channel; of a transposed
one each input element does. The gradient by the input and the one by the weight need as many each.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from foretrace.analysis.roofline.inputs import Inputs, Tensor, total_bytes
from foretrace.analysis.roofline.work import MATRIX, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CONVOLUTION_OPS"]


def _spatial(value: tuple[int, ...] | None, rank: int) -> tuple[int, ...] | None:
    """A value for each spatial dimension; one stands for all."""
    if value is None:
        return None
    if len(value) == rank:
        return value
    return value * rank if len(value) == 1 else None


def _padding(inputs: Inputs, at: int, weight: Tensor, dilation: tuple[int, ...]) -> tuple[int, ...] | None:
    """Both sides' padding together, by spatial dimension."""
    word = inputs.text(at)
    if word == "valid":
        return (0,) * len(dilation)
    if word == "same":
        return tuple(step * (size - 1) for step, size in zip(dilation, weight.dims[2:], strict=True))
    sizes = _spatial(inputs.wholes(at), len(dilation))
    return None if sizes is None else tuple(2 * size for size in sizes)


def _forward(
    inputs: Inputs, *, bias: int | None, stride: int, padding: int, dilation: int, weight_at: int = 1
) -> Work | None:
    given, weight = inputs.tensor(0), inputs.tensor(weight_at)
    if given is None or weight is None or len(given.dims) != len(weight.dims) or len(given.dims) < 3:  # noqa: PLR2004
        return None
    rank = len(given.dims) - 2
    steps, apart = _spatial(inputs.wholes(stride), rank), _spatial(inputs.wholes(dilation), rank)
    if steps is None or apart is None or 0 in steps:
        return None
    around = _padding(inputs, padding, weight, apart)
    if around is None:
        return None
    sides = zip(given.dims[2:], weight.dims[2:], steps, around, apart, strict=True)
    spatial = tuple((size + pad - gap * (kernel - 1) - 1) // step + 1 for size, kernel, step, pad, gap in sides)
    made = Tensor((given.dims[0], weight.dims[0], *spatial), given.dtype)
    if any(size < 0 for size in spatial):
        return None
    return _work(given.dtype, made.numel, weight, (given, weight, _at(inputs, bias), made))


def _transposed(
    inputs: Inputs, *, bias: int | None, stride: int, padding: int, output_padding: int, dilation: int, groups: int
) -> Work | None:
    given, weight = inputs.tensor(0), inputs.tensor(1)
    if given is None or weight is None or len(given.dims) != len(weight.dims) or len(given.dims) < 3:  # noqa: PLR2004
        return None
    rank = len(given.dims) - 2
    options = [_spatial(inputs.wholes(at), rank) for at in (stride, padding, output_padding, dilation)]
    share = inputs.whole(groups)
    if any(option is None for option in options) or share is None:
        return None
    steps, around, extra, apart = (option or () for option in options)
    sides = zip(given.dims[2:], weight.dims[2:], steps, around, extra, apart, strict=True)
    spatial = tuple(
        (size - 1) * step - 2 * pad + gap * (kernel - 1) + more + 1 for size, kernel, step, pad, more, gap in sides
    )
    made = Tensor((given.dims[0], weight.dims[1] * share, *spatial), given.dtype)
    return _work(given.dtype, given.numel, weight, (given, weight, _at(inputs, bias), made))


def _at(inputs: Inputs, at: int | None) -> Tensor | None:
    return None if at is None else inputs.tensor(at)


def _work(dtype: str, elements: int, weight: Tensor, moved: tuple[Tensor | None, ...], times: int = 1) -> Work:
    flops = 2 * times * elements * math.prod(weight.dims[1:])
    return Work({(MATRIX, dtype): flops} if flops else {}, total_bytes(*moved))


def _convolution(inputs: Inputs) -> Work | None:
    if inputs.flag(6):
        return _transposed(inputs, bias=2, stride=3, padding=4, output_padding=7, dilation=5, groups=8)
    return _forward(inputs, bias=2, stride=3, padding=4, dilation=5)


def _conv(inputs: Inputs) -> Work | None:
    return _forward(inputs, bias=2, stride=3, padding=4, dilation=5)


def _conv_transpose(inputs: Inputs) -> Work | None:
    return _transposed(inputs, bias=2, stride=3, padding=4, output_padding=5, dilation=7, groups=6)


def _cudnn(inputs: Inputs) -> Work | None:
    return _forward(inputs, bias=None, stride=3, padding=2, dilation=4)


def _cudnn_transpose(inputs: Inputs) -> Work | None:
    return _transposed(inputs, bias=None, stride=4, padding=2, output_padding=3, dilation=5, groups=6)


def _biased(inputs: Inputs) -> Work | None:
    """``miopen_convolution``, ``mkldnn_convolution``."""
    return _forward(inputs, bias=2, stride=4, padding=3, dilation=5)


def _slow(inputs: Inputs) -> Work | None:
    """``_slow_conv2d_forward``, ``thnn_conv2d``: no dilation."""
    given, weight = inputs.tensor(0), inputs.tensor(1)
    steps, around = _spatial(inputs.wholes(4), 2), _spatial(inputs.wholes(5), 2)
    if given is None or weight is None or steps is None or around is None or len(given.dims) != 4:  # noqa: PLR2004
        return None
    kernel = _spatial(inputs.wholes(2), 2) or weight.dims[2:]
    sides = zip(given.dims[2:], kernel, steps, around, strict=True)
    spatial = tuple((size + 2 * pad - size_of) // step + 1 for size, size_of, step, pad in sides)
    made = Tensor((given.dims[0], weight.dims[0], *spatial), given.dtype)
    return _work(given.dtype, made.numel, weight, (given, weight, inputs.tensor(3), made))


def _backward(inputs: Inputs) -> Work | None:
    """``convolution_backward``: by the input, by the weight, by the bias, as its mask says."""
    grad, given, weight = (inputs.tensor(at) for at in range(3))
    wanted = inputs.flags(10)
    if grad is None or given is None or weight is None or wanted is None or len(wanted) != 3:  # noqa: PLR2004
        return None
    by_input, by_weight, by_bias = wanted
    elements = given.numel if inputs.flag(7) else grad.numel
    read = [grad, weight if by_input else None, given if by_weight else None]
    bias = Tensor((weight.dims[0],), weight.dtype) if by_bias else None
    made = [Tensor(given.dims, given.dtype) if by_input else None, weight if by_weight else None, bias]
    return _work(grad.dtype, elements, weight, (*read, *made), times=by_input + by_weight)


def _backward_input(inputs: Inputs) -> Work | None:
    """``cudnn_convolution_backward_input``."""
    grad, weight, sizes = inputs.tensor(1), inputs.tensor(2), inputs.wholes(0)
    if grad is None or weight is None:
        return None
    made = None if sizes is None else Tensor(sizes, grad.dtype)
    found = _work(grad.dtype, grad.numel, weight, (grad, weight, made))
    return found if sizes is not None else Work(found.flops)


def _backward_weight(inputs: Inputs) -> Work | None:
    """``cudnn_convolution_backward_weight``."""
    grad, given, sizes = inputs.tensor(1), inputs.tensor(2), inputs.wholes(0)
    if grad is None or given is None or sizes is None:
        return None
    weight = Tensor(sizes, grad.dtype)
    return _work(grad.dtype, grad.numel, weight, (grad, given, weight))


CONVOLUTION_OPS: Final[Mapping[str, Callable[[Inputs], Work | None]]] = {
    "aten::convolution": _convolution,
    "aten::_convolution": _convolution,
    "aten::convolution_overrideable": _convolution,
    "aten::conv1d": _conv,
    "aten::conv2d": _conv,
    "aten::conv3d": _conv,
    "aten::conv_transpose1d": _conv_transpose,
    "aten::conv_transpose2d": _conv_transpose,
    "aten::conv_transpose3d": _conv_transpose,
    "aten::cudnn_convolution": _cudnn,
    "aten::cudnn_convolution_transpose": _cudnn_transpose,
    "aten::miopen_convolution": _biased,
    "aten::mkldnn_convolution": _biased,
    "aten::_slow_conv2d_forward": _slow,
    "aten::thnn_conv2d": _slow,
    "aten::convolution_backward": _backward,
    "aten::cudnn_convolution_backward_input": _backward_input,
    "aten::cudnn_convolution_backward_weight": _backward_weight,
}
