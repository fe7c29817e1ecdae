"""Ops along a dimension: softmax, norms, reductions, gathers, embeddings, dropout. Optimizer steps and lists."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from foretrace.analysis.roofline.elements import vector_work
from foretrace.analysis.roofline.inputs import Inputs, Tensor, total_bytes
from foretrace.analysis.roofline.matrix import dtype_numbered
from foretrace.analysis.roofline.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ROW_OPS"]

# Operations for each element: the maximum, a difference, an exponential, a sum, a quotient.
_SOFTMAX: Final = 5
_SOFTMAX_BACKWARD: Final = 4
# Mean, variance, and the scaled and shifted difference.
_NORM: Final = 7
_NORM_BACKWARD: Final = 12


def _softmax(inputs: Inputs) -> Work | None:
    """``softmax(self, dim, dtype)``, ``_softmax(self, dim, half_to_float)``."""
    given = inputs.tensor(0)
    if given is None:
        return None
    widened = inputs.flag(2)
    dtype = "fp32" if widened else (dtype_numbered(inputs.whole(2)) or given.dtype)
    return vector_work(given.dtype, _SOFTMAX * given.numel, total_bytes(given, Tensor(given.dims, dtype)))


def _softmax_backward(inputs: Inputs) -> Work | None:
    """``_softmax_backward_data(grad, output, dim, input_dtype)``."""
    grad, output = inputs.tensor(0), inputs.tensor(1)
    if grad is None or output is None:
        return None
    made = Tensor(output.dims, dtype_numbered(inputs.whole(3)) or output.dtype)
    return vector_work(grad.dtype, _SOFTMAX_BACKWARD * output.numel, total_bytes(grad, output, made))


def _norm(*scales: int) -> Callable[[Inputs], Work | None]:
    """A norm of the first tensor, with weights at some positions; it writes as much as it reads."""

    def work(inputs: Inputs) -> Work | None:
        given = inputs.tensor(0)
        if given is None:
            return None
        moved = total_bytes(given, *(inputs.tensor(at) for at in scales), Tensor(given.dims, given.dtype))
        return vector_work(given.dtype, _NORM * given.numel, moved)

    return work


def _norm_backward(grad: int, given: int, *scales: int) -> Callable[[Inputs], Work | None]:
    """Reads the gradient and the input, writes the input's gradient and the weights'."""

    def work(inputs: Inputs) -> Work | None:
        flowing, seen = inputs.tensor(grad), inputs.tensor(given)
        if flowing is None or seen is None:
            return None
        weights = [tensor for at in scales if (tensor := inputs.tensor(at)) is not None]
        made = [Tensor(each.dims, each.dtype) for each in (seen, *weights)]
        return vector_work(seen.dtype, _NORM_BACKWARD * seen.numel, total_bytes(flowing, seen, *weights, *made))

    return work


def _reduced(tensor: Tensor, dims: tuple[int, ...] | None) -> int:
    """Elements that are left when these dimensions are reduced; all of them where none is named."""
    if not dims:
        return 1
    rank = len(tensor.dims)
    gone = {at % rank for at in dims} if rank else set()
    return math.prod(size for at, size in enumerate(tensor.dims) if at not in gone)


def _reduction(out: str | None = None, *, pair: bool = False, by: int = 1) -> Callable[[Inputs], Work | None]:
    """A reduction over the dimensions at position ``by``; ``pair`` gives indices beside the values."""

    def work(inputs: Inputs) -> Work | None:
        given = inputs.tensor(0)
        if given is None:
            return None
        other = inputs.tensor(1)
        if other is not None:  # max(a, b): elementwise
            return vector_work(given.dtype, given.numel, total_bytes(given, other, Tensor(given.dims, given.dtype)))
        left = _reduced(given, inputs.wholes(by))
        dtype = out or given.dtype
        indices = Tensor((left,), "int64") if pair and inputs.wholes(by) else None
        return vector_work(given.dtype, given.numel, total_bytes(given, Tensor((left,), dtype), indices))

    return work


def _scan(inputs: Inputs) -> Work | None:
    """``cumsum`` and its like: as many out as in."""
    given = inputs.tensor(0)
    if given is None:
        return None
    return vector_work(given.dtype, given.numel, total_bytes(given, Tensor(given.dims, given.dtype)))


def _gathered(table: Tensor, index: Tensor, taken: int) -> Work:
    """``taken`` elements of a table: read at most once each, written, and the index read."""
    made = Tensor((taken,), table.dtype)
    read = Tensor((min(taken, table.distinct),), table.dtype)
    return Work({}, total_bytes(index, read, made))


def _gather(inputs: Inputs) -> Work | None:
    """``gather(self, dim, index)``."""
    table, index = inputs.tensor(0), inputs.tensor(2)
    return None if table is None or index is None else _gathered(table, index, index.numel)


def _index_select(inputs: Inputs) -> Work | None:
    """``index_select(self, dim, index)``."""
    table, dim, index = inputs.tensor(0), inputs.whole(1), inputs.tensor(2)
    if table is None or index is None or dim is None or not table.dims:
        return None
    row = table.numel // max(1, table.dims[dim % len(table.dims)])
    return _gathered(table, index, row * index.numel)


def _embedding(inputs: Inputs) -> Work | None:
    """``embedding(weight, indices)``."""
    table, index = inputs.tensor(0), inputs.tensor(1)
    if table is None or index is None or len(table.dims) != 2:  # noqa: PLR2004 - [rows, size]
        return None
    return _gathered(table, index, index.numel * table.dims[1])


def _embedding_backward(inputs: Inputs) -> Work | None:
    """``embedding_dense_backward(grad, indices, num_weights)``: the whole gradient is written."""
    grad, index, number = inputs.tensor(0), inputs.tensor(1), inputs.whole(2)
    if grad is None or index is None or number is None or not grad.dims:
        return None
    made = Tensor((number, grad.dims[-1]), grad.dtype)
    return vector_work(grad.dtype, grad.numel, total_bytes(grad, index, made))


def _scatter(inputs: Inputs) -> Work | None:
    """``scatter_add_(self, dim, index, src)``, ``index_add_``, ``index_copy_``: what is touched, read and written."""
    index, source = inputs.tensor(2), inputs.tensor(3)
    if index is None or source is None:
        return None
    return vector_work(source.dtype, source.numel, total_bytes(index, source, Tensor(source.dims, source.dtype)))


def _dropout(inputs: Inputs) -> Work | None:
    """``native_dropout``: the result and a mask of a byte for each element."""
    given = inputs.tensor(0)
    if given is None:
        return None
    made = (Tensor(given.dims, given.dtype), Tensor(given.dims, "bool"))
    return vector_work(given.dtype, 2 * given.numel, total_bytes(given, *made))


def _dropout_backward(inputs: Inputs) -> Work | None:
    grad, mask = inputs.tensor(0), inputs.tensor(1)
    if grad is None or mask is None:
        return None
    return vector_work(grad.dtype, 2 * grad.numel, total_bytes(grad, mask, Tensor(grad.dims, grad.dtype)))


def _lists(read: tuple[int, ...], written: tuple[int, ...], operations: int) -> Callable[[Inputs], Work | None]:
    """An op over lists of tensors: which lists it reads and which it writes."""

    def work(inputs: Inputs) -> Work | None:
        lists = {at: inputs.tensors(at) for at in {*read, *written}}
        first = lists.get(0)
        if first is None:
            return None
        # A list that was not given (no momentum, no amsgrad) is not recorded with shapes.
        found = [tensor for at in read for tensor in lists[at] or ()]
        found += [tensor for at in written for tensor in lists[at] or ()]
        elements = sum(tensor.numel for tensor in first)
        return vector_work(inputs.list_dtype, operations * elements, total_bytes(*found))

    return work


def _foreach() -> dict[str, Callable[[Inputs], Work | None]]:
    table: dict[str, Callable[[Inputs], Work | None]] = {}
    one = ("abs", "neg", "sqrt", "exp", "log", "reciprocal", "rsqrt", "sigmoid", "tanh", "clamp_max", "clamp_min",
           "pow", "zero", "round", "ceil", "floor")  # fmt: skip
    two = ("add", "sub", "mul", "div", "maximum", "minimum", "copy")
    three = ("addcmul", "addcdiv", "lerp")
    for names, lists, operations in ((one, (0,), 1), (two, (0, 1), 1), (three, (0, 1, 2), 3)):
        for name in names:
            for tail in ("", "_"):
                table[f"aten::_foreach_{name}{tail}"] = _lists(lists, (0,), operations)
    table["aten::_foreach_norm"] = _lists((0,), (), 2)
    return table


ROW_OPS: Final[Mapping[str, Callable[[Inputs], Work | None]]] = {
    **dict.fromkeys(("aten::softmax", "aten::_softmax", "aten::log_softmax", "aten::_log_softmax",
                     "aten::_safe_softmax"), _softmax),
    **dict.fromkeys(("aten::_softmax_backward_data", "aten::_log_softmax_backward_data"), _softmax_backward),
    "aten::layer_norm": _norm(2, 3),
    "aten::native_layer_norm": _norm(2, 3),
    "aten::rms_norm": _norm(2),
    "aten::_fused_rms_norm": _norm(2),
    **dict.fromkeys(("aten::batch_norm", "aten::native_batch_norm", "aten::cudnn_batch_norm", "aten::miopen_batch_norm",
                     "aten::_native_batch_norm_legit", "aten::_batch_norm_with_update"), _norm(1, 2, 3, 4)),
    "aten::group_norm": _norm(2, 3),
    "aten::native_group_norm": _norm(1, 2),
    "aten::native_layer_norm_backward": _norm_backward(0, 1, 5, 6),
    "aten::_fused_rms_norm_backward": _norm_backward(0, 1, 4),
    "aten::native_batch_norm_backward": _norm_backward(0, 1, 2),
    "aten::cudnn_batch_norm_backward": _norm_backward(1, 0, 2),
    "aten::miopen_batch_norm_backward": _norm_backward(1, 0, 2),
    "aten::native_group_norm_backward": _norm_backward(0, 1, 4),
    **dict.fromkeys(("aten::sum", "aten::mean", "aten::amax", "aten::amin", "aten::prod", "aten::logsumexp",
                     "aten::std", "aten::var", "aten::nansum"), _reduction()),
    **dict.fromkeys(("aten::any", "aten::all"), _reduction("bool")),
    **dict.fromkeys(("aten::argmax", "aten::argmin"), _reduction("int64")),
    **dict.fromkeys(("aten::max", "aten::min"), _reduction(pair=True)),
    **dict.fromkeys(("aten::norm", "aten::linalg_vector_norm"), _reduction(by=2)),
    **dict.fromkeys(("aten::cumsum", "aten::cumprod", "aten::logcumsumexp"), _scan),
    "aten::gather": _gather,
    "aten::index_select": _index_select,
    "aten::embedding": _embedding,
    "aten::embedding_dense_backward": _embedding_backward,
    **dict.fromkeys(("aten::scatter_add_", "aten::scatter_add", "aten::index_add_", "aten::index_copy_"), _scatter),
    "aten::native_dropout": _dropout,
    "aten::native_dropout_backward": _dropout_backward,
    # self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs
    **dict.fromkeys(("aten::_fused_adam_", "aten::_fused_adamw_"), _lists((0, 1, 2, 3, 4), (0, 2, 3, 4), 14)),
    # self, grads, momentum
    "aten::_fused_sgd_": _lists((0, 1, 2), (0, 2), 4),
    # self, grads, state_sums
    "aten::_fused_adagrad_": _lists((0, 1, 2), (0, 2), 7),
    **_foreach(),
}  # fmt: skip
