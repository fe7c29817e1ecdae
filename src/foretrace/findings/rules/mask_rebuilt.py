"""An attention mask that is built again in every step.

## What it looks for

`tril`, `triu` or a comparison of two index vectors on the device that makes a matrix of query length by key length,
as the attention of the same trace uses it, together with the `ones`, `full`, `where` and fills that go with it.

## Why it matters

The mask depends on the lengths alone. Building it takes several small kernels and their launches in every step, and a
materialized mask keeps SDPA from the kernels that take `is_causal`.

## How to confirm it

`foretrace read TRACE --tree` shows the building ops before the attention. Keep the mask (or drop it for `is_causal`)
and compare with `foretrace diff BEFORE AFTER`.

## What usually helps

`is_causal=True` needs no mask at all. Otherwise build it once, the same one, and keep it: `register_buffer("mask", ...,
persistent=False)`. `masked_fill` hides what its mask marks, SDPA keeps it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.analysis.shapes import op_inputs
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import distinct
from foretrace.trace.raw import MISSING32

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT102", name="mask-rebuilt", needs=Needs.OPS | Needs.LAUNCHES | Needs.SHAPES, since="0.1")

_MAKERS: Final = ("aten::tril", "aten::triu", "aten::le", "aten::ge", "aten::lt", "aten::gt")
"""Ops that give a mask its shape."""
_BUILDERS: Final = (*_MAKERS, "aten::ones", "aten::zeros", "aten::full", "aten::fill_", "aten::where")
_BUILDERS_AROUND_SCORES: Final = ("aten::masked_fill", "aten::masked_fill_")
_PLANE: Final = 2
_TRIANGLES: Final = ("aten::tril", "aten::triu")
_SIGNS: Final = {"aten::le": "<=", "aten::ge": ">=", "aten::lt": "<", "aten::gt": ">"}
_BOOL: Final = "bool"
_NUMBER: Final = re.compile(r"-?\d{1,9}")
_CHANGE: Final = """\
build it once, as the step builds it now; where it is the causal one, SDPA with is_causal=True needs none:
    self.register_buffer("mask", {}, persistent=False)"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding for the masks that stand alone, and one for each cause they follow from."""
    facts = facts_of(trace)
    planes = _planes(facts)
    names = facts.op_names
    if not planes or not names.any_of(_MAKERS):
        return
    owner = trace.activities.owner[facts.counted]
    owned = np.flatnonzero(owner >= 0)
    building = names.flags((*_BUILDERS, *_BUILDERS_AROUND_SCORES))
    owned = owned[building(owner[owned])]
    shapes = {
        int(number): _plane(trace, facts, owner[owned], int(number), planes) for number in _dims(trace, owner[owned])
    }
    of_shape = np.array([shapes[int(number)] is not None for number in trace.ops.dims[owner[owned]]], bool)
    builders = facts.counted[owned[of_shape]] if owned.size else np.zeros(0, np.int64)
    for because, some in facts.by_cause(builders):
        makers = some[names.flags(_MAKERS)(trace.activities.owner[some])]
        if makers.size and facts.worth(facts.device_ns(some)) and _in_every_step(facts, makers):
            plane = next(shapes[int(trace.ops.dims[trace.activities.owner[at]])] for at in makers)
            yield _finding(facts, makers, some, plane or (0, 0), because)


def _planes(facts: Facts) -> dict[tuple[int, int], int]:
    """(query length, key length) of the attention in the trace -> elements of its largest score matrix."""
    found: dict[tuple[int, int], int] = {}
    for kind in facts.sdpa.kinds:
        if kind.call is not None:
            plane = (kind.call.query.length, kind.call.key.length)
            found[plane] = max(found.get(plane, 0), int(np.prod(kind.call.query.dims[:-1])) * plane[1])
    for scores in facts.unfused.kinds:
        if scores is not None:
            plane = (scores.query_length, scores.key_length)
            found[plane] = max(found.get(plane, 0), scores.elements)
    for op in facts.op_at[facts.flex.rows] if len(facts.flex) else ():
        dims = op_inputs(facts.trace, int(op))["dims"] if op >= 0 else None
        if dims and all(isinstance(size, list) and len(size) > _PLANE for size in dims[:2]):
            plane = (dims[0][-2], dims[1][-2])
            found[plane] = max(found.get(plane, 0), int(np.prod(dims[0][:-1])) * plane[1])
    return {plane: elements for plane, elements in found.items() if min(plane) > 1}


def _dims(trace: Trace, owners: I64) -> list[int]:
    return [int(number) for number in distinct(trace.ops.dims[owners])]


def _plane(
    trace: Trace, facts: Facts, owners: I64, dims: int, planes: dict[tuple[int, int], int]
) -> tuple[int, int] | None:
    """The plane that ops with these input shapes make, if it is a mask's: one plane for all heads."""
    if dims == MISSING32:
        return None
    op = int(owners[np.flatnonzero(trace.ops.dims[owners] == dims)[0]])
    given: Any = op_inputs(trace, op)["dims"] or ()
    sizes = [size for size in given if isinstance(size, list) and size and all(isinstance(n, int) for n in size)]
    if facts.op_text(op) in _BUILDERS_AROUND_SCORES:
        sizes = sizes[:1]
    try:
        shape = np.broadcast_shapes(*(tuple(size) for size in sizes)) if sizes else ()
    except ValueError:
        return None
    plane = (shape[-2], shape[-1]) if len(shape) >= _PLANE else None
    if plane not in planes:
        return None
    # A mask has no head dimension of its own: it is at most half of the scores, unless there is one head.
    return plane if int(np.prod(shape)) * 2 <= planes[plane] or len(shape) == _PLANE else None


def _in_every_step(facts: Facts, makers: I64) -> bool:
    """Built in each counted step; where the file is one window, more than once."""
    if facts.has_steps:
        return len(distinct(facts.trace.activities.step[makers])) == facts.steps
    return len(makers) > 1


def _finding(facts: Facts, makers: I64, builders: I64, plane: tuple[int, int], because: str | None) -> Finding:
    single = len(builders) == facts.steps
    return RULE.finding(
        f"the {plane[0]:,} x {plane[1]:,} attention mask is built again each time",
        count=facts.per_step(len(makers)),
        at_stake_ns=facts.device_ns(builders),
        confidence=Confidence.CERTAIN if facts.steps > 1 else Confidence.LIKELY,
        evidence=facts.evidence_of(builders),
        text=(
            f"{facts.each(len(builders), 'kernel')} {'makes' if single else 'make'} a mask that depends on the "
            f"lengths alone; {'its launch costs' if single else 'their launches cost'} the CPU more than the "
            f"{'kernel costs' if single else 'kernels cost'} the device."
        ),
        change=_CHANGE.format(_built(facts, int(makers[0]), plane)),
        because=because,
    )


def _built(facts: Facts, maker: int, plane: tuple[int, int]) -> str:
    """The expression that makes the mask, as far as the trace shows it; the other triangle is the other way round."""
    op = int(facts.trace.activities.owner[maker])
    name = facts.op_text(op)
    if name not in _TRIANGLES:
        return f"(... {_SIGNS[name]} ...)"
    given = op_inputs(facts.trace, op)
    types, concrete = given["types"] or (), given["concrete"] or ()
    is_bool = bool(types) and types[0] == _BOOL
    start = f"torch.ones({plane[0]}, {plane[1]}, dtype=torch.bool)" if is_bool else "(...)"
    diagonal = str(concrete[1]) if len(concrete) > 1 else ""
    shown = diagonal if _NUMBER.fullmatch(diagonal) else "..."
    return f"{start}.{name.removeprefix('aten::')}({'' if shown == '0' else shown})"
