"""The naive way through ``torch.compile``: what fusion by Inductor alone gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.capture.variants import naive

if TYPE_CHECKING:
    from foretrace.capture.inputs import AttentionInputs, Forward

__all__ = ["build"]


def build(inputs: AttentionInputs) -> Forward:
    """Compiled for these sizes at the first call."""
    import torch

    compiled: Forward = torch.compile(naive.build(inputs), dynamic=False)
    return compiled
