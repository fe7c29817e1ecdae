"""The same attention through SDPA, pinned to each backend in turn; and recorded the way people record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.nn import functional as F  # noqa: N812 - as everybody writes it
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import profile, schedule

from foretrace.learn.programs.attention import BATCH, HEAD_DIM, HEADS, LENGTH
from foretrace.learn.programs.step import annotated, filled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import torch
    from torch import Tensor

__all__ = [
    "attention",
    "cudnn_backend",
    "cudnn_backend_other_shape",
    "efficient_backend",
    "flash_backend",
    "math_backend",
    "record_plainly",
]

_OTHER_LENGTH = LENGTH + 128


def attention(q: Tensor, k: Tensor, v: Tensor, backend: SDPBackend) -> Tensor:
    """Causal attention on one backend."""
    with sdpa_kernel(backend):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def record_plainly(step: Callable[[], object], path: Path) -> None:
    """A profiler around a loop, as in many scripts: nothing waits for the device anywhere."""
    plan = schedule(wait=1, warmup=1, active=3)
    with profile(schedule=plan, record_shapes=True) as prof:
        for _ in range(5):
            step()
            prof.step()
    prof.export_chrome_trace(str(path))


def _pinned(device: torch.device, backend: SDPBackend, length: int = LENGTH) -> Callable[[], object]:
    q, k, v = (filled(device, BATCH, HEADS, length, HEAD_DIM) for _ in range(3))
    return annotated("attn_fwd", lambda: attention(q, k, v, backend))


def math_backend(device: torch.device) -> Callable[[], object]:
    """Pinned to the reference path."""
    return _pinned(device, SDPBackend.MATH)


def efficient_backend(device: torch.device) -> Callable[[], object]:
    """Pinned to the memory-efficient kernel."""
    return _pinned(device, SDPBackend.EFFICIENT_ATTENTION)


def flash_backend(device: torch.device) -> Callable[[], object]:
    """Pinned to FlashAttention."""
    return _pinned(device, SDPBackend.FLASH_ATTENTION)


def cudnn_backend(device: torch.device) -> Callable[[], object]:
    """Pinned to cuDNN."""
    return _pinned(device, SDPBackend.CUDNN_ATTENTION)


def cudnn_backend_other_shape(device: torch.device) -> Callable[[], object]:
    """Pinned to cuDNN, at a length that it has no plan for yet."""
    return _pinned(device, SDPBackend.CUDNN_ATTENTION, _OTHER_LENGTH)
