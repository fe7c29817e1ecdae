"""A graph replay copies its inputs first, in every step.

## What it looks for

Device copies launched right before a `cudaGraphLaunch` (or HIP's), one after another on its thread.

## Why it matters

A captured graph reads fixed addresses. Inputs that lie elsewhere are copied there before each replay: with small
graphs and large inputs the copies can take longer than the graph.

## How to confirm it

`foretrace read TRACE --tree` shows the copies before the replay.

## What usually helps

Write the input into the static buffer in the first place (preallocate it, and let the loader fill it). With
`torch.compile`, mark weights and caches with `torch._dynamo.mark_static_address(x)`, so that they are not copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import distinct, is_among
from foretrace.trace.kineto import Category
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT211", name="graph-input-copies", needs=Needs.LAUNCHES, since="0.1")

_MOVES: Final = frozenset({"copy", "cast"})
_CHANGE: Final = """\
fill the static input in place, or keep its address:
    static_input.copy_(batch, non_blocking=True)  # the only copy, straight from pinned memory
    torch._dynamo.mark_static_address(kv_cache)"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all replays."""
    facts = facts_of(trace)
    acts = trace.activities
    if not acts.graph[facts.counted].any():
        return
    copies, replays = _before_replays(facts)
    if copies.size and facts.worth(facts.device_ns(copies)):
        yield _finding(facts, copies, replays)


def _before_replays(facts: Facts) -> tuple[I64, int]:
    """(copies that run into a replay without other work between, how many replays have some)."""
    acts = facts.trace.activities
    order = facts.in_launch_order
    rows, launch = facts.trace.rows, acts.launch[order]
    is_copy = is_among(order, facts.activities_where(lambda said: said.role in _MOVES)) & ~acts.graph[order]
    is_copy |= (acts.category[order] == Category.MEMCPY) & ~acts.graph[order]
    found: list[int] = []
    replays = 0
    firsts = np.flatnonzero(acts.graph[order])
    firsts = firsts[(firsts == 0) | (launch[firsts] != launch[np.maximum(firsts - 1, 0)])]
    for first in firsts:
        spot = int(first) - 1
        before = len(found)
        while spot >= 0 and is_copy[spot] and rows.thread[launch[spot]] == rows.thread[launch[first]]:
            if acts.step[order[spot]] != acts.step[order[first]]:
                break
            found.append(int(order[spot]))
            spot -= 1
        replays += len(found) > before
    return distinct(np.array(found, np.int64)), replays


def _finding(facts: Facts, copies: I64, replays: int) -> Finding:
    acts = facts.trace.activities
    inside = facts.counted[acts.graph[facts.counted]]
    spent = facts.device_ns(copies)
    return RULE.finding(
        f"{facts.each(len(copies), 'copy', 'copies')} {_verb(facts, len(copies), 'feed')} the inputs of graph replays",
        count=facts.per_step(len(copies)),
        at_stake_ns=spent,
        confidence=Confidence.LIKELY,
        evidence=facts.evidence_of(copies),
        text=(
            f"{facts.each(replays, 'replay')} {_verb(facts, replays, 'begin')} with copies, {time_text(spent)} "
            f"in all, "
            f"{share_text(spent / max(1.0, facts.device_ns(inside)))} of the time of the graphs themselves."
        ),
        change=_CHANGE,
    )


def _verb(facts: Facts, total: int, verb: str) -> str:
    return f"{verb}s" if total in (1, facts.steps) else verb
