"""The attention variants: what exists is written in this table, each built by the module that it names.

A variant's module has ``build(inputs) -> forward``: everything that is made once (masks, views, compiled code) is
made in ``build``; ``forward()`` is what is profiled and returns [B, Hq, Lq, D]. Where the variant cannot run,
``build`` or the first ``forward`` raises, and the exception's text becomes the reason in its row.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from foretrace.capture.inputs import AttentionInputs, Forward

__all__ = ["VARIANTS", "Variant", "is_installed", "variant_forward"]


@dataclass(frozen=True)
class Variant:
    """One line of the table."""

    name: str
    module: str
    """Module below ``foretrace.capture.variants``."""
    title: str
    """What it is, in a few words."""
    package: str | None = None
    """A package it needs; without it the variant is left out unless it is asked for by name."""
    install: str | None = None
    """What to give to ``pip install`` for that package."""
    compiled: bool = False
    """It is compiled anew for each kind of input, which takes seconds."""


VARIANTS: Final[dict[str, Variant]] = {
    variant.name: variant
    for variant in (
        Variant("naive", "naive", "matmul, scale, masked_fill, softmax, matmul"),
        Variant("inplace", "inplace", "the same with masked_fill_"),
        Variant("math", "math", "SDPA pinned to its reference path"),
        Variant("efficient", "efficient", "SDPA pinned to the memory-efficient kernel"),
        Variant("flash", "flash", "SDPA pinned to FlashAttention"),
        Variant("cudnn", "cudnn", "SDPA pinned to cuDNN"),
        Variant("auto", "auto", "SDPA with the backend PyTorch picks"),
        Variant("naive-compiled", "naive_compiled", "the naive code through torch.compile", compiled=True),
        Variant("flex", "flex", "FlexAttention, compiled", compiled=True),
        Variant("flash-attn", "flash_attn", "the flash-attn package", "flash_attn", "flash-attn"),
        Variant("xformers", "xformers", "xformers' memory_efficient_attention", "xformers", "xformers"),
        Variant("kernels", "kernels", "FlashAttention from the Hub", "kernels", "kernels"),
    )
}


def is_installed(variant: Variant) -> bool:
    """Whether the package the variant needs, if any, is installed here."""
    return variant.package is None or importlib.util.find_spec(variant.package) is not None


def variant_forward(variant: Variant, inputs: AttentionInputs) -> Forward:
    """Build the variant for these inputs; whatever its module raises says why it cannot run."""
    module = importlib.import_module(f"foretrace.capture.variants.{variant.module}")
    forward: Forward = module.build(inputs)
    return forward
