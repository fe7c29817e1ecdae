"""Attention written out: a batched product, a softmax over its last dimension, a batched product of the result.

The three are told by their order on one thread and by their shapes; without recorded shapes by the order alone. What
SDPA's math backend or FlexAttention's fallback run inside themselves is theirs and not counted here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.findings.spans import Spans
from foretrace.trace.raw import MISSING32

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.findings.name_index import Bools
    from foretrace.trace.raw import I64

__all__ = ["PRODUCTS", "Scores", "UnfusedAttention", "unfused_attention"]

PRODUCTS: Final = ("aten::bmm", "aten::baddbmm")
_SOFTMAX: Final = "aten::_softmax"
# Inductor names its kernels after what they fuse.
_FUSED_SOFTMAX: Final = "softmax"
_RANKS: Final = (3, 4)
_LOOK_BACK: Final = 4


@dataclass(frozen=True)
class Scores:
    """The score matrix of one call: what fused attention never writes."""

    matrices: int
    """Batch times heads."""
    query_length: int
    key_length: int
    head_dim: int
    dtype: str
    """As the trace spells it."""

    @property
    def elements(self) -> int:
        """Elements of all its matrices."""
        return self.matrices * self.query_length * self.key_length

    @property
    def bytes(self) -> int:
        """Bytes of it, in the dtype of the first product."""
        return self.elements * _BYTES.get(self.dtype, 4)


_BYTES: Final = {"c10::BFloat16": 2, "c10::Half": 2, "float": 4, "double": 8}


@dataclass(frozen=True, eq=False)
class UnfusedAttention:
    """All counted calls, by the ops that make them."""

    facts: Facts = field(repr=False)
    first: I64
    """The op of Q times K."""
    softmax: I64
    second: I64
    """The op of the weights times V."""
    kind: I64
    """Position in ``kinds``."""
    kinds: list[Scores | None]
    """None: shapes were not recorded, and the order of the ops is all that is known."""

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def call_of_activity(self) -> I64:
        """For each counted activity, the call here in whose span it was launched, or -1."""
        rows, launch = self.facts.trace.rows, self.facts.trace.activities.launch[self.facts.counted]
        return self._spans.holding(rows.thread[launch], rows.ts[launch])

    @cached_property
    def _spans(self) -> Spans:
        rows, ops = self.facts.trace.rows, self.facts.trace.ops.row
        return Spans(rows.thread[ops[self.first]], rows.ts[ops[self.first]], rows.end[ops[self.second]])

    @cached_property
    def backward(self) -> I64:
        """The counted activities of the backward of all calls."""
        return self.facts.backward_within(self._spans)

    def activities(self, calls: I64) -> I64:
        """The counted activities launched from the first product to the second, of these calls."""
        wanted = np.zeros(len(self.first) + 1, bool)
        wanted[calls] = True
        return self.facts.counted[wanted[self.call_of_activity]]


def unfused_attention(facts: Facts) -> UnfusedAttention:
    """Find the calls."""
    names = facts.op_names
    softmax = [_SOFTMAX, *names.matching(lambda name: name.startswith("triton_") and _FUSED_SOFTMAX in name)]
    none = np.zeros(0, np.int64)
    if not names.any_of(softmax) or not names.any_of(PRODUCTS):
        return UnfusedAttention(facts, none, none, none, none, [])
    ops = facts.ops(*PRODUCTS, *softmax)
    ops = ops[(facts.climb(ops, facts.sdpa.op) < 0) & ~facts.in_backward(ops)]
    rows = facts.trace.rows
    at = facts.trace.ops.row[ops]
    ops = ops[facts.flex.spans.holding(rows.thread[at], rows.ts[at]) < 0]
    at = facts.trace.ops.row[ops]
    ops = ops[np.lexsort((rows.ts[at], rows.thread[at]))]
    at = facts.trace.ops.row[ops]
    return _matched(facts, ops, names.flags(softmax)(ops))


def _matched(facts: Facts, ops: I64, is_softmax: Bools) -> UnfusedAttention:
    """Of products and softmaxes in time order: each softmax with the product after it and the one that made its input.

    Between the scores and the softmax may lie products of another shape (relative positions), so the nearest product
    of the right shape counts.
    """
    rows, at = facts.trace.rows, facts.trace.ops.row[ops]
    thread = rows.thread[at]
    middle = np.flatnonzero(is_softmax)
    middle = middle[(middle > 0) & (middle < len(ops) - 1)]
    middle = middle[~is_softmax[middle + 1] & (thread[middle + 1] == thread[middle])]
    found: list[I64] = []
    known: dict[tuple[int, ...], Scores | bool | None] = {}
    scores: list[Scores | None] = []
    for back in range(1, _LOOK_BACK + 1):
        middle = middle[middle >= back]
        middle = middle[~is_softmax[middle - back] & (thread[middle - back] == thread[middle])]
        keys = _keys(facts, ops[middle - back], ops[middle], ops[middle + 1])
        answers = [known.setdefault(key, _scores(facts, key, back)) for key in map(tuple, keys.tolist())]
        fits = np.array([answer is not False for answer in answers], bool)
        scores += [answer for answer in answers if not isinstance(answer, bool)]
        found.append(np.stack([ops[middle - back][fits], ops[middle][fits], ops[middle + 1][fits]]))
        middle = middle[~fits]
    first, softmax, second = np.concatenate(found, axis=1)
    kinds = list(dict.fromkeys(scores))
    kind = np.array([kinds.index(answer) for answer in scores], np.int64)
    order = np.argsort(rows.ts[facts.trace.ops.row[softmax]], kind="stable")
    return UnfusedAttention(facts, first[order], softmax[order], second[order], kind[order], kinds)


def _keys(facts: Facts, first: I64, softmax: I64, second: I64) -> I64:
    ops, name = facts.trace.ops, facts.op_names.code
    columns: list[Any] = [
        name[first],
        ops.dims[first],
        ops.types[first],
        name[softmax],
        ops.dims[softmax],
        ops.dims[second],
    ]
    return np.stack(columns, axis=1).astype(np.int64)


def _scores(facts: Facts, row: tuple[int, ...], back: int) -> Scores | bool | None:
    """The score matrix, or False: these shapes are not attention's. Without shapes the order has to do (None)."""
    if MISSING32 in (row[1], row[4], row[5]):
        return None if back == 1 else False
    strings = facts.trace.strings
    skip = 1 if facts.op_names.strings[row[0]] == "aten::baddbmm" else 0
    left, right = (_dims(strings[row[1]], skip + at) for at in (0, 1))
    weights = _dims(strings[row[5]], 0)
    plain = facts.op_names.strings[row[3]] == _SOFTMAX
    scores = _dims(strings[row[4]], 0) if plain else weights
    if not all(len(dims) in _RANKS for dims in (left, right, weights, scores)):
        return False
    matrices, query_length, head_dim = (int(np.prod(left[:-2])), left[-2], left[-1])
    key_length = right[-1]
    fits = (
        right[-2] == head_dim
        and weights[-2:] == (query_length, key_length)
        and scores[-1] == key_length
        and int(np.prod(scores)) == matrices * query_length * key_length
    )
    types = _list(strings[row[2]]) if row[2] != MISSING32 else ()
    kind = types[skip] if len(types) > skip and isinstance(types[skip], str) else ""
    return Scores(matrices, query_length, key_length, head_dim, kind) if fits else False


@lru_cache(maxsize=4096)
def _list(text: str) -> tuple[Any, ...]:
    try:
        value = json.loads(text)
    except ValueError:
        return ()
    return tuple(value) if isinstance(value, list) else ()


def _dims(text: str, at: int) -> tuple[int, ...]:
    """One tensor's shape; empty where it is none."""
    values = _list(text)
    size = values[at] if at < len(values) else None
    return tuple(size) if isinstance(size, list) and size and all(isinstance(n, int) for n in size) else ()
