"""Which backend ``scaled_dot_product_attention`` will choose for these inputs, asked of PyTorch itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from foretrace.capture.inputs import AttentionInputs

__all__ = ["dispatched_backend"]

_NAMES: Final = {
    "MATH": "math",
    "FLASH_ATTENTION": "flash",
    "EFFICIENT_ATTENTION": "efficient",
    "CUDNN_ATTENTION": "cudnn",
    "OVERRIDEABLE": "overrideable",
}


def dispatched_backend(inputs: AttentionInputs) -> str | None:
    """The backend's name; None where this torch does not say."""
    import torch
    from torch.nn.attention import SDPBackend

    options: dict[str, Any] = {"attn_mask": inputs.mask, "is_causal": inputs.is_causal}
    if inputs.groups > 1:
        options["enable_gqa"] = True
    try:
        number = torch._fused_sdp_choice(inputs.q, inputs.k, inputs.v, **options)  # noqa: SLF001 (there is no other)
        member = SDPBackend(number)
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return None
    return _NAMES.get(member.name)
