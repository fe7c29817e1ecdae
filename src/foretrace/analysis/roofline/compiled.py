"""Kernels that Inductor generated: an attention from FlexAttention, and fused elementwise work and reductions."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from foretrace.analysis.roofline.attention import flex_work
from foretrace.analysis.roofline.inputs import Inputs, Tensor, total_bytes
from foretrace.analysis.roofline.work import Work

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["compiled_rule"]

# Named after what is fused, and numbered.
_FLEX: Final = re.compile(r"triton_tem_\w*flex_(?:attention|decoding)(?P<backward>_backward)?\w*\Z")
_FUSED: Final = re.compile(r"triton_(?:poi|red|per)_fused_\w+\Z")


def compiled_rule(name: str) -> Callable[[Inputs], Work | None] | None:
    """How the work of a generated kernel is counted; None where the name is not one of those."""
    flex = _FLEX.match(name)
    if flex:
        backward = flex["backward"] is not None
        return lambda inputs: flex_work(inputs, backward=backward)
    return _fused if _FUSED.match(name) else None


def _fused(inputs: Inputs) -> Work | None:
    """Each tensor once, no more of it than the kernel's own range. What it computes is not recorded."""
    sizes = [number for at in range(len(inputs.dims)) if (number := inputs.whole(at)) is not None]
    tensors = inputs.all_tensors()
    if not sizes or not tensors or any(size <= 0 for size in sizes):
        return None
    span = math.prod(sizes)
    touched = [Tensor((min(tensor.distinct, span),), tensor.dtype) for tensor in tensors]
    return Work({}, total_bytes(*touched), "at_least")
