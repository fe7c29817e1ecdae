"""The checks that only cuDNN's backend asks: head dims, lengths, dropout, and what its releases get wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.analysis.dispatch.facts import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from foretrace.analysis.dispatch.call import Call
    from foretrace.analysis.dispatch.facts import Facts

__all__ = ["CUDNN_CHECKS", "over_grid"]

_MAX_GRID: Final = 65535


def over_grid(call: Call, backend: str) -> Refusal | None:
    """A batch size or number of heads that a launch grid cannot hold."""
    for name, number in (("batch size", call.query.dims[0]), ("number of heads", call.query.dims[1])):
        if number > _MAX_GRID:
            return Refusal("other", f"a {name} of {number} is over {_MAX_GRID}, the most {backend} takes")
    return None


def _cudnn_grid(call: Call, _facts: Facts) -> Refusal | None:
    """The first part of ``check_cudnn_tensor_shapes``, in later releases."""
    return over_grid(call, "cuDNN")


def _cudnn_head_dim(call: Call, facts: Facts) -> Refusal | None:
    """The head dims in ``check_cudnn_tensor_shapes``."""
    query, value = call.query.head_dim, call.value.head_dim
    limit = facts.release.cudnn_limit(facts.arch, facts.cudnn, query, value)
    if max(query, value) > limit:
        return Refusal("head_dim", f"head dim {max(query, value)} is over {limit}")
    for size in (query, value):
        if size % 8:
            return Refusal("head_dim", f"head dim {size} is not a multiple of 8")
    return None


def _cudnn_lengths(call: Call, facts: Facts) -> Refusal | None:
    """The lengths in ``check_cudnn_tensor_shapes``."""
    query, key = call.query.length, call.key.length
    if facts.release.cudnn_any_length_1 and 1 in (query, key):
        return Refusal("seq_len", "cuDNN takes no sequence length 1")
    if key == 1:
        return Refusal("seq_len", "cuDNN takes no key length 1")
    if query == 1 and call.dropout:
        return Refusal("seq_len", "cuDNN takes no query length 1 with dropout")
    return None


def _cudnn_decode(call: Call, facts: Facts) -> Refusal | None:
    """``is_cudnn_attention_decode_disabled``."""
    if call.query.length == 1 and facts.release.cudnn_decode_off(facts.arch, facts.cudnn):
        return Refusal("seq_len", "query length 1 is switched off for this cuDNN on this architecture")
    return None


def _cudnn_dropout_bug(call: Call, facts: Facts) -> Refusal | None:
    """The head of ``can_use_cudnn_attention``: releases of cuDNN whose dropout is wrong."""
    if call.dropout > 0 and 91100 < facts.cudnn < 91400:  # noqa: PLR2004 - 9.11.0 to 9.14.0, exclusive
        return Refusal("dropout", "dropout is wrong in cuDNN 9.11 to 9.13")
    return None


def _cudnn_dropout_sixteenth(call: Call, _facts: Facts) -> Refusal | None:
    """``check_cudnn_dropout``."""
    if (call.dropout * 16) % 1:
        return Refusal("dropout", f"dropout {call.dropout:g} is no multiple of 1/16")
    return None


def _cudnn_backward_head_dim(call: Call, facts: Facts) -> Refusal | None:
    """``check_cudnn_d256_bprop_head_dim``."""
    if not facts.grad or not facts.release.cudnn_has_256(facts.arch, facts.cudnn):
        return None
    query, value = call.query.head_dim, call.value.head_dim
    if max(query, value) <= 128 or (query, value) in ((192, 128), (256, 256)):  # noqa: PLR2004 - as PyTorch lists them
        return None
    return Refusal("grad", f"cuDNN has no backward for head dims {query} and {value}")


def _cudnn_finite_gradients(call: Call, facts: Facts) -> Refusal | None:
    """Gradients that may not be finite on Hopper, before cuDNN 9.26."""
    if not facts.grad or call.causal or facts.cudnn >= 92600 or facts.arch.capability != (9, 0):  # noqa: PLR2004
        return None
    if call.key.length % 128 == 64:  # noqa: PLR2004 - half of a tile of keys
        return Refusal("grad", f"cuDNN before 9.26 may give gradients not finite at key length {call.key.length}")
    return None


CUDNN_CHECKS: Final[Mapping[str, Callable[[Call, Facts], Refusal | None]]] = {
    "cudnn_grid": _cudnn_grid,
    "cudnn_head_dim": _cudnn_head_dim,
    "cudnn_lengths": _cudnn_lengths,
    "cudnn_decode": _cudnn_decode,
    "cudnn_dropout_bug": _cudnn_dropout_bug,
    "cudnn_dropout_sixteenth": _cudnn_dropout_sixteenth,
    "cudnn_backward_head_dim": _cudnn_backward_head_dim,
    "cudnn_finite_gradients": _cudnn_finite_gradients,
}
