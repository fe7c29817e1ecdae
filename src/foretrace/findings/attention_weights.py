"""Where attention weights are asked for: `nn.MultiheadAttention` with ``need_weights=True``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.shapes import op_inputs

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.trace.raw import I64

__all__ = ["WeightsWanted", "weights_wanted"]

_NATIVE: Final = "aten::_native_multi_head_attention"
_NEED_WEIGHTS: Final = 10
_RANK: Final = 4
# The average over the heads follows the second product within a few ops (transpose, linear, view).
_SOON_NS: Final = 2_000_000


@dataclass(frozen=True, eq=False)
class WeightsWanted:
    """The counted calls."""

    native: I64
    """Ops of the fast path."""
    averaged: I64
    """Positions in ``facts.unfused`` of the calls whose weights are averaged over the heads."""
    ops: I64
    """The ops that show it: the calls of the fast path, and the averages."""


def weights_wanted(facts: Facts) -> WeightsWanted | None:
    """The calls, or None where there are none."""
    native = np.array([op for op in facts.ops(_NATIVE) if _needs_weights(facts, int(op))], np.int64)
    means, averaged = _averages(facts)
    if not native.size and not averaged.size:
        return None
    return WeightsWanted(native, averaged, np.concatenate((native, means)))


def _needs_weights(facts: Facts, op: int) -> bool:
    concrete = op_inputs(facts.trace, op)["concrete"] or ()
    return len(concrete) > _NEED_WEIGHTS and concrete[_NEED_WEIGHTS] == "True"


def _averages(facts: Facts) -> tuple[I64, I64]:
    """(ops that average weights over the heads, the position of the attention call of each)."""
    unfused, trace = facts.unfused, facts.trace
    none = np.zeros(0, np.int64)
    if not len(unfused) or "aten::mean" not in facts.op_names:
        return none, none
    rows, at = trace.rows, trace.ops.row
    ends, threads = rows.end[at[unfused.second]], rows.thread[at[unfused.second]]
    means, calls = [], []
    for op in facts.ops("aten::mean"):
        dims = op_inputs(trace, int(op))["dims"] or ()
        size = dims[0] if dims else None
        if not (isinstance(size, list) and len(size) == _RANK):
            continue
        begin, thread = int(rows.ts[at[op]]), int(rows.thread[at[op]])
        before = np.flatnonzero((ends <= begin) & (ends > begin - _SOON_NS) & (threads == thread))
        if before.size:
            call = int(before[np.argmax(ends[before])])
            scores = unfused.kinds[int(unfused.kind[call])]
            if scores and [size[0] * size[1], *size[2:]] == [scores.matrices, scores.query_length, scores.key_length]:
                means.append(int(op))
                calls.append(call)
    return np.array(means, np.int64), np.array(calls, np.int64)
