"""What written-out attention does to its scores before the softmax: scales them, adds to them, masks them.

It decides which arguments `scaled_dot_product_attention` needs to compute the same. Told by the ops from one call to
the next softmax on its thread and by their shapes; without recorded shapes by their names.
"""

from __future__ import annotations

from enum import IntFlag, auto
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.analysis.shapes import op_inputs
from foretrace.findings.spans import Spans
from foretrace.names.decode import decode

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.findings.unfused_attention import Scores
    from foretrace.trace.raw import I64

__all__ = ["ScoreOps", "score_ops"]

_ADDS: Final = ("aten::add", "aten::add_", "aten::sub", "aten::sub_", "aten::baddbmm", "aten::baddbmm_")
_FILLS: Final = ("aten::masked_fill", "aten::masked_fill_")
_WHERE: Final = "aten::where"
_FACTORS: Final = ("aten::mul", "aten::mul_", "aten::div", "aten::div_")
_RESCALES: Final = "aten::_transform_bias_rescale_qkv"
_TRIANGLES: Final = ("aten::tril", "aten::triu", "aten::tril_", "aten::triu_")
_FUSED: Final = "triton_"
_FUSED_FILLS: Final = frozenset({"masked_fill", "where"})
_FUSED_FACTORS: Final = frozenset({"mul", "div"})
_FUSED_ADD: Final = "add"
_PLANE: Final = 2
_BETA, _ALPHA = 3, 4


class ScoreOps(IntFlag):
    """What one call does, as far as the trace shows it."""

    NONE = 0
    SCALED = auto()
    """A factor on the scores, on Q or on K; its value is not in the file."""
    FACTOR_UNKNOWN = auto()
    """Whether there is a factor cannot be told."""
    BIAS = auto()
    """A tensor is added to the scores."""
    FILLED = auto()
    """The scores are overwritten where a mask is true."""
    KEPT = auto()
    """The scores are kept where a mask is true, and overwritten elsewhere."""
    ONE_PLANE = auto()
    """Mask or bias is square and the same for all heads, as a causal mask is."""
    TRIANGLE = auto()
    """`tril` or `triu` makes a plane of this size."""


def score_ops(facts: Facts) -> list[ScoreOps]:
    """For each call in ``facts.unfused``, what it does to its scores."""
    unfused, names = facts.unfused, facts.op_names
    if not len(unfused):
        return []
    fused = names.matching(lambda name: name.startswith(_FUSED))
    ops = facts.ops(*_ADDS, *_FILLS, _WHERE, *_FACTORS, _RESCALES, *fused)
    call, after = _place(facts, ops)
    ops, call, after = ops[call >= 0], call[call >= 0], after[call >= 0]
    trace = facts.trace.ops
    columns: list[Any] = [names.code[ops], trace.dims[ops], trace.concrete[ops], unfused.kind[call], after]
    found = np.zeros(len(unfused), np.int64)
    if ops.size:
        keys = np.stack([column.astype(np.int64) for column in columns], axis=1)
        _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        said = [_said(facts, int(ops[at]), unfused.kinds[int(unfused.kind[call[at]])], bool(after[at])) for at in first]
        np.bitwise_or.at(found, call, np.array(said, np.int64)[inverse.reshape(-1)])
    triangles = _triangles(facts)
    flags = [_of_kind(kind, triangles) for kind in unfused.kinds]
    return [ScoreOps(int(some)) | flags[int(kind)] for some, kind in zip(found, unfused.kind, strict=True)]


def _place(facts: Facts, ops: I64) -> tuple[I64, I64]:
    """(the call that each op belongs to or -1, 1 where it comes after the scores): from call to softmax."""
    rows, at, unfused = facts.trace.rows, facts.trace.ops.row, facts.unfused
    thread, first = rows.thread[at[unfused.first]], rows.ts[at[unfused.first]]
    order = np.lexsort((first, thread))
    begin = first.copy()
    begin[order[1:]] = np.where(
        thread[order[1:]] == thread[order[:-1]],
        np.minimum(first[order[1:]], rows.end[at[unfused.second[order[:-1]]]]),
        0,
    )
    begin[order[:1]] = 0
    call = Spans(thread, begin, rows.ts[at[unfused.softmax]] + 1).holding(rows.thread[at[ops]], rows.ts[at[ops]])
    return call, (rows.ts[at[ops]] >= first[np.maximum(call, 0)]).astype(np.int64)


def _of_kind(kind: Scores | None, triangles: frozenset[tuple[int, int]]) -> ScoreOps:
    if kind is None:
        return ScoreOps.FACTOR_UNKNOWN | ScoreOps.ONE_PLANE
    return ScoreOps.TRIANGLE if (kind.query_length, kind.key_length) in triangles else ScoreOps.NONE


def _triangles(facts: Facts) -> frozenset[tuple[int, int]]:
    made = (_sizes(facts, int(op)) for op in facts.by_signature(facts.ops(*_TRIANGLES))[0])
    return frozenset((sizes[0][-2], sizes[0][-1]) for sizes in made if sizes and len(sizes[0]) >= _PLANE)


def _sizes(facts: Facts, op: int) -> list[tuple[int, ...]]:
    """The shapes of an op's inputs, by position; empty where an input is no tensor, or one number."""
    dims = op_inputs(facts.trace, op)["dims"] or ()
    return [tuple(size) if isinstance(size, list) and all(isinstance(n, int) for n in size) else () for size in dims]


def _said(facts: Facts, op: int, kind: Scores | None, after: bool) -> ScoreOps:
    """What one op says of a call of this kind."""
    name, sizes = facts.op_text(op), _sizes(facts, op)
    if name.startswith(_FUSED):
        return _of_fused(name, sizes, kind) if after else ScoreOps.FACTOR_UNKNOWN
    if name == _RESCALES:
        return ScoreOps.SCALED
    if name in _FACTORS:
        return ScoreOps.SCALED if kind is not None and _is_factor(sizes, kind, after) else ScoreOps.NONE
    if not after:
        return ScoreOps.NONE
    if name.startswith("aten::baddbmm"):
        return _of_baddbmm(facts, op, sizes, kind)
    if kind is not None and not any(int(np.prod(size)) == kind.elements for size in sizes if size):
        return ScoreOps.NONE
    return _masked(name, sizes, kind)


def _masked(name: str, sizes: list[tuple[int, ...]], kind: Scores | None) -> ScoreOps:
    if name in _ADDS:
        other = next((size for size in sizes if size and (kind is None or int(np.prod(size)) != kind.elements)), None)
        if kind is not None and sum(1 for size in sizes if size) < _PLANE:
            return ScoreOps.NONE  # one number more changes no softmax
        return ScoreOps.BIAS | _plane(other, kind)
    if name in _FILLS:
        return ScoreOps.FILLED | _plane(sizes[1] if len(sizes) > 1 else None, kind)
    kept = kind is None or (len(sizes) > 1 and int(np.prod(sizes[1])) == kind.elements)
    return (ScoreOps.KEPT if kept else ScoreOps.FILLED) | _plane(sizes[0] if sizes else None, kind)


def _plane(mask: tuple[int, ...] | None, kind: Scores | None) -> ScoreOps:
    """Whether this is one square plane for all heads, as a causal mask is."""
    if mask is None or kind is None or kind.query_length != kind.key_length or kind.query_length < _PLANE:
        return ScoreOps.NONE
    square = mask[-2:] == (kind.query_length, kind.key_length)
    return ScoreOps.ONE_PLANE if square and (len(mask) == _PLANE or mask[-3] == 1) else ScoreOps.NONE


def _is_factor(sizes: list[tuple[int, ...]], kind: Scores, after: bool) -> bool:
    """Whether a product or quotient with one number is of the scores, or before them of Q or K."""
    tensors = [size for size in sizes if size]
    if len(tensors) != 1:
        return False
    operand = kind.matrices * kind.head_dim
    wanted = (kind.elements,) if after else (operand * kind.query_length, operand * kind.key_length)
    return int(np.prod(tensors[0])) in wanted


def _of_baddbmm(facts: Facts, op: int, sizes: list[tuple[int, ...]], kind: Scores | None) -> ScoreOps:
    """`beta * input + alpha * product`; where the two were not recorded, the factor is not known."""
    concrete: Any = op_inputs(facts.trace, op)["concrete"] or ()
    beta, alpha = (_number(concrete[at]) if at < len(concrete) else None for at in (_BETA, _ALPHA))
    bias = ScoreOps.NONE if beta == 0 else ScoreOps.BIAS | _plane(sizes[0] if sizes else None, kind)
    if alpha is None:
        return bias | ScoreOps.FACTOR_UNKNOWN
    return bias if alpha == 1 else bias | ScoreOps.SCALED


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None


def _of_fused(name: str, sizes: list[tuple[int, ...]], kind: Scores | None) -> ScoreOps:
    """What Inductor's kernel says by its name; a factor may have gone into another kernel."""
    words = frozenset(decode(name).fused_ops)
    result = ScoreOps.SCALED if words & _FUSED_FACTORS else ScoreOps.FACTOR_UNKNOWN
    masks = [] if kind is None else [size for size in sizes if size and int(np.prod(size)) != kind.elements]
    square = kind is not None and kind.query_length == kind.key_length
    # Without a mask among its inputs it works the mask out from the positions.
    plane = _plane(masks[0], kind) if masks else ScoreOps.ONE_PLANE if square else ScoreOps.NONE
    if words & _FUSED_FILLS:
        result |= ScoreOps.FILLED | plane
    if _FUSED_ADD in words:
        result |= ScoreOps.BIAS | (plane if masks else ScoreOps.NONE)
    return result
