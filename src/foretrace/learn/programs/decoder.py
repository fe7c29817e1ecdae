"""A whole decoder block, with attention written out or left to SDPA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - as everybody writes it
from torch.profiler import record_function

from foretrace.learn.programs.step import annotated, filled

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Block", "block_eager", "block_sdpa", "eager_attention", "rotated", "sdpa_attention"]

_BATCH, _LENGTH = 2, 1024
_WIDTH, _HEADS, _KV_HEADS, _HIDDEN = 2048, 16, 4, 5632


def eager_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Attention as models write it out: heads repeated, an additive mask, softmax in float32."""
    groups = q.shape[1] // k.shape[1]
    k = k.repeat_interleave(groups, dim=1)
    v = v.repeat_interleave(groups, dim=1)
    scores = torch.matmul(q, k.transpose(2, 3)) * q.shape[-1] ** -0.5
    scores = scores + mask
    weights = torch.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.matmul(weights, v)


def sdpa_attention(q: Tensor, k: Tensor, v: Tensor, _mask: Tensor) -> Tensor:
    """The same, left to SDPA."""
    attend = F.scaled_dot_product_attention
    return attend(q, k, v, is_causal=True, enable_gqa=True)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding."""
    half, other = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-other, half), dim=-1) * sin


class Block(nn.Module):
    """A pre-norm decoder block with grouped heads and a gated MLP."""

    def __init__(self, attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
        """``attend`` is how attention is computed."""
        super().__init__()
        self.attend = attend
        dim = _WIDTH // _HEADS
        self.attention_norm = nn.RMSNorm(_WIDTH)
        self.mlp_norm = nn.RMSNorm(_WIDTH)
        self.q = nn.Linear(_WIDTH, _WIDTH, bias=False)
        self.k = nn.Linear(_WIDTH, _KV_HEADS * dim, bias=False)
        self.v = nn.Linear(_WIDTH, _KV_HEADS * dim, bias=False)
        self.out = nn.Linear(_WIDTH, _WIDTH, bias=False)
        self.gate = nn.Linear(_WIDTH, _HIDDEN, bias=False)
        self.up = nn.Linear(_WIDTH, _HIDDEN, bias=False)
        self.down = nn.Linear(_HIDDEN, _WIDTH, bias=False)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        """[B, L, width] to the same."""
        batch, length, width = x.shape
        normed = self.attention_norm(x)
        q, k, v = (
            each(normed).view(batch, length, -1, width // _HEADS).transpose(1, 2) for each in (self.q, self.k, self.v)
        )
        with record_function("attention"):
            attended = self.attend(rotated(q, cos, sin), rotated(k, cos, sin), v, mask)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        normed = self.mlp_norm(x)
        added: Tensor = self.down(F.silu(self.gate(normed)) * self.up(normed))
        return x + added


def _block(device: torch.device, attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> Callable[[], object]:
    block = Block(attend).to(device=device, dtype=torch.bfloat16).eval()
    x = filled(device, _BATCH, _LENGTH, _WIDTH)
    dim = _WIDTH // _HEADS
    frequencies = 10_000 ** -(torch.arange(0, dim, 2, device=device) / dim)
    angles = torch.arange(_LENGTH, device=device)[:, None] * frequencies.repeat(2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    mask = torch.full((_LENGTH, _LENGTH), float("-inf"), device=device, dtype=x.dtype).triu(1)
    return annotated("block_fwd", lambda: block(x, cos, sin, mask))


def block_eager(device: torch.device) -> Callable[[], object]:
    """Attention written out."""
    return _block(device, eager_attention)


def block_sdpa(device: torch.device) -> Callable[[], object]:
    """Attention left to SDPA."""
    return _block(device, sdpa_attention)
