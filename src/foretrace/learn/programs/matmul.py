"""A product and a sum of square bf16 matrices, small, large, and large through `torch.compile`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from foretrace.learn.programs.step import annotated, filled

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = ["large", "large_compiled", "matmul_add", "small"]

_SMALL = 64
_LARGE = 4096


def matmul_add(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """A product and a sum."""
    return torch.matmul(x, y) + z


def _square(device: torch.device, size: int, function: Callable[..., object]) -> Callable[[], object]:
    x, y, z = (filled(device, size, size) for _ in range(3))
    return annotated("matmul_add", lambda: function(x, y, z))


def small(device: torch.device) -> Callable[[], object]:
    """Small matrices."""
    return _square(device, _SMALL, matmul_add)


def large(device: torch.device) -> Callable[[], object]:
    """Large ones."""
    return _square(device, _LARGE, matmul_add)


def large_compiled(device: torch.device) -> Callable[[], object]:
    """Large ones, compiled."""
    return _square(device, _LARGE, torch.compile(matmul_add, dynamic=False))
