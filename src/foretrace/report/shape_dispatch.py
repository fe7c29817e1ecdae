"""The backend that PyTorch would pick for a recorded shape on its device, and which ones it would refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.analysis.dispatch.call import Call, Operand, contiguous, dtype_from
from foretrace.analysis.dispatch.decide import Dispatch, dispatch
from foretrace.analysis.dispatch.devices import architecture_named
from foretrace.errors import ForetraceError

if TYPE_CHECKING:
    from foretrace.capture.recording import DeviceInfo, ShapeInfo

__all__ = ["call_of_shape", "default_dispatch"]

_BOOLEAN: Final = frozenset({"bool", "padding", "window"})


def default_dispatch(shape: ShapeInfo, device: DeviceInfo | None) -> Dispatch | None:
    """What dispatch does with the call; None where the rules do not know the device or its release of torch."""
    if device is None:
        return None
    try:
        arch = architecture_named("cpu" if device.type == "cpu" else device.name)
        cudnn = int(device.cudnn) if device.cudnn and device.cudnn.isdecimal() else None
        release = ".".join(device.torch.split(".")[:2]) if device.torch else None
        return dispatch(call_of_shape(shape), arch, release=release, cudnn=cudnn)
    except ForetraceError:
        return None


def call_of_shape(shape: ShapeInfo) -> Call:
    """The call of SDPA as a sweep, or a comparison, makes it. Raises ``UsageError`` for an unknown dtype."""
    dtype = dtype_from(shape.dtype)

    def operand(heads: int, length: int) -> Operand:
        dims = (shape.batch, heads, length, shape.head_dim)
        return Operand(dims, dtype, contiguous(dims), requires_grad=shape.training)

    flag = shape.causal and shape.mask == "none" and shape.length == shape.kv_length
    return Call(
        query=operand(shape.heads, shape.length),
        key=operand(shape.kv_heads, shape.kv_length),
        value=operand(shape.kv_heads, shape.kv_length),
        mask=None if flag else _mask(shape, dtype),
        causal=flag,
        grad=shape.training,
        gqa=shape.kv_heads < shape.heads,
    )


def _mask(shape: ShapeInfo, dtype: str) -> Operand | None:
    heads, length, batch = 1, shape.length, 1
    kind = shape.mask
    if kind == "none":
        if not shape.causal or shape.length == 1:
            return None
        kind = "bool"
    if kind == "padding" and not shape.causal:
        batch, length = shape.batch, 1
    elif kind == "padding":
        batch = shape.batch
    elif kind == "alibi":
        heads = shape.heads
    dims = (batch, heads, length, shape.kv_length)
    return Operand(dims, "bool" if kind in _BOOLEAN else dtype, contiguous(dims))
