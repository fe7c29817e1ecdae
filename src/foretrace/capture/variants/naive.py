"""Attention as it is written on a blackboard: matmul, scale, masked_fill out of place, softmax, matmul."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.capture.variants.grouped import repeated

if TYPE_CHECKING:
    from torch import Tensor

    from foretrace.capture.inputs import AttentionInputs, Forward

__all__ = ["build"]


def build(inputs: AttentionInputs) -> Forward:
    """The mask is made beforehand; ``masked_fill`` copies the scores before it fills the copy."""
    import torch

    q, scale, drop, bias = inputs.q, inputs.scale, inputs.drop, inputs.bias

    def forward() -> Tensor:
        k, v = repeated(inputs.k, inputs.groups), repeated(inputs.v, inputs.groups)
        scores = torch.matmul(q, k.transpose(-2, -1))
        scores = scores * scale
        if drop is not None:
            scores = scores.masked_fill(drop, float("-inf"))
        elif bias is not None:
            scores = scores + bias
        return torch.matmul(torch.softmax(scores, dim=-1), v)

    return forward
