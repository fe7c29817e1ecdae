"""Ask the PyTorch at hand which SDPA backend a call gets.

Each backend is pinned in turn and the call made; where it is refused, PyTorch's own words are kept. The backend it
picks by itself is that of ``_fused_sdp_choice``, or ``error`` where the call, left alone, raises.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Final, Protocol

from foretrace.capture.needs_torch import import_torch
from foretrace.capture.reasons import reason
from foretrace.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ask_pytorch"]

_PINS: Final = {
    "cudnn": "CUDNN_ATTENTION",
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "math": "MATH",
}
_CHOICES: Final = {0: "math", 1: "flash", 2: "efficient", 3: "cudnn"}
_DTYPES: Final = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "fp64": "float64",
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
}


class _Operand(Protocol):
    @property
    def dims(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def strides(self) -> tuple[int, ...] | None: ...
    @property
    def offset(self) -> int: ...
    @property
    def requires_grad(self) -> bool: ...


class _Call(Protocol):
    @property
    def query(self) -> _Operand: ...
    @property
    def key(self) -> _Operand: ...
    @property
    def value(self) -> _Operand: ...
    @property
    def mask(self) -> _Operand | None: ...
    @property
    def causal(self) -> bool: ...
    @property
    def dropout(self) -> float: ...
    @property
    def grad(self) -> bool | None: ...
    @property
    def gqa(self) -> bool: ...


def ask_pytorch(call: _Call) -> dict[str, Any]:
    """Make a call on the device at hand, left alone and with each backend pinned.

    Returns:
        ``torch`` (release), ``cudnn`` (number or None), ``device`` (name), ``kind`` (``cuda``, ``hip``, ``cpu``),
        ``capability``, ``arch`` (on HIP), ``backend``, and ``backends``: by name (ran, PyTorch's words where not).

    Raises:
        CaptureError: PyTorch is not installed, or the call's tensors could not be made.
    """
    torch = import_torch()
    cuda = torch.cuda.is_available()
    place = "cuda" if cuda else "cpu"
    try:
        tensors = [_tensor(torch, operand, place) for operand in (call.query, call.key, call.value)]
        mask = None if call.mask is None else _tensor(torch, call.mask, place)
        if call.grad:
            tensors = [tensor.requires_grad_() for tensor in tensors]
    except (RuntimeError, TypeError, AttributeError) as error:
        raise CaptureError(f"the call's tensors could not be made on {place}: {error}") from error
    given: dict[str, Any] = {"dropout_p": call.dropout, "is_causal": call.causal, "enable_gqa": call.gqa}

    def made() -> Any:
        return torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=mask, **given)

    backend = "error"
    if _made(torch, made, "")[0]:
        backend = _CHOICES.get(int(torch._fused_sdp_choice(*tensors, mask, **given)), "math")  # noqa: SLF001
    from torch.nn.attention import SDPBackend, sdpa_kernel

    backends = {}
    for name, pin in _PINS.items():
        with sdpa_kernel(getattr(SDPBackend, pin)):
            backends[name] = _made(torch, made, name)
    return {
        "torch": str(torch.__version__),
        "cudnn": torch.backends.cudnn.version() if cuda and not torch.version.hip else None,
        "device": torch.cuda.get_device_name() if cuda else "CPU",
        **_architecture(torch),
        "backend": backend,
        "backends": backends,
    }


def _architecture(torch: Any) -> dict[str, Any]:
    if not torch.cuda.is_available():
        return {"kind": "cpu", "capability": (0, 0), "arch": ""}
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    if torch.version.hip:
        return {"kind": "hip", "capability": (0, 0), "arch": properties.gcnArchName.split(":")[0]}
    return {"kind": "cuda", "capability": (properties.major, properties.minor), "arch": ""}


def _tensor(torch: Any, operand: _Operand, place: str) -> Any:
    dtype = getattr(torch, _DTYPES.get(operand.dtype, operand.dtype))
    strides = operand.strides or ()
    last = sum((size - 1) * step for size, step in zip(operand.dims, strides, strict=True)) if all(operand.dims) else 0
    room = operand.offset + last + 1
    storage = torch.ones(room) if operand.dtype == "bool" else torch.randn(room)
    tensor = storage.to(device=place, dtype=dtype).as_strided(operand.dims, strides, operand.offset).detach()
    return tensor.requires_grad_() if operand.requires_grad else tensor


def _made(torch: Any, call: Callable[[], Any], backend: str) -> tuple[bool, str]:
    cuda = torch.cuda.is_available()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
            if cuda:
                torch.cuda.synchronize()
        except RuntimeError as error:
            return False, reason(backend, error, caught, "cuda" if cuda else "cpu")
    return True, ""
