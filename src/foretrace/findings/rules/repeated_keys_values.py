"""Keys and values are repeated in memory for grouped heads.

## What it looks for

`repeat_interleave`, or `expand` and a copy, that writes K or V once for each query head of its group, where the
attention of the same trace has that many query heads. A repeat by one is none.

## Why it matters

The copies are as large as Q each, and attention then reads the same values once for each head of a group.

## How to confirm it

`foretrace read TRACE --tree` shows the five-dimensional copy [B, Hkv, groups, L, D] before attention.

## What usually helps

`F.scaled_dot_product_attention(..., enable_gqa=True)` reads the shared heads in place. Which backends take unequal
head counts depends on the PyTorch release, so the flag may rule out one that is faster than the copies cost: measure
both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.analysis.shapes import op_inputs
from foretrace.findings.amounts import amount
from foretrace.findings.backends import FUSED, verdicts
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.findings.sdpa_calls import SdpaKind
from foretrace.units import bytes_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT109", name="repeated-keys-values", needs=Needs.OPS | Needs.LAUNCHES | Needs.SHAPES, since="0.1")

_COPIES: Final = ("aten::copy_", "aten::index_select", "aten::index")
_EXPANDED_RANK: Final = 5
_RANK: Final = 4
_BYTES: Final = {"c10::BFloat16": 2, "c10::Half": 2, "float": 4, "double": 8}
_CHANGE: Final = """\
let attention read the shared heads in place:
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all copies."""
    facts = facts_of(trace)
    heads = _query_heads(facts)
    if not heads:
        return
    owner = trace.activities.owner[facts.counted]
    spots = np.flatnonzero(owner >= 0)
    spots = spots[facts.op_names.flags(_COPIES)(owner[spots])]
    groups = {key: _groups(facts, op, heads) for key, op in _distinct(facts, owner[spots])}
    held = np.array([groups[key] > 1 for key in _keys(facts, owner[spots])], bool)
    copies = facts.counted[spots[held]] if spots.size else facts.counted[:0]
    if copies.size and facts.worth(facts.device_ns(copies)):
        first = int(trace.activities.owner[copies[0]])
        yield _finding(facts, copies, groups[_keys(facts, np.array([first]))[0]])


def _query_heads(facts: Facts) -> dict[tuple[int, int], set[int]]:
    """(key length, head size) of the attention in the trace -> products of batch and query heads."""
    found: dict[tuple[int, int], set[int]] = {}
    for kind in facts.sdpa.kinds:
        if kind.call is not None and kind.call.is_4d:
            key, query = kind.call.key, kind.call.query
            found.setdefault((key.length, key.head_dim), set()).add(query.dims[0] * query.heads)
            found.setdefault((key.length, kind.call.value.head_dim), set()).add(query.dims[0] * query.heads)
    for scores in facts.unfused.kinds:
        if scores is not None:
            found.setdefault((scores.key_length, scores.head_dim), set()).add(scores.matrices)
    return found


def _keys(facts: Facts, ops: I64) -> list[tuple[int, int]]:
    names, dims = facts.op_names.code[ops], facts.trace.ops.dims[ops]
    return list(zip(names.tolist(), dims.tolist(), strict=True))


def _distinct(facts: Facts, ops: I64) -> list[tuple[tuple[int, int], int]]:
    return list(dict(zip(_keys(facts, ops), ops.tolist(), strict=True)).items())


def _groups(facts: Facts, op: int, heads: dict[tuple[int, int], set[int]]) -> int:
    """How many query heads share a head that this op copies; 0 where it is no repeat of keys or values."""
    dims: Any = op_inputs(facts.trace, op)["dims"] or ()
    sizes = [size for size in dims if isinstance(size, list) and all(isinstance(n, int) for n in size)]
    if not sizes:
        return 0
    if facts.op_text(op) == "aten::copy_":
        size = sizes[0]
        if len(size) != _EXPANDED_RANK:
            return 0
        batch, shared, groups, length, head_dim = size
        return groups if batch * shared * groups in heads.get((length, head_dim), ()) else 0
    # repeat_interleave of older releases: [B, Hkv, L, D] gathered by an index over the query heads.
    size, index = sizes[0], sizes[-1]
    if len(size) != _RANK or len(index) != 1 or size[1] < 1 or index[0] % size[1]:
        return 0
    groups = index[0] // size[1]
    return groups if size[0] * index[0] in heads.get((size[2], size[3]), ()) else 0


def _finding(facts: Facts, copies: I64, groups: int) -> Finding:
    given = op_inputs(facts.trace, int(facts.trace.activities.owner[copies[0]]))
    size, types = (given["dims"] or ([],))[0], given["types"] or ("",)
    moved = int(np.prod(size)) * _BYTES.get(str(types[0]), 4)
    return RULE.finding(
        f"K and V are repeated {groups} times for grouped heads ({bytes_text(moved)} each)",
        count=facts.per_step(len(copies)),
        at_stake_ns=facts.device_ns(copies),
        confidence=Confidence.LIKELY,
        evidence=facts.evidence_of(copies),
        text=(
            f"{amount(len(copies) / facts.steps)} copies {facts.per} write each key or value head {groups} times, once "
            f"for each query head of its group.{_backends(facts)}"
        ),
        change=_CHANGE,
        because="FT104" if len(facts.unfused) and not len(facts.sdpa) else None,
    )


def _backends(facts: Facts) -> str:
    """Which backends would take the calls with shared heads."""
    for kind in facts.sdpa.kinds:
        if kind.call is None or kind.call.query.heads != kind.call.key.heads:
            continue
        call = kind.call
        key, value = (
            replace(operand, dims=(operand.dims[0], 1, *operand.dims[2:]), strides=None)
            for operand in (call.key, call.value)
        )
        found = verdicts(facts, SdpaKind(None, replace(call, gqa=True, key=key, value=value)))
        takes = [name for name in FUSED if name in found and found[name].eligible]
        if takes:
            return (
                f" With enable_gqa=True {', '.join(takes)} can take the call (it depends on the release); if that "
                "rules out the one that runs now, repeating may still be faster: measure both."
            )
    return " Which backends take unequal head counts depends on the release: measure both."
