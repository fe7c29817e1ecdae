"""Which attention path ran, told by the ops that only it calls.

A *backend* is one of ``SDPBackend``'s, so a trace in which nobody called SDPA has none: there the path says how the
attention was computed instead (by FlexAttention, by a package, by Inductor's fusion, or op by op).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from foretrace.trace.model import Trace

__all__ = ["attention_backend", "attention_path"]

# Op -> backend. The inner ops (`aten::_flash_attention_forward`, ...) are also called on their own.
_BACKENDS: Final[dict[str, str]] = {
    "aten::_scaled_dot_product_flash_attention": "flash",
    "aten::_scaled_dot_product_flash_attention_for_cpu": "flash",
    "aten::_scaled_dot_product_flash_attention_quantized": "flash",
    "aten::_flash_attention_forward": "flash",
    "aten::_scaled_dot_product_efficient_attention": "efficient",
    "aten::_efficient_attention_forward": "efficient",
    "aten::_scaled_dot_product_cudnn_attention": "cudnn",
    "aten::_cudnn_attention_forward": "cudnn",
    "aten::_scaled_dot_product_fused_attention_overrideable": "overrideable",
    "aten::_scaled_dot_product_attention_math": "math",
    "aten::_scaled_dot_product_attention_math_for_mps": "math",
}
# Beginning of an op's name -> path.
_PACKAGES: Final[tuple[tuple[str, str], ...]] = (
    ("flash_attn::", "flash-attn"),
    ("flash_attn_3::", "flash-attn"),
    ("FlashAttn", "flash-attn"),
    ("xformers", "xformers"),
    ("flashinfer::", "FlashInfer"),
)
_COMPILED: Final = "Torch-Compiled Region"
_SOFTMAX: Final = frozenset({"aten::softmax", "aten::_softmax", "aten::_safe_softmax"})
_MATMUL: Final = frozenset({"aten::matmul", "aten::bmm", "aten::baddbmm", "aten::mm"})


def _op_names(trace: Trace) -> set[str]:
    return {trace.strings[name] for name in set(trace.rows.name[trace.ops.row].tolist())}


def attention_backend(trace: Trace) -> str | None:
    """The SDPA backend that ran (``flash``, ``efficient``, ``cudnn``, ``math``, ``overrideable``).

    Several are joined by commas; None when no op of any was recorded.
    """
    names = _op_names(trace)
    return ", ".join(dict.fromkeys(_BACKENDS[name] for name in _BACKENDS if name in names)) or None


def attention_path(trace: Trace) -> str | None:
    """The backend, or how attention was computed without SDPA; None when nothing in the trace is attention."""
    backend = attention_backend(trace)
    if backend is not None:
        return backend
    names = _op_names(trace)
    for name in sorted(names):
        for beginning, path in _PACKAGES:
            if name.startswith(beginning):
                return path
    if any(name.startswith("triton_") and "flex_attention" in name for name in names):
        return "flex"
    if any(name.startswith(_COMPILED) for name in names):
        return "Inductor"
    return "op by op" if names & _SOFTMAX and names & _MATMUL else None
