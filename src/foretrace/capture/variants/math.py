"""SDPA pinned to ``math``: the reference path of PyTorch, built from ordinary ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.capture.variants.sdpa import sdpa_forward

if TYPE_CHECKING:
    from foretrace.capture.inputs import AttentionInputs, Forward

__all__ = ["build"]


def build(inputs: AttentionInputs) -> Forward:
    """One call of SDPA with every other backend switched off."""
    return sdpa_forward(inputs, "MATH")
