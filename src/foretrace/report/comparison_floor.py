"""The floor of a comparison's shape: the least device time that any variant could take on that card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.analysis.dispatch.call import dtype_from
from foretrace.analysis.roofline.attention import attention_work
from foretrace.analysis.roofline.bound import floor_ns
from foretrace.errors import ForetraceError
from foretrace.names.peaks import peaks_of

if TYPE_CHECKING:
    from foretrace.capture.recording import ShapeInfo

__all__ = ["shape_floor_ns"]

_WINDOW: Final = 8
"""The mask kind ``window`` keeps one key in this many, to either side."""


def shape_floor_ns(shape: ShapeInfo, device: str) -> float | None:
    """The floor in nanoseconds: of the forward, and in training of the backward besides.

    Causal pairs are counted exactly, with the last query seeing every key, and so is a window. The mask tensor itself
    is not part of it, as a variant may do without.

    Args:
        shape: the shape that was measured.
        device: the card's name.

    Returns:
        None where the card's peaks are not known, or which keys a padding mask keeps.
    """
    peaks = peaks_of(device)
    if peaks is None or shape.mask == "padding":
        return None
    try:
        dtype = dtype_from(shape.dtype)
    except ForetraceError:
        return None
    reach = max(shape.kv_length // _WINDOW, 1) - 1 if shape.mask == "window" else None
    total = 0.0
    for backward in (False, True) if shape.training else (False,):
        work = attention_work(
            dtype,
            shape.batch,
            shape.heads,
            shape.length,
            shape.head_dim,
            key_heads=shape.kv_heads,
            keys=shape.kv_length,
            causal=shape.causal,
            bottom=True,
            window=(reach, reach),
            backward=backward,
        )
        floor, _ = floor_ns(work, peaks)
        if floor is None:
            return None
        total += floor
    return total if total > 0 else None
