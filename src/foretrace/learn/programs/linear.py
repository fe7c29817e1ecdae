"""A linear layer, and the gated MLP of a transformer; each eager and through `torch.compile`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F  # noqa: N812 - as everybody writes it

from foretrace.learn.programs.step import annotated, filled

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = ["gated", "gated_compiled", "linear", "mlp", "one_linear", "one_linear_compiled"]

_ROWS, _IN, _OUT = 1024, 32, 64
_BATCH, _LENGTH, _WIDTH, _HIDDEN = 64, 128, 768, 3072


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """What `nn.Linear` calls; the weight lies as [out, in]."""
    return F.linear(x, weight, bias)


def mlp(x: Tensor, gate: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """A gated MLP without biases."""
    hidden = F.gelu(F.linear(x, gate)) * F.linear(x, up)
    return F.linear(hidden, down)


def _linear_step(device: torch.device, function: Callable[..., object]) -> Callable[[], object]:
    x, weight, bias = filled(device, _ROWS, _IN), filled(device, _OUT, _IN), filled(device, _OUT)
    return annotated("linear_fwd", lambda: function(x, weight, bias))


def _mlp_step(device: torch.device, function: Callable[..., object]) -> Callable[[], object]:
    x = filled(device, _BATCH, _LENGTH, _WIDTH)
    gate, up = (filled(device, _HIDDEN, _WIDTH) / _WIDTH**0.5 for _ in range(2))
    down = filled(device, _WIDTH, _HIDDEN) / _HIDDEN**0.5
    return annotated("mlp_fwd", lambda: function(x, gate, up, down))


def one_linear(device: torch.device) -> Callable[[], object]:
    """A linear layer."""
    return _linear_step(device, linear)


def one_linear_compiled(device: torch.device) -> Callable[[], object]:
    """A linear layer, compiled."""
    return _linear_step(device, torch.compile(linear, dynamic=False))


def gated(device: torch.device) -> Callable[[], object]:
    """A gated MLP."""
    return _mlp_step(device, mlp)


def gated_compiled(device: torch.device) -> Callable[[], object]:
    """A gated MLP, compiled."""
    return _mlp_step(device, torch.compile(mlp, dynamic=False))
