"""Copies that change the number format: which way, told by the input types of `copy_`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.analysis.shapes import op_inputs

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.trace.raw import I64

__all__ = ["FP32", "SIXTEEN_BITS", "Casts", "casts"]

FP32: Final = "float"
SIXTEEN_BITS: Final = ("c10::BFloat16", "c10::Half")
_COPY: Final = "aten::copy_"


@dataclass(frozen=True, eq=False)
class Casts:
    """Counted activities of casts."""

    up: I64
    """From 16 bits to fp32."""
    down: I64
    """From fp32 to 16 bits."""


def casts(facts: Facts) -> Casts:
    """Find them; each distinct list of types is looked at once."""
    trace = facts.trace
    owner = trace.activities.owner[facts.counted]
    spots = np.flatnonzero(owner >= 0)
    spots = spots[facts.op_names.flags([_COPY])(owner[spots])]
    if not spots.size:
        return Casts(facts.counted[:0], facts.counted[:0])
    distinct, first, inverse = np.unique(trace.ops.types[owner[spots]], return_index=True, return_inverse=True)
    ways = np.array([_way(op_inputs(trace, int(owner[spots[at]]))["types"]) for at in first], np.int8)
    way = ways[inverse] if distinct.size else ways
    return Casts(facts.counted[spots[way > 0]], facts.counted[spots[way < 0]])


def _way(types: tuple[Any, ...] | None) -> int:
    """1 up, -1 down, 0 neither; `copy_` takes the target first."""
    if types is None or len(types) < 2:  # noqa: PLR2004 - target and source
        return 0
    target, source = types[0], types[1]
    if target == FP32 and source in SIXTEEN_BITS:
        return 1
    return -1 if target in SIXTEEN_BITS and source == FP32 else 0
