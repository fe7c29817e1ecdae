"""``scaled_dot_product_attention``, pinned to one backend or free to choose; five variants share it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foretrace.errors import CaptureError

if TYPE_CHECKING:
    from torch import Tensor

    from foretrace.capture.inputs import AttentionInputs, Forward

__all__ = ["sdpa_forward"]


def sdpa_forward(inputs: AttentionInputs, backend: str | None) -> Forward:
    """The call, under ``sdpa_kernel`` when ``backend`` names a member of ``SDPBackend``.

    Raises ``CaptureError`` when this torch has no such backend.
    """
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    options: dict[str, Any] = {"attn_mask": inputs.mask, "is_causal": inputs.is_causal}
    if inputs.groups > 1:
        options["enable_gqa"] = True

    def attend() -> Tensor:
        return scaled_dot_product_attention(inputs.q, inputs.k, inputs.v, **options)

    if backend is None:
        return attend
    member = getattr(SDPBackend, backend, None)
    if member is None:
        raise CaptureError(f"this torch has no SDPBackend.{backend}.")

    def forward() -> Tensor:
        with sdpa_kernel(member):
            return attend()

    return forward
