"""What dispatch depends on besides the call: the PyTorch release, the device, and what a trace may not say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from foretrace.analysis.dispatch.releases import Release

__all__ = ["Architecture", "Facts", "Refusal"]


@dataclass(frozen=True)
class Architecture:
    """What kind of device runs the call."""

    kind: str
    """``cuda``, ``hip`` or ``cpu``."""
    major: int = 0
    minor: int = 0
    """Compute capability, on CUDA."""
    name: str = ""
    """``gfx942``, on HIP."""

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability, on CUDA."""
        return (self.major, self.minor)

    def __str__(self) -> str:
        if self.kind == "cuda":
            return f"sm{self.major}{self.minor}"
        return self.name or self.kind


@dataclass(frozen=True)
class Facts:
    """One way things may stand. Where something is not known, several of these are tried."""

    release: Release
    arch: Architecture
    cudnn: int
    """The cuDNN release as cuDNN writes it, e.g. 91900 for 9.19.0."""
    grad: bool
    strided: bool = False
    """Stands for strides that are not known: the last dimension of some operand is not contiguous."""
    composable_kernel: bool = False
    """On HIP: the user made Composable Kernel the flash backend."""


@dataclass(frozen=True)
class Refusal:
    """The first check of a backend that a call does not pass."""

    reason: str
    """``dtype``, ``head_dim``, ``attn_mask``, ``mask_dtype``, ``causal_lengths``, ``last_dim_stride``,
    ``num_heads``, ``seq_len``, ``dropout``, ``grad``, ``arch`` or ``other``."""
    text: str
    """Why, in one short sentence."""
