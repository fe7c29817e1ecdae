"""What a row whose keys are all masked comes out as: softmax over nothing is NaN unless somebody caught it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from foretrace.capture.inputs import make_inputs

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch import Tensor

    from foretrace.capture.inputs import AttentionInputs, Forward
    from foretrace.capture.recording import MaskedRow
    from foretrace.capture.shapes import AttentionShape

__all__ = ["masked_row"]

# Small, yet a whole block of FlexAttention and of every fused kernel.
_LENGTH: Final = 128
_CLOSE: Final = 0.02


def masked_row(
    build: Callable[[AttentionInputs], Forward], shape: AttentionShape, device: torch.device, kind: str
) -> MaskedRow | None:
    """Run the variant once with a mask that masks the whole first row; None where it takes no such mask.

    ``kind`` is ``bool``, or ``float`` for an additive mask of -inf: one variant may treat the two differently.
    """
    import torch

    small = replace(
        shape,
        batch=1,
        heads=shape.groups,
        kv_heads=1,
        length=_LENGTH,
        kv_length=_LENGTH,
        causal=False,
        mask=kind,
        training=False,
    )
    keep = torch.ones(1, 1, _LENGTH, _LENGTH, dtype=torch.bool, device=device)
    keep[..., 0, :] = False
    mask = keep
    if kind == "float":
        dtype: torch.dtype = getattr(torch, shape.dtype)
        mask = torch.zeros(keep.shape, dtype=dtype, device=device).masked_fill(~keep, float("-inf"))
    inputs = make_inputs(small, device, mask)
    try:
        with torch.no_grad():
            return _word(build(inputs)()[:, :, 0], inputs)
    except Exception:  # noqa: BLE001 (whatever a variant raises here says that it takes no such mask)
        return None


def _word(row: Tensor, inputs: AttentionInputs) -> MaskedRow:
    import torch

    if bool(torch.isnan(row).all()):
        return "nan"
    if bool((row == 0).all()):
        return "zero"
    scores = inputs.scale * (inputs.q[:, :, :1].double() @ inputs.k.double().transpose(-2, -1))
    values = inputs.v.double()
    for word, weights in (("unmasked", torch.softmax(scores, -1)), ("mean", torch.full_like(scores, 1 / _LENGTH))):
        if bool(((weights @ values)[:, :, 0] - row).abs().max() < _CLOSE):
            return "unmasked" if word == "unmasked" else "mean"
    return "other"
