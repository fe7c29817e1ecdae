"""FlashAttention from the Hugging Face Hub through the ``kernels`` package, where that is installed."""

from __future__ import annotations

import inspect
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretrace.capture.variants.flash_attn import flash_attn_forward

if TYPE_CHECKING:
    from foretrace.capture.inputs import AttentionInputs, Forward

__all__ = ["REPOSITORY", "build", "is_cached"]

REPOSITORY = "kernels-community/flash-attn2"
_VERSION = 2


def is_cached() -> bool:
    """Whether the Hub's cache on this machine holds the kernel already."""
    from huggingface_hub.constants import HF_HUB_CACHE

    caches = [HF_HUB_CACHE, os.environ.get("KERNELS_CACHE", HF_HUB_CACHE)]
    return any(found for cache in caches for found in Path(cache).glob(f"*--{REPOSITORY.replace('/', '--')}"))


def build(inputs: AttentionInputs) -> Forward:
    """The build of the kernel for this torch; ``get_kernel`` downloads it unless it lies in the Hub's cache."""
    from kernels import get_kernel

    wanted: dict[str, Any] = {}
    if "version" in inspect.signature(get_kernel).parameters:
        wanted["version"] = _VERSION
    return flash_attn_forward(inputs, get_kernel(REPOSITORY, **wanted).flash_attn_func)
