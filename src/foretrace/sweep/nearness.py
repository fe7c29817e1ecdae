"""Which measured cases say something about a shape, and how near they are, in doublings."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from foretrace.capture.recording import ShapeInfo
    from foretrace.report.sweep_outcome import CaseOutcome

__all__ = ["comparable", "nearest", "place"]

_HEAD_DIM: Final = 2.0  # another head dim is another kernel: it counts for more than as much more of the same
_SPLIT: Final = 0.25  # the same number of heads in all, split otherwise over the batch
_DTYPE: Final = 0.5  # bf16 and fp16 run at one speed, nearly
_HALVES: Final = ("bfloat16", "float16")


def _kind(shape: ShapeInfo) -> tuple[object, ...]:
    """What must be the same for one case to say anything about another: it runs other code else."""
    one_query = shape.length == 1
    causal = shape.causal and not one_query
    mask = shape.mask
    if mask == "none" and causal and shape.length != shape.kv_length:
        mask = "triangle"  # a tensor, for the flag would align it elsewhere
    dtype = "half" if shape.dtype in _HALVES else shape.dtype
    return shape.training, mask, causal, one_query, shape.kv_heads < shape.heads, dtype


def place(shape: ShapeInfo) -> NDArray[np.float64]:
    """Where a shape lies; a distance of one is a doubling of one size."""
    both = log2(shape.length * shape.kv_length) / 2
    return np.array(
        [
            log2(shape.batch * shape.heads),
            _SPLIT * log2(shape.heads),
            log2(shape.heads / shape.kv_heads),
            both,
            log2(shape.kv_length / shape.length),
            _HEAD_DIM * log2(shape.head_dim),
            _DTYPE * (shape.dtype == "float16"),
        ]
    )


def comparable(shape: ShapeInfo, outcomes: Iterable[CaseOutcome]) -> list[CaseOutcome]:
    """The cases that run the same kind of code."""
    kind = _kind(shape)
    return [outcome for outcome in outcomes if _kind(outcome.shape) == kind]


def nearest(shape: ShapeInfo, outcomes: list[CaseOutcome], most: int) -> list[tuple[float, CaseOutcome]]:
    """The nearest cases with their distances, the nearest first."""
    if not outcomes:
        return []
    here = place(shape)
    far = np.linalg.norm(np.array([place(outcome.shape) for outcome in outcomes]) - here, axis=1)
    order = np.argsort(far, kind="stable")[:most]
    return [(float(far[at]), outcomes[at]) for at in order]
