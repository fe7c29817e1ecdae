"""Calls of SDPA with nothing pinned: PyTorch picks the backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.nn import functional as F  # noqa: N812 - as everybody writes it

from foretrace.learn.programs.step import annotated, filled

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

__all__ = [
    "causal",
    "causal_call",
    "decode_call",
    "decoding",
    "grouped",
    "grouped_call",
    "grouped_in_fp32",
    "in_fp32",
    "masked",
    "masked_call",
]

_BATCH, _HEADS, _KV_HEADS, _LENGTH, _HEAD_DIM = 4, 32, 8, 1024, 128
_CACHED = 4096


def causal_call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal by flag."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def masked_call(q: Tensor, k: Tensor, v: Tensor, seen: Tensor) -> Tensor:
    """Causal by a mask tensor."""
    return F.scaled_dot_product_attention(q, k, v, attn_mask=seen)


def grouped_call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Fewer heads in k and v than in q."""
    attend = F.scaled_dot_product_attention
    return attend(q, k, v, is_causal=True, enable_gqa=True)


def decode_call(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """One query against all keys of a cache."""
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def _qkv(
    device: torch.device,
    kv_heads: int = _HEADS,
    dtype: torch.dtype = torch.bfloat16,
    lengths: tuple[int, int] = (_LENGTH, _LENGTH),
) -> tuple[Tensor, Tensor, Tensor]:
    q = filled(device, _BATCH, _HEADS, lengths[0], _HEAD_DIM, dtype=dtype)
    k, v = (filled(device, _BATCH, kv_heads, lengths[1], _HEAD_DIM, dtype=dtype) for _ in range(2))
    return q, k, v


def causal(device: torch.device) -> Callable[[], object]:
    """The common case."""
    q, k, v = _qkv(device)
    return annotated("attn_fwd", lambda: causal_call(q, k, v))


def masked(device: torch.device) -> Callable[[], object]:
    """The same triangle as a tensor."""
    q, k, v = _qkv(device)
    seen = torch.ones(_LENGTH, _LENGTH, dtype=torch.bool, device=device).tril()
    return annotated("attn_fwd", lambda: masked_call(q, k, v, seen))


def in_fp32(device: torch.device) -> Callable[[], object]:
    """The common case in float32."""
    q, k, v = _qkv(device, dtype=torch.float32)
    return annotated("attn_fwd", lambda: causal_call(q, k, v))


def grouped(device: torch.device) -> Callable[[], object]:
    """Grouped heads."""
    q, k, v = _qkv(device, _KV_HEADS)
    return annotated("attn_fwd", lambda: grouped_call(q, k, v))


def grouped_in_fp32(device: torch.device) -> Callable[[], object]:
    """Grouped heads in float32."""
    q, k, v = _qkv(device, _KV_HEADS, torch.float32)
    return annotated("attn_fwd", lambda: grouped_call(q, k, v))


def decoding(device: torch.device) -> Callable[[], object]:
    """One new token against a cache."""
    q, k, v = _qkv(device, _KV_HEADS, lengths=(1, _CACHED))
    return annotated("attn_fwd", lambda: decode_call(q, k, v))
