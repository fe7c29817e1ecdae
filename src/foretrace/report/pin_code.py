"""The code that pins attention to a variant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from foretrace.capture.recording import ShapeInfo

__all__ = ["pin_code"]

_BACKENDS: Final = {
    "math": "MATH",
    "efficient": "EFFICIENT_ATTENTION",
    "flash": "FLASH_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
}


def pin_code(variant: str, shape: ShapeInfo) -> str | None:
    """Lines that run ``variant`` for such a call; None where only the user knows (variants of their own).

    The pin goes once around the model, not around every call: entering it costs the host some microseconds.
    """
    flag = shape.causal and shape.mask == "none" and shape.length == shape.kv_length
    words = ["q", "k", "v"]
    if flag:
        words.append("is_causal=True")
    elif shape.mask != "none" or (shape.causal and shape.length > 1):
        words.append("attn_mask=mask")
    if shape.kv_heads < shape.heads:
        words.append("enable_gqa=True")
    if variant in _BACKENDS:
        return (
            "from torch.nn.attention import SDPBackend, sdpa_kernel\n"
            f"with sdpa_kernel(SDPBackend.{_BACKENDS[variant]}):\n"
            f"    out = torch.nn.functional.scaled_dot_product_attention({', '.join(words)})"
        )
    if variant == "flash-attn":
        return (
            "from flash_attn import flash_attn_func  # takes [B, L, H, D]\n"
            f"out = flash_attn_func(q, k, v, causal={shape.causal and shape.mask == 'none'})"
        )
    if variant == "flex":
        return (
            "from torch.nn.attention.flex_attention import flex_attention\n"
            "out = torch.compile(flex_attention)(q, k, v, block_mask=block_mask)"
        )
    return None
