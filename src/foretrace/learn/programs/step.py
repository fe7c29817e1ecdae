"""How programs make a step: inputs on the device, an annotation around the call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.profiler import record_function

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = ["annotated", "filled"]


def filled(device: torch.device, *sizes: int, dtype: torch.dtype = torch.bfloat16) -> Tensor:
    """A random tensor of these sizes."""
    return torch.randn(sizes, device=device, dtype=torch.float32).to(dtype)


def annotated(name: str, call: Callable[[], object]) -> Callable[[], object]:
    """The call under an annotation of this name."""

    def step() -> object:
        with record_function(name):
            return call()

    return step
