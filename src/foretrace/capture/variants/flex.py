"""FlexAttention, compiled, with the block mask made beforehand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from foretrace.capture.inputs import AttentionInputs, Forward

__all__ = ["build"]


def build(inputs: AttentionInputs) -> Forward:
    """The flag becomes a ``mask_mod`` on positions, a boolean mask one on its entries, a bias a ``score_mod``."""
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    shape = inputs.shape
    score_mod: Any = None
    mask_mod: Any = None
    if inputs.is_causal:

        def mask_mod(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return query >= key
    elif inputs.bias is not None:
        bias = inputs.bias.expand(shape.batch, shape.heads, shape.length, shape.kv_length)

        def score_mod(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return score + bias[batch, head, query, key]
    elif inputs.mask is not None:
        mask = inputs.mask.expand(shape.batch, -1, shape.length, shape.kv_length)[:, 0]

        def mask_mod(batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
            return mask[batch, query, key]

    block_mask = None
    if mask_mod is not None:
        batches = shape.batch if inputs.mask is not None and inputs.mask.shape[0] > 1 else None
        block_mask = create_block_mask(mask_mod, batches, None, shape.length, shape.kv_length, device=inputs.q.device)
    compiled = torch.compile(flex_attention, dynamic=False)

    def forward() -> Any:
        return compiled(
            inputs.q,
            inputs.k,
            inputs.v,
            score_mod=score_mod,
            block_mask=block_mask,
            enable_gqa=inputs.groups > 1,
        )

    return forward
