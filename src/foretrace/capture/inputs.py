"""The tensors every variant of one comparison is given: the same q, k, v and mask, made once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from foretrace.capture.shapes import AttentionShape

__all__ = ["AttentionInputs", "Forward", "make_inputs"]

Forward = Callable[[], Any]

_SEED = 20240611
_WINDOW = 8  # a window keeps one key in eight
_DROPPED = 8  # a random mask drops one pair in eight


@dataclass(frozen=True)
class AttentionInputs:
    """What a variant may use. Masks are made here, once, so that no variant rebuilds one in each call."""

    shape: AttentionShape
    q: Tensor
    """[B, Hq, Lq, D]"""
    k: Tensor
    """[B, Hkv, Lkv, D]"""
    v: Tensor
    """[B, Hkv, Lkv, D]"""
    is_causal: bool
    """The causal triangle is asked for by flag; ``mask`` is then None."""
    mask: Tensor | None
    """As SDPA takes it: boolean, True where a key is seen, or additive; broadcast to [B, Hq, Lq, Lkv]."""
    drop: Tensor | None
    """The boolean mask, or the causal triangle, inverted: True where a score is filled with -inf."""
    bias: Tensor | None
    """The additive mask."""
    scale: float

    @property
    def groups(self) -> int:
        """Query heads for each kv head."""
        return self.shape.groups


def make_inputs(shape: AttentionShape, device: torch.device, given: Tensor | None = None) -> AttentionInputs:
    """Random q, k, v of a fixed seed and the mask of the shape, or the ``given`` one."""
    import torch

    dtype: torch.dtype = getattr(torch, shape.dtype)
    generator = torch.Generator(device=device).manual_seed(_SEED)

    def tensor(heads: int, length: int) -> Tensor:
        made = torch.randn(
            shape.batch, heads, length, shape.head_dim, generator=generator, device=device, dtype=torch.float32
        ).to(dtype)
        return made.requires_grad_(shape.training)

    q = tensor(shape.heads, shape.length)
    k = tensor(shape.kv_heads, shape.kv_length)
    v = tensor(shape.kv_heads, shape.kv_length)
    is_causal = shape.is_causal and given is None
    mask = given if given is not None else None if is_causal else _mask(shape, device, dtype)
    boolean = mask is not None and mask.dtype == torch.bool
    drop = None
    if is_causal:
        drop = ~_lower_right(shape, device)
    elif mask is not None and boolean:
        drop = ~mask
    return AttentionInputs(
        shape=shape,
        q=q,
        k=k,
        v=v,
        is_causal=is_causal,
        mask=mask,
        drop=drop,
        bias=None if boolean else mask,
        scale=float(shape.head_dim) ** -0.5,
    )


def _lower_right(shape: AttentionShape, device: torch.device) -> Tensor:
    """True where a query sees a key: the triangle whose last row is full."""
    import torch

    full = torch.ones(shape.length, shape.kv_length, dtype=torch.bool, device=device)
    return full.tril(shape.kv_length - shape.length)


def _mask(shape: AttentionShape, device: torch.device, dtype: torch.dtype) -> Tensor | None:
    import torch

    triangle = _lower_right(shape, device)[None, None]
    causal = shape.causal and shape.length > 1
    if shape.mask == "none":
        # Causal with unequal lengths; one query sees every key, so nothing is to be masked there.
        return triangle if causal else None
    if shape.mask == "alibi":
        bias = _alibi(shape, device)
        return (bias.masked_fill(~triangle, float("-inf")) if causal else bias).to(dtype)
    if shape.mask == "padding":
        keep = _padding(shape, device)
    elif shape.mask == "window":
        keep = _window(shape, device)
    elif causal:
        keep = triangle
    else:
        keep = _random(shape, device)
    if causal:
        keep = keep & triangle
    if shape.mask == "float":
        return torch.zeros(keep.shape, dtype=dtype, device=device).masked_fill(~keep, float("-inf"))
    return keep


def _positions(shape: AttentionShape, device: torch.device) -> tuple[Tensor, Tensor]:
    """Positions of queries (as a column) and keys (as a row), both counted from the first key."""
    import torch

    queries = torch.arange(shape.length, device=device) + (shape.kv_length - shape.length)
    return queries[:, None], torch.arange(shape.kv_length, device=device)[None, :]


def _padding(shape: AttentionShape, device: torch.device) -> Tensor:
    import torch

    half = max(shape.kv_length // 2, 1)
    batches = torch.arange(shape.batch, device=device)
    kept = half + batches * (shape.kv_length - half) // max(shape.batch - 1, 1)
    return (torch.arange(shape.kv_length, device=device)[None, :] < kept[:, None])[:, None, None, :]


def _window(shape: AttentionShape, device: torch.device) -> Tensor:
    queries, keys = _positions(shape, device)
    width = max(shape.kv_length // _WINDOW, 1)
    keep = (queries - keys).abs() < width
    if shape.length > shape.kv_length:
        keep |= keys == 0  # no query is left without a key
    return keep[None, None]


def _random(shape: AttentionShape, device: torch.device) -> Tensor:
    import torch

    generator = torch.Generator(device=device).manual_seed(_SEED)
    draws = torch.rand(shape.length, shape.kv_length, generator=generator, device=device)
    keep = draws >= 1 / _DROPPED
    keep[:, 0] = True  # no query is left without a key
    return keep[None, None]


def _alibi(shape: AttentionShape, device: torch.device) -> Tensor:
    import torch

    heads = torch.arange(1, shape.heads + 1, device=device, dtype=torch.float32)
    slopes = torch.pow(2.0, -8.0 * heads / shape.heads)
    queries, keys = _positions(shape, device)
    distance = (queries - keys).abs().float()
    return (-slopes[:, None, None] * distance)[None]
