"""Causal attention written out: with the scores masked out of place, and in place; forward, and with backward."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch.profiler import record_function

from foretrace.learn.programs.step import annotated, filled

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = [
    "BATCH",
    "HEADS",
    "HEAD_DIM",
    "LENGTH",
    "gradient_difference",
    "in_place",
    "in_place_training",
    "inplace",
    "naive",
    "out_of_place",
    "out_of_place_training",
    "overwritten",
    "what_autograd_says",
]

BATCH, HEADS, LENGTH, HEAD_DIM = 8, 16, 1024, 64


def naive(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor) -> Tensor:
    """Attention as on a blackboard; `hidden` is True where a query may not look."""
    scores = torch.matmul(q, k.transpose(-2, -1))
    scores = scores * q.shape[-1] ** -0.5
    scores = scores.masked_fill(hidden, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, v)


def inplace(q: Tensor, k: Tensor, v: Tensor, hidden: Tensor) -> Tensor:
    """The same, masked in place."""
    scores = torch.matmul(q, k.transpose(-2, -1))
    scores = scores * q.shape[-1] ** -0.5
    scores.masked_fill_(hidden, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, v)


def overwritten(q: Tensor, k: Tensor, v: Tensor) -> None:
    """In place one line further down: softmax kept its output for the backward pass."""
    weights = torch.softmax(torch.matmul(q, k.transpose(-2, -1)), dim=-1)
    weights.mul_(2)
    torch.autograd.grad(torch.matmul(weights, v).sum(), (q, k, v))


def _inputs(device: torch.device, *, training: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    q, k, v = (filled(device, BATCH, HEADS, LENGTH, HEAD_DIM).requires_grad_(training) for _ in range(3))
    hidden = torch.ones(LENGTH, LENGTH, dtype=torch.bool, device=device).triu(1)
    return q, k, v, hidden


def _forward(device: torch.device, function: Callable[..., object]) -> Callable[[], object]:
    inputs = _inputs(device, training=False)
    return annotated("attn_fwd", lambda: function(*inputs))


def _training(device: torch.device, function: Callable[..., Tensor]) -> Callable[[], object]:
    q, k, v, hidden = _inputs(device, training=True)
    upstream = torch.randn_like(q)

    def step() -> object:
        with record_function("attn_fwd"):
            output = function(q, k, v, hidden)
        with record_function("attn_bwd"):
            return torch.autograd.grad(output, (q, k, v), upstream)

    return step


def out_of_place(device: torch.device) -> Callable[[], object]:
    """Forward, out of place."""
    return _forward(device, naive)


def in_place(device: torch.device) -> Callable[[], object]:
    """Forward, in place."""
    return _forward(device, inplace)


def out_of_place_training(device: torch.device) -> Callable[[], object]:
    """Forward and backward, out of place."""
    return _training(device, naive)


def in_place_training(device: torch.device) -> Callable[[], object]:
    """Forward and backward, in place."""
    return _training(device, inplace)


def gradient_difference(device: torch.device) -> float:
    """The largest difference between the gradients of `naive` and of `inplace`."""
    q, k, v = (filled(device, 1, 2, 64, 64).requires_grad_() for _ in range(3))
    hidden = torch.ones(64, 64, dtype=torch.bool, device=device).triu(1)
    found = [torch.autograd.grad(function(q, k, v, hidden).sum(), (q, k, v)) for function in (naive, inplace)]
    return max(float((one - other).abs().max()) for one, other in zip(*found, strict=True))


def what_autograd_says(device: torch.device) -> str | None:
    """What autograd raises for `overwritten`, its first sentences; None if it raises nothing."""
    q, k, v = (filled(device, 1, 1, 8, 8).requires_grad_() for _ in range(3))
    try:
        overwritten(q, k, v)
    except RuntimeError as error:
        return str(error).partition(" Hint:")[0].strip()
    return None
