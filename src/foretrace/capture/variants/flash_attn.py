"""The ``flash-attn`` package, where it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foretrace.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretrace.capture.inputs import AttentionInputs, Forward

__all__ = ["build", "flash_attn_forward"]


def build(inputs: AttentionInputs) -> Forward:
    """``flash_attn_func`` on [B, L, H, D] views. Raises ``CaptureError`` where a mask tensor is needed."""
    from flash_attn import flash_attn_func

    return flash_attn_forward(inputs, flash_attn_func)


def flash_attn_forward(inputs: AttentionInputs, flash_attn_func: Callable[..., Any]) -> Forward:
    """A call with the signature of ``flash_attn_func``; its causal flag is aligned at the bottom right, as ours."""
    shape = inputs.shape
    causal = shape.causal and shape.mask == "none"
    if inputs.mask is not None and not causal:
        raise CaptureError("flash-attn takes no mask tensor, only the causal flag.")
    q, k, v = (tensor.transpose(1, 2) for tensor in (inputs.q, inputs.k, inputs.v))

    def forward() -> Any:
        out = flash_attn_func(q, k, v, causal=causal)
        return (out[0] if isinstance(out, tuple) else out).transpose(1, 2)

    return forward
