"""Calls of ``scaled_dot_product_attention`` in the counted steps: where they are, which backend ran, what they asked.

Calls with one signature are one *kind*: each distinct signature is parsed once, however often it is called.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.analysis.dispatch.call import Call, Operand
from foretrace.names.dtypes import CPP_DTYPES
from foretrace.trace.distinct import either
from foretrace.trace.model import NONE
from foretrace.trace.raw import MISSING32

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.findings.name_index import Bools
    from foretrace.trace.raw import I64

__all__ = ["BACKEND_OPS", "SDPA", "SdpaCalls", "SdpaKind", "mask_text", "sdpa_calls", "shape_text"]

SDPA: Final = "aten::scaled_dot_product_attention"

BACKEND_OPS: Final[dict[str, str]] = {
    "aten::_scaled_dot_product_flash_attention": "flash",
    "aten::_scaled_dot_product_flash_attention_for_cpu": "flash",
    "aten::_scaled_dot_product_efficient_attention": "efficient",
    "aten::_scaled_dot_product_cudnn_attention": "cudnn",
    "aten::_scaled_dot_product_fused_attention_overrideable": "overrideable",
    "aten::_scaled_dot_product_attention_math": "math",
}
"""The op that only this backend calls -> the backend."""


@dataclass(frozen=True)
class _Positions:
    """Where an op has its arguments; -1 where it has none such."""

    mask: int
    dropout: int
    causal: int
    gqa: int = NONE
    log_sum_exp: int = NONE
    """Whether it keeps what backward needs: gradients are recorded."""


_POSITIONS: Final[dict[str, _Positions]] = {
    SDPA: _Positions(3, 4, 5, 7),
    "aten::_scaled_dot_product_flash_attention": _Positions(NONE, 3, 4),
    "aten::_scaled_dot_product_flash_attention_for_cpu": _Positions(5, 3, 4),
    "aten::_scaled_dot_product_efficient_attention": _Positions(3, 5, 6, log_sum_exp=4),
    "aten::_scaled_dot_product_cudnn_attention": _Positions(3, 5, 6, log_sum_exp=4),
    "aten::_scaled_dot_product_fused_attention_overrideable": _Positions(3, 4, 5),
    "aten::_scaled_dot_product_attention_math": _Positions(3, 4, 5, 8),
}


@dataclass(frozen=True)
class SdpaKind:
    """What calls of one signature have in common."""

    backend: str | None
    """The backend that ran; None where no op of any was recorded under the call."""
    call: Call | None
    """Its arguments; None where shapes were not recorded."""

    @property
    def flops(self) -> float:
        """Floating-point operations of one forward call; a causal mask's upper triangle is not computed."""
        if self.call is None:
            return 0.0
        query, key, value = self.call.query, self.call.key, self.call.value
        pairs = float(query.length * key.length)
        if self.call.causal:
            full = min(query.length, key.length)
            pairs = full * (full + 1) / 2 + max(0, query.length - key.length) * key.length
        batch = float(np.prod(query.dims[:-2], dtype=np.float64))
        return 2 * batch * pairs * (query.head_dim + value.head_dim)

    @property
    def unmasked_flops(self) -> float:
        """The same without a causal mask."""
        return 0.0 if self.call is None else replace(self, call=replace(self.call, causal=False)).flops


@dataclass(frozen=True, eq=False)
class SdpaCalls:
    """All counted calls."""

    facts: Facts = field(repr=False)
    op: I64
    """The outermost op of each call."""
    kind: I64
    """Position in ``kinds``."""
    kinds: list[SdpaKind]

    def __len__(self) -> int:
        return len(self.op)

    def of_backend(self, *backends: str) -> I64:
        """The ops of the calls that ran one of these backends."""
        wanted = np.array([kind.backend in backends for kind in self.kinds], bool)
        return self.op[wanted[self.kind]] if len(self.op) else self.op

    def where(self, wanted: Any) -> I64:
        """Positions, here, of the calls whose kind is wanted; each kind is asked once."""
        chosen = np.array([bool(wanted(kind)) for kind in self.kinds], bool)
        return np.flatnonzero(chosen[self.kind]) if len(self.op) else np.zeros(0, np.int64)

    @cached_property
    def call_of_activity(self) -> I64:
        """For each counted activity, the position here of the call it was launched in, or -1."""
        found = self.facts.under(self.op)
        place = np.full(len(self.facts.trace.ops) + 1, NONE, np.int64)
        place[self.op] = np.arange(len(self.op))
        return place[found]

    @cached_property
    def call_of_backward(self) -> I64:
        """For each counted activity of backward, the position here of the call it is the backward of; else -1."""
        place = np.full(len(self.facts.trace.ops) + 1, NONE, np.int64)
        place[self.op] = np.arange(len(self.op))
        return place[self.facts.climb(self.facts.backward_of, self.op)]

    def activities(self, calls: I64) -> I64:
        """The counted activities of these calls, their forward only."""
        return self._launched_for(calls, self.call_of_activity)

    def backward(self, calls: I64) -> I64:
        """The counted activities of the backward of these calls."""
        return self._launched_for(calls, self.call_of_backward)

    def _launched_for(self, calls: I64, call_of: I64) -> I64:
        wanted = np.zeros(len(self.op) + 1, bool)
        wanted[calls] = True
        return self.facts.counted[wanted[call_of]]

    def launched_in(self) -> Bools:
        """Which counted activities were launched in any call."""
        held: Bools = self.call_of_activity >= 0
        return held


def sdpa_calls(facts: Facts) -> SdpaCalls:
    """Find the calls and parse their signatures."""
    names = facts.op_names
    inner = facts.ops(*BACKEND_OPS)
    outer = facts.outermost(either(facts.ops(SDPA), inner))
    backend = _backends(facts, outer, inner)
    ops = facts.trace.ops
    keys = np.stack(
        [names.code[outer], backend, ops.dims[outer], ops.types[outer], ops.strides[outer], ops.concrete[outer]], axis=1
    ).astype(np.int64)
    distinct, kind = np.unique(keys, axis=0, return_inverse=True) if len(outer) else (keys, np.zeros(0, np.int64))
    labels = list(BACKEND_OPS.values())
    kinds = [
        SdpaKind(
            backend=labels[row[1]] if row[1] >= 0 else None,
            call=_call(facts, names.strings[row[0]], [int(number) for number in row[2:]]),
        )
        for row in distinct
    ]
    return SdpaCalls(facts, outer, kind.reshape(-1), kinds)


def _backends(facts: Facts, outer: I64, inner: I64) -> I64:
    """For each call the backend whose op ran in it, as a position in ``BACKEND_OPS``, or -1."""
    place = np.full(len(facts.trace.ops) + 1, NONE, np.int64)
    place[outer] = np.arange(len(outer))
    call = place[facts.climb(inner, outer)]
    number = {name: at for at, name in enumerate(BACKEND_OPS)}
    which = np.array([number[facts.op_text(int(op))] for op in inner], np.int64)
    result = np.full(len(outer), NONE, np.int64)
    # Where one backend hands on to another (a nested call), the outermost op says what was chosen.
    for at in np.flatnonzero(call >= 0)[::-1]:
        result[call[at]] = which[at]
    return result


def _call(facts: Facts, name: str, columns: list[int]) -> Call | None:
    dims, types, strides, concrete = (_list(facts, number) for number in columns)
    at = _POSITIONS[name]
    operands = [_operand(dims, types, strides, position) for position in range(3)]
    query, key, value = operands
    if query is None or key is None or value is None:
        return None
    return Call(
        query=query,
        key=key,
        value=value,
        mask=_operand(dims, types, strides, at.mask),
        causal=_text(concrete, at.causal) in ("True", "1"),
        dropout=_number(_text(concrete, at.dropout)),
        grad=_grad(facts, _text(concrete, at.log_sum_exp)),
        gqa=_text(concrete, at.gqa) in ("True", "1") or query.heads != key.heads,
    )


def _grad(facts: Facts, log_sum_exp: str) -> bool | None:
    if log_sum_exp in ("True", "False"):
        return log_sum_exp == "True"
    return True if facts.has_backward else None


def _list(facts: Facts, number: int) -> list[Any]:
    if number == MISSING32:
        return []
    try:
        value = json.loads(facts.trace.strings[number])
    except ValueError:
        return []
    return value if isinstance(value, list) else []


def _text(values: list[Any], at: int) -> str:
    return str(values[at]) if 0 <= at < len(values) else ""


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0.0 <= value <= 1.0 else 0.0


def _operand(dims: list[Any], types: list[Any], strides: list[Any], at: int) -> Operand | None:
    if not 0 <= at < len(dims):
        return None
    size = dims[at]
    if not (isinstance(size, list) and len(size) > 1 and all(isinstance(n, int) and n >= 0 for n in size)):
        return None
    step = strides[at] if at < len(strides) else None
    known = isinstance(step, list) and len(step) == len(size) and all(isinstance(n, int) for n in step)
    kind = _text(types, at)
    return Operand(
        dims=tuple(size),
        dtype=CPP_DTYPES.get(kind, CPP_DTYPES.get(f"c10::{kind}", kind)),
        strides=tuple(step) if known and step is not None else None,
    )


def shape_text(call: Call) -> str:
    """``bf16 [8, 16, 1024, 64]``, with K's shape where it differs."""
    query, key = call.query, call.key
    text = f"{query.dtype} {list(query.dims)}"
    return text if key.dims == query.dims else f"{text}, K {list(key.dims)}"


def mask_text(call: Call) -> str:
    """``bool mask [1024, 1024]``."""
    return f"{call.mask.dtype} mask {list(call.mask.dims)}" if call.mask else "no mask"
