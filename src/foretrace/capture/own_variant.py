"""A variant of the user's own: any callable of q, k and v.

It is called with q [B, Hq, Lq, D], k and v [B, Hkv, Lkv, D] and must return [B, Hq, Lq, D]. Beyond these it gets,
by name, whatever its signature accepts of: ``attn_mask`` or ``mask`` (None, or a tensor as SDPA takes it: boolean,
True where a key is seen, or additive), ``is_causal`` or ``causal``, ``scale``, ``enable_gqa``. One that takes a mask
and no flag gets the causal triangle as a boolean mask. What it takes neither way is its own affair; the error column
shows whether it computes the same.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from foretrace.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretrace.capture.inputs import AttentionInputs, Forward

__all__ = ["own_forward"]

_MASKS = ("attn_mask", "mask")
_FLAGS = ("is_causal", "causal")


def own_forward(function: Callable[..., Any], inputs: AttentionInputs) -> Forward:
    """Bind the callable to the inputs. Raises ``CaptureError`` when it takes no mask and the inputs need one."""
    accepted, anything = _keywords(function)
    mask_word = next((word for word in _MASKS if word in accepted), "attn_mask" if anything else None)
    flag_word = next((word for word in _FLAGS if word in accepted), "is_causal" if anything else None)
    mask, is_causal = inputs.mask, inputs.is_causal
    if is_causal and flag_word is None and mask_word is not None and inputs.drop is not None:
        mask, is_causal = ~inputs.drop, False
    if mask is not None and mask_word is None:
        raise CaptureError("it takes no mask (an argument attn_mask or mask), and this call needs one.")
    words: dict[str, Any] = {}
    if mask_word is not None:
        words[mask_word] = mask
    if flag_word is not None:
        words[flag_word] = is_causal
    if "scale" in accepted or anything:
        words["scale"] = inputs.scale
    if "enable_gqa" in accepted or (anything and inputs.groups > 1):
        words["enable_gqa"] = inputs.groups > 1

    def forward() -> Any:
        return function(inputs.q, inputs.k, inputs.v, **words)

    return forward


def _keywords(function: Callable[..., Any]) -> tuple[frozenset[str], bool]:
    """The names a callable takes as keywords, and whether it takes any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        # A built-in such as F.scaled_dot_product_attention has no signature; its docstring's first line does.
        line = (inspect.getdoc(function) or "").partition("->")[0]
        return frozenset(word for word in (*_MASKS, *_FLAGS, "scale", "enable_gqa") if f"{word}=" in line), False
    named = frozenset(
        parameter.name
        for parameter in parameters
        if parameter.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    )
    return named, any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
