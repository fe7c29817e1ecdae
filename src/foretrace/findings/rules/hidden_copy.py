"""An out-of-place op that copies its whole input before it changes the copy.

## What it looks for

A device copy under `aten::clone` (`aten::copy_`) whose parent is an op such as `aten::masked_fill` that then calls
its own in-place form, `aten::masked_fill_`, on the copy. Copies inside the backward pass are not counted: what
autograd runs there has no in-place form to choose.

## Why it matters

The copy reads and writes the whole tensor to keep an input that is often dead the moment the op returns. For an
attention score matrix this is a gigabyte-sized round trip through memory for nothing.

## How to confirm it

`foretrace read TRACE --tree` shows the op with `aten::clone` and the copy under it. Use the in-place form, profile
again, and compare with `foretrace diff BEFORE AFTER`: exactly the copy should be gone.

## What usually helps

The in-place form, when nothing else reads the input afterwards. Where gradients are kept, try it: if the backward
pass needs the value that is overwritten, autograd raises an error. A trace cannot tell, so there the finding is marked
as possible only. Fused attention avoids the score matrix altogether.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import distinct, is_among
from foretrace.trace.raw import MISSING
from foretrace.units import bytes_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.findings.name_index import Bools
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT101", name="hidden-copy", needs=Needs.OPS | Needs.LAUNCHES, since="0.1")


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding for each op that copies its input."""
    facts = facts_of(trace)
    for op, copies in hidden_copies(facts).items():
        yield _finding(facts, op, copies)


def hidden_copies(facts: Facts) -> dict[str, I64]:
    """The out-of-place ops that copy their input -> the activities that copy, where they take time worth a word."""
    copies, outer = _copies(facts)
    name = facts.op_names.code[outer]
    found = {facts.op_names.strings[code]: copies[name == code] for code in dict.fromkeys(name.tolist())}
    return {op: some for op, some in found.items() if facts.worth(facts.device_ns(some))}


def _copies(facts: Facts) -> tuple[I64, I64]:
    """(activities that copy, the out-of-place op of each)."""
    trace, names = facts.trace, facts.op_names
    none = np.zeros(0, np.int64)
    pairs = [name for name in names.strings if name + "_" in names]
    if not pairs or "aten::clone" not in names:
        return none, none
    parent, owner = trace.ops.parent, trace.activities.owner[facts.counted]
    is_copy, is_clone = names.flags(["aten::copy_"]), names.flags(["aten::clone"])
    spots = np.flatnonzero(owner >= 0)
    spots = spots[is_copy(owner[spots])]
    clone = parent[owner[spots]]
    spots = spots[(clone >= 0) & is_clone(clone)]
    outer = parent[parent[owner[spots]]]
    held = outer >= 0
    spots, outer = spots[held], outer[held]
    held = names.flags(pairs)(outer)
    spots, outer = spots[held], outer[held]
    held = _calls_in_place(facts, outer) & ~facts.in_backward(outer)
    return facts.counted[spots[held]], outer[held]


def _calls_in_place(facts: Facts, outer: I64) -> Bools:
    """Whether each op has its own in-place form as a child."""
    result = np.zeros(len(outer), bool)
    code = facts.op_names.code[outer]
    for number in distinct(code):
        inner = facts.op_names.of(facts.op_names.strings[int(number)] + "_")
        mine = np.flatnonzero(code == number)
        result[mine] = is_among(outer[mine], facts.trace.ops.parent[inner])
    return result


def _finding(facts: Facts, op: str, copies: I64) -> Finding:
    acts = facts.trace.activities
    count = facts.per_step(len(copies))
    moved = acts.bytes[copies]
    moved = moved[moved != MISSING]
    size = f" ({bytes_text(int(np.median(moved)))})" if moved.size else ""
    short = op.removeprefix("aten::")
    backward = facts.has_backward
    text = (
        f"{short} works out of place: it clones its input, then calls {short}_ on the clone. "
        f"The clone is a device copy that {short}_ on the original would not need"
    )
    text += (
        ". Backward runs in these steps: if it needs the value that would be overwritten, autograd raises an error, "
        "and a trace cannot tell."
        if backward
        else " (no backward runs here, so nothing was saved for one)."
    )
    return RULE.finding(
        f"a hidden copy: {short} copies its input{size} first",
        count=count,
        at_stake_ns=facts.device_ns(copies),
        confidence=Confidence.POSSIBLE if backward else Confidence.CERTAIN,
        evidence=facts.evidence_of(copies),
        text=text,
        change=f"x.{short}_(...)  # instead of x = x.{short}(...), where nothing else reads x",
    )
