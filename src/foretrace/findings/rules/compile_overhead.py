"""Entering compiled code costs the CPU more than the fused launches save.

## What it looks for

Steps that the CPU bounds, where the time in Dynamo's cache lookups and in compiled regions outside their own launches
is longer than the eager launches that fusion saved would have taken.

## Why it matters

A compiled region checks its guards at each call and unwraps its arguments, some 100 microseconds in all. A region
with one or two small kernels saves less than that.

## How to confirm it

Compare the eager and the compiled trace: the period, not the device time.

## What usually helps

Compile a larger part (the whole model rather than a layer), or replay it as a CUDA graph: `mode="reduce-overhead"`.
Leave small functions eager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.host_bound import follows_launches, graph_word
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.names.decoded import ATTENTION_ROLES
from foretrace.trace.distinct import either, without
from foretrace.units import count_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT210", name="compile-overhead", needs=Needs.OPS | Needs.LAUNCHES, since="0.1")

# What an op costs the CPU when it runs eagerly with its launch, roughly.
_EAGER_OP_NS: Final = 10_000
# An attention kernel stands for the twenty or so ops of the attention written out.
_ATTENTION_OPS: Final = 20
# Of the period; below it the step has other worries.
_SHARE: Final = 0.05
_CHANGE: Final = """\
compile more at once, or replay it as a {}:
    model = torch.compile(model, mode="reduce-overhead")"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all regions."""
    facts = facts_of(trace)
    regions = facts.regions
    if not len(regions) or facts.timeline.per_step.bound != "cpu":
        return
    inside = facts.counted[regions.of_activity >= 0]
    if trace.activities.graph[inside].any():
        return
    lookups = facts.per_step(int(trace.rows.dur[regions.lookups].sum()))
    entering = facts.per_step(_own_time(facts, inside))
    saved = _saved_ops(facts, inside)
    lost = lookups + entering - saved * _EAGER_OP_NS
    if inside.size and lost > _SHARE * (facts.timeline.per_step.period_ns or 0):
        yield _finding(facts, lookups, entering, saved)


def _own_time(facts: Facts, inside: I64) -> int:
    """CPU time of the regions outside the ops that launch."""
    trace, rows, regions = facts.trace, facts.trace.rows, facts.regions.rows
    owners = trace.activities.owner[inside]
    launching = facts.outermost(without(owners[owners >= 0], facts.op_at[regions]))
    return int(rows.dur[regions].sum()) - int(rows.dur[trace.ops.row[launching]].sum())


def _saved_ops(facts: Facts, inside: I64) -> float:
    """Eager ops a step that fusion did away with."""
    code = facts.activity_names.code[inside]
    saved = 0
    for number, count in zip(*np.unique(code, return_counts=True), strict=True):
        said = facts.decoded[int(number)]
        ops = _ATTENTION_OPS if said.role in ATTENTION_ROLES else len(said.fused_ops)
        saved += int(count) * max(0, ops - 1)
    return facts.per_step(saved)


def _launches(saved: float) -> str:
    return count_text(round(saved), "launch", "launches")


def _finding(facts: Facts, lookups: float, entering: float, saved: float) -> Finding:
    regions = facts.regions
    # Less than half a launch a step is told as none, and so is its time.
    worth = f", some {time_text(saved * _EAGER_OP_NS)}" if round(saved) else ""
    return RULE.finding(
        f"compiled code costs {time_text(lookups + entering)} of CPU {facts.per} and saves {_launches(saved)}",
        count=facts.per_step(len(regions)),
        at_stake_ns=lookups + entering - saved * _EAGER_OP_NS,
        confidence=Confidence.POSSIBLE,
        evidence=facts.evidence_of_rows(either(regions.rows, regions.lookups)),
        text=(
            f"Dynamo's lookups take {time_text(lookups)} and the regions {time_text(entering)} {facts.per} outside "
            f"their launches; fusion saved {_launches(saved)}{worth}. The CPU bounds the step, so this is time the "
            "device waits."
        ),
        change=_CHANGE.format(graph_word(facts)),
        because=follows_launches(facts),
    )
