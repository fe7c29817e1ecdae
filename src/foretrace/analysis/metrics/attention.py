"""Attention calls, and the backend of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.attention_backend import attention_path
from foretrace.analysis.metrics.metric import Figure, absent

if TYPE_CHECKING:
    from foretrace.analysis.dispatch.recorded import AttentionCall
    from foretrace.analysis.metrics.basis import Basis
    from foretrace.analysis.metrics.quantity import Select
    from foretrace.trace.raw import I64

__all__ = ["BACKENDS", "attention_rows", "backend", "calls_inside"]

BACKENDS: Final = (
    *("flash", "efficient", "cudnn", "math", "overrideable", "other"),
    *("flex", "flash-attn", "xformers", "FlashInfer", "Inductor", "op by op"),
)
"""All that ``backend`` can be: SDPA's backends, then how attention was computed where nobody called SDPA."""


def calls_inside(basis: Basis) -> list[AttentionCall]:
    """The attention calls in the scope and in the steps that figures are over."""
    inside = basis.ops & (basis.ground.op_slot >= 0)
    return [call for call in basis.ground.attention_calls if inside[call.op]]


def attention_rows(basis: Basis) -> I64:
    """Rows of the attention calls."""
    ops = basis.trace.ops
    return np.array([int(ops.row[call.op]) for call in calls_inside(basis)], np.int64)


def backend(basis: Basis, _select: Select) -> Figure:
    """The backends, each once, in order of first use; how attention was computed where nobody called SDPA."""
    calls = calls_inside(basis)
    if not calls:
        path = attention_path(basis.trace) if basis.scope is None else None
        return Figure(path) if path is not None else absent("No attention call ran.")
    unknown = sum(call.ran is None for call in calls)
    if unknown:
        return absent(f"The ops of {unknown} of {len(calls)} attention calls do not say which backend ran.")
    names = ", ".join(dict.fromkeys(call.ran for call in calls if call.ran))
    launched = _launched_inside(basis, calls)
    if launched.size:
        return Figure(names, activities=launched)
    return Figure(names, rows=attention_rows(basis))


def _launched_inside(basis: Basis, calls: list[AttentionCall]) -> I64:
    """Device activity of these calls."""
    trace, ground = basis.trace, basis.ground
    chosen = np.zeros(len(trace.ops), bool)
    chosen[[call.op for call in calls]] = True
    mine = ground.inside(chosen)
    owner = trace.activities.owner
    return np.flatnonzero((owner >= 0) & mine[np.maximum(owner, 0)] & (ground.activity_slot >= 0))
