"""``scaled_dot_product_attention``, pinned to one backend or free to choose; five variants share it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from foretrace.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from foretrace.capture.inputs import AttentionInputs, Forward

__all__ = ["Pinned", "sdpa_forward", "unpinned"]


class Pinned:
    """A call under ``sdpa_kernel``, which switches every other backend off and on again."""

    def __init__(self, attend: Forward, member: Any) -> None:
        self.attend = attend
        self._member = member

    def pin(self) -> AbstractContextManager[Any]:
        """What the call runs under: who calls often enters it once around all calls."""
        from torch.nn.attention import sdpa_kernel

        return sdpa_kernel(self._member)

    def __call__(self) -> Any:
        """One call, pinned."""
        with self.pin():
            return self.attend()


def unpinned(forward: Forward) -> tuple[Forward, Callable[[], AbstractContextManager[Any]]]:
    """The call without its pin, and the pin to put around many of them; of other variants the call as it is."""
    return (forward.attend, forward.pin) if isinstance(forward, Pinned) else (forward, nullcontext)


def sdpa_forward(inputs: AttentionInputs, backend: str | None) -> Forward:
    """The call, ``Pinned`` when ``backend`` names a member of ``SDPBackend``.

    Raises ``CaptureError`` when this torch has no such backend.
    """
    from torch.nn.attention import SDPBackend
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
    return Pinned(attend, member)
