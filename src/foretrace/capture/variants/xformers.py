"""``xformers.ops.memory_efficient_attention``, where xformers is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foretrace.capture.variants.grouped import repeated

if TYPE_CHECKING:
    from foretrace.capture.inputs import AttentionInputs, Forward

__all__ = ["build"]


def build(inputs: AttentionInputs) -> Forward:
    """On [B, L, H, D] views; the causal flag becomes a ``LowerTriangularMask``, a mask an additive bias."""
    import torch
    from xformers.ops import LowerTriangularMask, memory_efficient_attention

    shape = inputs.shape
    bias: Any = None
    if inputs.is_causal:
        bias = LowerTriangularMask()
    elif inputs.mask is not None:
        added = inputs.bias
        if added is None:
            added = torch.zeros(inputs.mask.shape, dtype=inputs.q.dtype, device=inputs.q.device)
            added = added.masked_fill(~inputs.mask, float("-inf"))
        bias = added.expand(shape.batch, shape.heads, shape.length, shape.kv_length)
    q = inputs.q.transpose(1, 2)

    def forward() -> Any:
        k = repeated(inputs.k, inputs.groups).transpose(1, 2)
        v = repeated(inputs.v, inputs.groups).transpose(1, 2)
        return memory_efficient_attention(q, k, v, attn_bias=bias).transpose(1, 2)

    return forward
