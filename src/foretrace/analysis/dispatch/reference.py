"""What no backend takes, and what the math backend does not: PyTorch's checks of the arguments, and broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.analysis.dispatch.facts import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.analysis.dispatch.call import Call

__all__ = ["math_refusal", "rejected"]

_RANKS = 2
_NO_SCALING = ("fp8", "fp4")
_NO_SOFTMAX = ("int", "uint", "bool", "complex")


def rejected(call: Call) -> Refusal | None:
    """What ``scaled_dot_product_attention`` rejects before it chooses a backend (``validate_sdpa_input``)."""
    operands = (call.query, call.key, call.value)
    given = [operand.dtype for operand in operands]
    if len(set(given)) > 1:
        return Refusal("dtype", f"q, k, v are {', '.join(given)}; they must be of one dtype")
    if any(len(operand.dims) < _RANKS for operand in operands):
        return Refusal("other", "q, k, v need two dimensions at least")
    mask = call.mask
    if mask is not None and mask.dtype not in ("bool", "fp32", call.query.dtype):
        return Refusal("mask_dtype", f"the mask is {mask.dtype}; it may be bool, fp32 or q's {call.query.dtype}")
    return None


def math_refusal(call: Call) -> Refusal | None:
    """What keeps the math backend from a call; it raises then.

    It is plain ``matmul`` and ``softmax``, so this is what they broadcast.
    """
    query, key, value = call.query, call.key, call.value
    dtype = query.dtype
    some = all(0 not in operand.dims for operand in (query, key, value))
    if dtype.startswith(_NO_SCALING) or (some and dtype.startswith(_NO_SOFTMAX)):
        # Scaling and softmax are not there for these, or turn integers into floats that value does not match.
        return Refusal("dtype", f"the math backend does not compute in {dtype}")
    key_heads, value_heads = key.heads, value.heads
    if call.gqa and len(query.dims) > _RANKS:
        if 0 in (key_heads, value_heads) or query.heads % key_heads or query.heads % value_heads:
            return Refusal("num_heads", f"{query.heads} query heads are no multiple of {key_heads} and {value_heads}")
        key_heads = value_heads = query.heads
    if query.head_dim != key.head_dim:
        return Refusal("head_dim", f"q and k have head dims {query.head_dim} and {key.head_dim}")
    if key.length != value.length:
        return Refusal("seq_len", f"k and v have lengths {key.length} and {value.length}")
    for heads in (key_heads, value_heads):
        if not _broadcast((query.heads,), (heads,)):
            return Refusal("num_heads", f"{query.heads} query heads and {heads} key heads do not broadcast")
    for other in (key, value):
        if not _broadcast(query.dims[:-3], other.dims[:-3]):
            return Refusal("other", f"batch sizes {list(query.dims[:-3])} and {list(other.dims[:-3])} do not broadcast")
    mask = call.mask
    if mask is None:
        return None
    if call.causal:
        return Refusal("attn_mask", "a mask and is_causal together; the math backend takes one of them")
    scores = (*query.dims[:-2], query.length, key.length)
    if not _broadcast(scores, mask.dims) or len(mask.dims) > len(scores):
        return Refusal("attn_mask", f"the mask's shape {list(mask.dims)} does not broadcast to {list(scores)}")
    return None


def _broadcast(left: Sequence[int], right: Sequence[int]) -> bool:
    return all(a == b or 1 in (a, b) for a, b in zip(reversed(left), reversed(right), strict=False))
