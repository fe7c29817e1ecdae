"""Attention in float64, a few rows at a time: what every variant's output is held against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from torch import Tensor

    from foretrace.capture.inputs import AttentionInputs

__all__ = ["Reference", "max_abs_error", "reference_output"]

# Scores held at once, and scores computed at all, in elements: half a gigabyte, and about a second of float64.
_CHUNK_SCORES: Final = {"cpu": 2**22, "cuda": 2**26}
_MAX_SCORES: Final = {"cpu": 2**24, "cuda": 2**31}


@dataclass(frozen=True)
class Reference:
    """The float64 output of the first ``heads`` (batch, head) pairs, [heads, Lq, D]."""

    output: Tensor
    heads: int
    of_heads: int
    """All (batch, head) pairs of the shape; where ``heads`` is less, the rest was not compared."""


def reference_output(inputs: AttentionInputs) -> Reference:
    """Compute the output in float64, for as many (batch, head) pairs as are affordable."""
    import torch

    shape = inputs.shape
    kind = inputs.q.device.type
    pairs = shape.batch * shape.heads
    scores = shape.length * shape.kv_length
    heads = max(1, min(pairs, _MAX_SCORES.get(kind, _MAX_SCORES["cuda"]) // scores))
    rows = max(1, min(shape.length, _CHUNK_SCORES.get(kind, _CHUNK_SCORES["cuda"]) // shape.kv_length))
    output = torch.empty(heads, shape.length, shape.head_dim, dtype=torch.float64, device=inputs.q.device)
    with torch.no_grad():
        for pair in range(heads):
            batch, head = divmod(pair, shape.heads)
            kv_head = head // inputs.groups
            k = inputs.k[batch, kv_head].double()
            v = inputs.v[batch, kv_head].double()
            for start in range(0, shape.length, rows):
                part = slice(start, start + rows)
                weights = inputs.q[batch, head, part].double() @ k.T
                weights *= inputs.scale
                drop = _part(inputs.drop, inputs, batch, head, part)
                if drop is not None:
                    weights.masked_fill_(drop, float("-inf"))
                bias = _part(inputs.bias, inputs, batch, head, part)
                if bias is not None:
                    weights += bias.double()
                output[pair, part] = torch.softmax(weights, dim=-1) @ v
    return Reference(output=output, heads=heads, of_heads=pairs)


def _part(mask: Tensor | None, inputs: AttentionInputs, batch: int, head: int, rows: slice) -> Tensor | None:
    if mask is None:
        return None
    shape = inputs.shape
    return mask.expand(shape.batch, shape.heads, shape.length, shape.kv_length)[batch, head, rows]


def max_abs_error(output: Tensor, reference: Reference) -> float:
    """The largest absolute difference from the reference; NaN or infinite where the output is."""
    rows = output.detach().flatten(0, 1)[: reference.heads]
    worst = 0.0
    for pair in range(reference.heads):
        error = float((rows[pair].double() - reference.output[pair]).abs().max())
        if not math.isfinite(error):
            return error
        worst = max(worst, error)
    return worst
