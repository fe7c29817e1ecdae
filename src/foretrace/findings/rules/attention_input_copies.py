"""Queries, keys or values are copied or cast right before attention.

## What it looks for

Device copies and casts inside a fused SDPA call (padding of the head size, contiguity), and `contiguous`, `clone` or
`to` of a tensor of Q's, K's or V's shape between the last matrix product and the call. In compiled code, Inductor's
own copy kernels just before the call.

## Why it matters

Each copy reads and writes the tensor once more. The fused kernels take strides, so a transposed view needs no copy as
long as its last dimension is contiguous.

## How to confirm it

`foretrace read TRACE --tree` shows the copy before, or inside, the call.

## What usually helps

Leave out `.contiguous()`; make the layout [B, L, H, D] and pass `.transpose(1, 2)`; choose a head size that is a
multiple of 8; keep q, k and v in the dtype that attention runs in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.copies import direction
from foretrace.analysis.shapes import op_inputs
from foretrace.findings.amounts import amount
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import both, distinct, either, is_among
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.findings.name_index import Bools
    from foretrace.names.decoded import Decoded
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT110", name="attention-input-copies", needs=Needs.OPS | Needs.LAUNCHES | Needs.SHAPES, since="0.1")

_FUSED: Final = ("flash", "efficient", "cudnn", "overrideable")
_COPY_OPS: Final = ("aten::copy_", "aten::constant_pad_nd")
_MOVES: Final = frozenset({"copy", "cast"})
_COPYING: Final = frozenset({"clone", "_to_copy", "constant_pad_nd", "copy_", "contiguous"})
_VIEWING: Final = frozenset(
    {"view", "transpose", "permute", "expand", "unsqueeze", "squeeze", "slice", "t", "reshape", "_unsafe_view"}
)
_CHANGE: Final = "leave out .contiguous(), .clone() or .to() before the call: fused kernels take strided q, k and v"


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all copies."""
    facts = facts_of(trace)
    sdpa = facts.sdpa
    calls = sdpa.where(lambda kind: kind.backend in _FUSED)
    if not calls.size:
        return
    moves = facts.activities_where(_is_move)
    inside = both(sdpa.activities(calls), moves)
    before = _before(facts, calls, moves)
    masks = _of_masks(facts, inside)
    copies = either(inside[~masks], before)
    if copies.size and facts.worth(facts.device_ns(copies)):
        yield _finding(facts, copies, before)


def _is_move(said: Decoded) -> bool:
    """A copy or cast on the device; what comes from the host or goes there is another matter."""
    on_device = direction(said.name) not in ("HtoD", "DtoH", "PtoP")
    if said.fused_ops:
        # Inductor: a kernel that copies and does nothing else; what it feeds may stand in its name as well.
        work = {name for name in said.fused_ops if not name.startswith("_scaled_dot_product")} - _VIEWING
        return bool(work) and work <= _COPYING
    return on_device and said.role in _MOVES


def _before(facts: Facts, calls: I64, moves: I64) -> I64:
    """Copies of a tensor of the call's q, k or v, launched on its thread between the kernel work before it and it."""
    trace, sdpa = facts.trace, facts.sdpa
    rows, launch = trace.rows, trace.activities.launch
    counted = facts.counted
    order = counted[np.lexsort((rows.ts[launch[counted]], rows.thread[launch[counted]]))]
    is_move = is_among(order, moves)
    thread, time = rows.thread[launch[order]], rows.ts[launch[order]]
    found: list[int] = []
    for call in calls:
        row = int(trace.ops.row[sdpa.op[call]])
        at = int(np.searchsorted(thread, rows.thread[row], side="left"))
        end = int(np.searchsorted(thread, rows.thread[row], side="right"))
        spot = at + int(np.searchsorted(time[at:end], rows.ts[row])) - 1
        shapes = _shapes(facts, int(sdpa.kind[call]))
        # What lies right before the call, without a gap: the first kernel that is no copy of an input ends the run.
        while spot >= at and is_move[spot] and _copies_input(facts, int(order[spot]), shapes):
            found.append(int(order[spot]))
            spot -= 1
    return distinct(np.array(found, np.int64))


def _shapes(facts: Facts, kind: int) -> set[tuple[int, ...]]:
    call = facts.sdpa.kinds[kind].call
    if call is None:
        return set()
    return {tuple(sorted(operand.dims)) for operand in (call.query, call.key, call.value)}


def _copies_input(facts: Facts, activity: int, shapes: set[tuple[int, ...]]) -> bool:
    """Whether the owner of a copy works on a tensor of these sizes, in any order of dimensions."""
    owner = int(facts.trace.activities.owner[activity])
    if owner < 0:
        return False
    dims = op_inputs(facts.trace, owner)["dims"] or ()
    name = facts.op_text(owner)
    if name not in _COPY_OPS and not name.startswith("triton_"):
        return False
    sizes = [size for size in dims if isinstance(size, list) and all(isinstance(n, int) for n in size)]
    return any(tuple(sorted(size)) in shapes for size in sizes)


def _of_masks(facts: Facts, copies: I64) -> Bools:
    """Which copies inside a call are of its mask: another rule's."""
    result = np.zeros(len(copies), bool)
    place = np.searchsorted(facts.counted, copies)
    for at, (activity, call) in enumerate(zip(copies, facts.sdpa.call_of_activity[place], strict=True)):
        kind = facts.sdpa.kinds[int(facts.sdpa.kind[call])].call
        owner = int(facts.trace.activities.owner[activity])
        dims = op_inputs(facts.trace, owner)["dims"] or ()
        size = dims[0] if dims else None
        if kind is not None and kind.mask is not None and isinstance(size, list) and len(size) > 1:
            result[at] = size[-1] != kind.query.head_dim and size[-2] in (kind.query.length, 1)
    return result


def _finding(facts: Facts, copies: I64, before: I64) -> Finding:
    compiled = facts.activities_where(lambda said: said.library == "Inductor Triton", copies)
    inner = len(copies) - len(before)
    where = []
    if len(before):
        where.append(f"{amount(facts.per_step(len(before)))} {facts.per} right before the call")
    if inner:
        where.append(f"{amount(facts.per_step(inner))} {facts.per} inside it")
    text = f"Copies or casts of q, k or v: {' and '.join(where)}, {time_text(facts.device_ns(copies))} {facts.per}. "
    if compiled.size:
        text += (
            f"{len(compiled)} of them are kernels of the compiled region: Inductor made the input contiguous, the "
            "model did not ask for it."
        )
    elif inner:
        text += (
            "The call makes them itself: the last dimension is not contiguous, or the head size is no multiple of 8."
        )
    else:
        text += "Fused kernels read strided tensors as long as the last dimension is contiguous."
    return RULE.finding(
        "q, k or v are copied right before attention",
        count=facts.per_step(len(copies)),
        at_stake_ns=facts.device_ns(copies),
        confidence=Confidence.LIKELY,
        evidence=facts.evidence_of(copies),
        text=text,
        change=_CHANGE,
    )
