"""The naive way with the scores masked in place: one copy of the score matrix less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.capture.variants.grouped import repeated

if TYPE_CHECKING:
    from torch import Tensor

    from foretrace.capture.inputs import AttentionInputs, Forward

__all__ = ["build"]


def build(inputs: AttentionInputs) -> Forward:
    """As ``naive``, but with ``masked_fill_`` (``add_`` for an additive mask)."""
    import torch

    q, scale, drop, bias = inputs.q, inputs.scale, inputs.drop, inputs.bias

    def forward() -> Tensor:
        k, v = repeated(inputs.k, inputs.groups), repeated(inputs.v, inputs.groups)
        scores = torch.matmul(q, k.transpose(-2, -1))
        scores = scores * scale
        if drop is not None:
            scores.masked_fill_(drop, float("-inf"))
        elif bias is not None:
            scores.add_(bias)
        return torch.matmul(torch.softmax(scores, dim=-1), v)

    return forward
