"""One decoding step of a small model, launched kernel by kernel, and replayed as a CUDA graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - as everybody writes it

from foretrace.learn.programs.step import annotated, filled

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["captured", "decode_step", "step_eager", "step_replayed"]

_BATCH, _WIDTH, _HIDDEN, _HEADS, _CACHED = 8, 1024, 2816, 16, 1024
_LAYERS = 2


def decode_step(x: Tensor, layers: list[tuple[Tensor, ...]]) -> Tensor:
    """One token through a few layers; keys and values are read from a cache."""
    for q, out, up, down, keys, values in layers:
        query = F.linear(F.rms_norm(x, x.shape[-1:]), q)
        query = query.view(x.shape[0], keys.shape[1], 1, keys.shape[3])
        attended = F.scaled_dot_product_attention(query, keys, values)
        x = x + F.linear(attended.reshape(x.shape), out)
        hidden = F.silu(F.linear(F.rms_norm(x, x.shape[-1:]), up))
        x = x + F.linear(hidden, down)
    return x


def captured(call: Callable[[], object]) -> torch.cuda.CUDAGraph:
    """The call as a graph: warmed up on a stream of its own, then captured."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


def _call(device: torch.device) -> Callable[[], object]:
    dim = _WIDTH // _HEADS
    x = filled(device, _BATCH, _WIDTH)
    sizes = ((_WIDTH, _WIDTH), (_WIDTH, _WIDTH), (_HIDDEN, _WIDTH), (_WIDTH, _HIDDEN))
    layers = [
        (
            *(filled(device, *size) / size[1] ** 0.5 for size in sizes),
            *(filled(device, _BATCH, _HEADS, _CACHED, dim) for _ in range(2)),
        )
        for _ in range(_LAYERS)
    ]
    return lambda: decode_step(x, layers)


def step_eager(device: torch.device) -> Callable[[], object]:
    """Kernel by kernel."""
    return annotated("decode_step", _call(device))


def step_replayed(device: torch.device) -> Callable[[], object]:
    """As a graph."""
    graph = captured(_call(device))
    return annotated("decode_step", graph.replay)
