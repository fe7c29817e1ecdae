"""Fused attention, forward and backward: the ops of PyTorch, the flash-attn package, xFormers and FlexAttention.

Only the two matrix products of the forward are counted, and the five of the backward (one of them the recomputed
scores), over exactly the (query, key) pairs that a causal mask or a window leaves. A mask tensor is read but leaves
the pairs as they are: what is in it was not recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from foretrace.analysis.roofline.inputs import Inputs, Tensor, total_bytes
from foretrace.analysis.roofline.pairs import keys_seen, pairs
from foretrace.analysis.roofline.work import MATRIX, Work

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ATTENTION_OPS", "attention_work", "flex_work"]


@dataclass(frozen=True)
class _Spec:
    """Where an op's arguments stand."""

    causal: int
    heads_first: bool = True
    """[B, H, L, D] rather than [B, L, H, D]."""
    bottom: bool = False
    """The causal diagonal is aligned bottom-right."""
    mask: int | None = None
    window: tuple[int, int] | None = None
    """Positions of the keys seen to the left and to the right."""
    packed: tuple[int, int] | None = None
    """Positions of the cumulated lengths of queries and keys; where they are given, sequences are packed."""
    kept: int | None = None
    """Position of the flag that asks for the logsumexp."""
    backward: bool = False
    kind: bool = False
    """``causal`` is the position of a custom_mask_type: 1 is top-left, 2 bottom-right."""
    unknown: tuple[int, ...] = ()
    """Arguments that, where given, leave the lengths open (pages, used lengths)."""


@dataclass(frozen=True)
class _Shape:
    """One attention, in numbers."""

    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    size: int
    value_size: int


def attention_work(
    dtype: str,
    batch: int,
    heads: int,
    queries: int,
    size: int,
    *,
    key_heads: int | None = None,
    keys: int | None = None,
    value_size: int | None = None,
    causal: bool = False,
    bottom: bool = False,
    window: tuple[int | None, int | None] = (None, None),
    backward: bool = False,
) -> Work:
    """The work of one attention from its shape: contiguous tensors, no mask tensor.

    Args:
        dtype: of all tensors, e.g. ``bf16``.
        batch: B.
        heads: Hq.
        queries: Lq.
        size: D.
        key_heads: Hkv; Hq where not given.
        keys: Lkv; Lq where not given.
        value_size: the value's head dim; D where not given.
        causal: a query sees no key after its own place.
        bottom: the causal diagonal is aligned bottom-right.
        window: keys seen to the left and to the right; None is all.
        backward: the backward, the recomputed scores included.
    """
    lengths = (queries, queries if keys is None else keys)
    shape = _Shape(batch, heads, key_heads or heads, *lengths, size, value_size or size)
    left, right = window
    one = _Attention(
        shape,
        _View(left, 0 if causal else right, bottom),
        Tensor((batch, heads, queries, size), dtype),
        Tensor((batch, shape.key_heads, shape.keys, size), dtype),
        Tensor((batch, shape.key_heads, shape.keys, shape.value_size), dtype),
    )
    return one.backward(one.out, one.out, one.logsumexp) if backward else one.forward()


@dataclass(frozen=True)
class _View:
    """Which keys a query sees."""

    left: int | None
    right: int | None
    bottom: bool

    def pairs(self, shape: _Shape) -> int:
        return pairs(shape.queries, shape.keys, left=self.left, right=self.right, bottom=self.bottom)

    def share(self, shape: _Shape) -> tuple[int, int]:
        """Keys that some query sees, of all keys."""
        return (
            keys_seen(shape.queries, shape.keys, left=self.left, right=self.right, bottom=self.bottom),
            shape.keys,
        )


def _seen(tensor: Tensor, share: tuple[int, int]) -> int | None:
    size, (seen, whole) = tensor.bytes, share
    if size is None:
        return None
    return size if not whole else -(-size * seen // whole)


def _sum(*sizes: int | None) -> int | None:
    return None if any(size is None for size in sizes) else sum(size for size in sizes if size is not None)


@dataclass(frozen=True)
class _Attention:
    """One attention: its shape, what is seen, and the tensors that move."""

    shape: _Shape
    view: _View
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None = None
    count: str = "exact"

    @property
    def out(self) -> Tensor:
        """The output."""
        shape = self.shape
        return Tensor((shape.batch, shape.heads, shape.queries, shape.value_size), self.query.dtype)

    @property
    def logsumexp(self) -> Tensor:
        """What the forward keeps of the scores for the backward."""
        return Tensor((self.shape.batch, self.shape.heads, self.shape.queries), "fp32")

    def _work(self, a_pair: int, *moved: Tensor | None) -> Work:
        share = self.view.share(self.shape)
        flops = 2 * self.shape.batch * self.shape.heads * self.view.pairs(self.shape) * a_pair
        size = _sum(total_bytes(self.query, self.mask, *moved), _seen(self.key, share), _seen(self.value, share))
        return Work({(MATRIX, self.query.dtype): flops} if flops else {}, size, self.count)

    def forward(self, kept: Tensor | None = None) -> Work:
        """QK' and PV; ``kept`` is the logsumexp where it is asked for."""
        return self._work(self.shape.size + self.shape.value_size, self.out, kept)

    def backward(self, grad: Tensor | None, out: Tensor | None, kept: Tensor | None) -> Work:
        """QK' again, dP = dO V', dV = P' dO, dQ = dS K, dK = dS' Q."""
        made = [Tensor(each.dims, each.dtype) for each in (self.query, self.key, self.value)]
        return self._work(3 * self.shape.size + 2 * self.shape.value_size, grad, out, kept, *made)


def _measured(spec: _Spec, inputs: Inputs) -> Work | None:
    first = 1 if spec.backward else 0
    query, key, value = (inputs.tensor(first + at) for at in range(3))
    if query is None or key is None or value is None:
        return None
    if any(inputs.tensor(at) is not None for at in spec.unknown):
        return None
    sequences = _sequences(spec, inputs)
    shape, packed = _shape(spec, query, key, value, sequences)
    if shape is None:
        return None
    view, certain = _view(spec, inputs)
    count = "exact" if certain and not packed else "at_least"
    mask = None if spec.mask is None else inputs.tensor(spec.mask)
    one = _Attention(shape, view, query, key, value, mask, count)
    if spec.backward:
        out = inputs.tensor(5 if spec.mask == 4 else 4)  # noqa: PLR2004 - the mask's place, where it is before the output
        return one.backward(inputs.tensor(0), out, one.logsumexp)
    return one.forward(one.logsumexp if spec.kept is not None and inputs.flag(spec.kept) else None)


def _sequences(spec: _Spec, inputs: Inputs) -> int | None:
    """How many sequences are packed; None where they are not."""
    if spec.packed is None:
        return None
    bounds = inputs.tensor(spec.packed[0])
    return None if bounds is None or not bounds.dims else max(1, bounds.dims[0] - 1)


def _shape(spec: _Spec, query: Tensor, key: Tensor, value: Tensor, sequences: int | None) -> tuple[_Shape | None, bool]:
    tensors = (query, key, value)
    if sequences is not None:
        # [T, H, D], or [1, T, H, D]. Of all lengths that add up to T, equal ones leave the fewest pairs.
        dims = [each.dims[-3:] for each in tensors]
        if any(len(each) != 3 for each in dims):  # noqa: PLR2004 - tokens, heads, head dim
            return None, True
        (total, heads, size), (keys, key_heads, _), (_, _, value_size) = dims
        shape = _Shape(sequences, heads, key_heads, total // sequences, keys // sequences, size, value_size)
        return shape, True
    dims = [each.dims for each in tensors]
    if all(len(each) == 3 for each in dims) and spec.heads_first:  # noqa: PLR2004 - no batch dimension
        dims = [(1, *each) for each in dims]
    if any(len(each) != 4 for each in dims):  # noqa: PLR2004 - batch, heads, length, head dim
        return None, False
    if not spec.heads_first:
        dims = [(batch, heads, length, size) for batch, length, heads, size in dims]
    (batch, heads, queries, size), (_, key_heads, keys, _), (_, _, _, value_size) = dims
    return _Shape(batch, heads, key_heads, queries, keys, size, value_size), False


def _view(spec: _Spec, inputs: Inputs) -> tuple[_View, bool]:
    """Which keys are seen, and whether the arguments that say so were recorded."""
    left = right = None
    if spec.window is not None:
        left, right = (_bound(inputs.whole(at)) for at in spec.window)
    if not inputs.has_scalars:
        return _View(left, 0, bottom=spec.bottom), False
    if spec.kind:
        kind = inputs.whole(_mask_type_at(spec, inputs))
        return _View(left, 0 if kind in (1, 2) else right, bottom=kind == 2), True  # noqa: PLR2004 - CausalFromBottomRight
    if inputs.flag(spec.causal):
        right = 0
    return _View(left, right, bottom=spec.bottom), True


def _mask_type_at(spec: _Spec, inputs: Inputs) -> int:
    """Releases before 2.2 have one argument less in front of it."""
    older = not spec.backward and len(inputs.dims) < 14  # noqa: PLR2004 - the arguments of the later form
    return spec.causal - 1 if older else spec.causal


def _bound(value: int | None) -> int | None:
    return value if value is not None and value >= 0 else None


_SPECS: Final[Mapping[str, _Spec]] = {
    "aten::scaled_dot_product_attention": _Spec(causal=5, mask=3),
    "aten::_scaled_dot_product_attention_math": _Spec(causal=5, mask=3),
    "aten::_scaled_dot_product_flash_attention": _Spec(causal=4, bottom=True),
    "aten::_scaled_dot_product_flash_attention_for_cpu": _Spec(causal=4, mask=5),
    "aten::_scaled_dot_product_efficient_attention": _Spec(causal=6, mask=3, kept=4),
    "aten::_scaled_dot_product_cudnn_attention": _Spec(causal=6, mask=3, kept=4),
    "aten::_scaled_dot_product_fused_attention_overrideable": _Spec(causal=5, mask=3),
    "aten::_flash_attention_forward": _Spec(
        causal=8, heads_first=False, bottom=True, window=(11, 12), packed=(3, 4), unknown=(13,)
    ),
    "aten::_efficient_attention_forward": _Spec(causal=9, heads_first=False, mask=3, packed=(4, 5), kind=True, kept=10),
    "aten::_cudnn_attention_forward": _Spec(causal=10, mask=3, packed=(4, 5), kept=8),
    "aten::_scaled_dot_product_flash_attention_backward": _Spec(causal=11, bottom=True, packed=(6, 7), backward=True),
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _Spec(causal=7, mask=8, backward=True),
    "aten::_scaled_dot_product_efficient_attention_backward": _Spec(causal=11, mask=4, backward=True),
    "aten::_scaled_dot_product_cudnn_attention_backward": _Spec(causal=14, mask=8, packed=(9, 10), backward=True),
    "aten::_scaled_dot_product_fused_attention_overrideable_backward": _Spec(causal=13, mask=4, backward=True),
    "aten::_flash_attention_backward": _Spec(
        causal=11, heads_first=False, bottom=True, window=(15, 16), packed=(6, 7), backward=True
    ),
    "aten::_efficient_attention_backward": _Spec(
        causal=14, heads_first=False, mask=4, packed=(6, 7), kind=True, backward=True
    ),
    "aten::_cudnn_attention_backward": _Spec(causal=14, mask=8, packed=(9, 10), backward=True),
    "flash_attn::_flash_attn_forward": _Spec(causal=5, heads_first=False, bottom=True, window=(6, 7)),
    "flash_attn::_flash_attn_varlen_forward": _Spec(
        causal=9, heads_first=False, bottom=True, window=(10, 11), packed=(3, 4), unknown=(14,)
    ),
    "flash_attn::_flash_attn_backward": _Spec(
        causal=11, heads_first=False, bottom=True, window=(12, 13), backward=True
    ),
    "flash_attn::_flash_attn_varlen_backward": _Spec(
        causal=15, heads_first=False, bottom=True, window=(16, 17), packed=(9, 10), backward=True
    ),
    "flash_attn_3::fwd": _Spec(
        causal=24, heads_first=False, bottom=True, window=(25, 26), packed=(7, 8), unknown=(3, 10, 11, 14)
    ),
    "xformers_flash::flash_fwd": _Spec(
        causal=10, heads_first=False, bottom=True, window=(11, 12), packed=(3, 4), unknown=(5, 14)
    ),
}


def _reader(spec: _Spec) -> Callable[[Inputs], Work | None]:
    return lambda inputs: _measured(spec, inputs)


ATTENTION_OPS: Final[Mapping[str, Callable[[Inputs], Work | None]]] = {
    name: _reader(spec) for name, spec in _SPECS.items()
}


def flex_work(inputs: Inputs, *, backward: bool) -> Work | None:
    """A compiled FlexAttention: what full attention would be, at most, as its block mask's content was not recorded."""
    four = [tensor for tensor in inputs.all_tensors() if len(tensor.dims) == 4 and tensor.dtype in _FLOATS]  # noqa: PLR2004
    if len(four) < 3:  # noqa: PLR2004 - query, key, value
        return None
    query, key, value = four[:3]
    if query.dims[0] != key.dims[0] or key.dims[:3] != value.dims[:3] or query.dims[3] != key.dims[3]:
        return None
    (batch, heads, queries, size), (_, key_heads, keys, _) = query.dims, key.dims
    shape = _Shape(batch, heads, key_heads, queries, keys, size, value.dims[3])
    one = _Attention(shape, _View(None, None, bottom=False), query, key, value, count="at_most")
    return one.backward(one.out, one.out, one.logsumexp) if backward else one.forward()


_FLOATS: Final = ("bf16", "fp16", "fp32", "fp64", "fp8_e4m3", "fp8_e5m2")
