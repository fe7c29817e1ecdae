"""SDPA as everybody calls it: PyTorch picks the backend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.capture.variants.sdpa import sdpa_forward

if TYPE_CHECKING:
    from foretrace.capture.inputs import AttentionInputs, Forward

__all__ = ["build"]


def build(inputs: AttentionInputs) -> Forward:
    """One call of SDPA with nothing pinned."""
    return sdpa_forward(inputs, None)
