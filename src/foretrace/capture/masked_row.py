"""What a row whose keys are all masked comes out as: softmax over nothing is NaN unless somebody caught it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from foretrace.capture.inputs import make_inputs

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from foretrace.capture.inputs import AttentionInputs, Forward
    from foretrace.capture.shapes import AttentionShape

__all__ = ["masked_row"]

# Small, yet a whole block of FlexAttention and of every fused kernel.
_LENGTH: Final = 128


def masked_row(
    build: Callable[[AttentionInputs], Forward], shape: AttentionShape, device: torch.device
) -> Literal["nan", "zero", "other"] | None:
    """Run the variant once with a boolean mask that masks the whole first row; None where it takes no such mask."""
    import torch

    small = replace(
        shape,
        batch=1,
        heads=shape.groups,
        kv_heads=1,
        length=_LENGTH,
        kv_length=_LENGTH,
        causal=False,
        mask="bool",
        training=False,
    )
    keep = torch.ones(1, 1, _LENGTH, _LENGTH, dtype=torch.bool, device=device)
    keep[..., 0, :] = False
    try:
        with torch.no_grad():
            row = build(make_inputs(small, device, keep))()[..., 0, :]
            if bool(torch.isnan(row).all()):
                return "nan"
            return "zero" if bool((row == 0).all()) else "other"
    except Exception:  # noqa: BLE001 (whatever a variant raises here says that it takes no such mask)
        return None
