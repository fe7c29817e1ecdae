"""The same launch takes much longer in one step than in another.

## What it looks for

Launches that are alike in kernel, op path and input shapes and at the same place in their step, whose times over the
steps differ by more than 1.3 times, where the excess over the median makes up at least a hundredth of a step.
Collectives are left out: they wait for other ranks.

## Why it matters

The same work should take the same time. Where it does not, something else is in play: clocks (power or temperature),
work that runs at the same time, another process on the device, data that decides how much is done.

## How to confirm it

The evidence gives the launch in each step. Watch the clocks (`nvidia-smi -q -d CLOCK,PERFORMANCE`); look for overlap
on other streams.

## What usually helps

Lock the clocks while measuring (`nvidia-smi -lgc`), keep other processes off the device, compare medians rather than
single steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.kineto import Category
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT402", name="varying-launch", needs=Needs.LAUNCHES | Needs.SEVERAL_STEPS, since="0.1")

_RATIO: Final = 1.3
# Below this a kernel's time is as much the clock's resolution and the launch as the kernel.
_SHORTEST_NS: Final = 10_000
_SHARE: Final = 0.01
_MIXER: Final = np.int64(1_000_003)


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all such launches."""
    facts = facts_of(trace)
    if facts.steps < 2:  # noqa: PLR2004 - it takes two to compare
        return
    slots, members = _slots(facts)
    if not members.size:
        return
    dur = trace.activities.dur[members]
    order = np.argsort(slots, kind="stable")
    begins = np.concatenate(([0], np.flatnonzero(np.diff(slots[order])) + 1))
    lowest, highest = (reduced(dur[order], begins) for reduced in (np.minimum.reduceat, np.maximum.reduceat))
    varies = np.flatnonzero((lowest >= _SHORTEST_NS) & (highest > _RATIO * lowest))
    ends = np.append(begins[1:], len(order))
    excess: list[tuple[int, I64]] = []
    for at in varies:
        here = order[begins[at] : ends[at]]
        here = here[np.argsort(dur[here], kind="stable")]
        over = np.maximum(0, dur[here] - dur[here[(len(here) - 1) // 2]]).sum()
        if over:
            excess.append((int(over), members[here]))
    total = sum(over for over, _ in excess)
    if excess and total >= _SHARE * facts.step_device_ns * facts.steps:
        yield _finding(facts, len(excess), total, max(excess, key=lambda item: item[0])[1])


def _slots(facts: Facts) -> tuple[I64, I64]:
    """(place in the step, activity), for what is there in more than one step: equal places, equal work."""
    acts = facts.trace.activities
    order = facts.in_launch_order
    chosen = order[(acts.category[order] == Category.KERNEL) & ~acts.graph[order]]
    quiet = facts.activities_where(lambda said: said.role != "communication", chosen)
    quiet = facts.long_ones(quiet, _RATIO * _SHORTEST_NS)
    if not quiet.size:
        return quiet, quiet
    # In the order of launches: those with one key, of one thread, come step by step.
    key = facts.alike(quiet)
    by = np.argsort(key, kind="stable")
    key, quiet = key[by], quiet[by]
    step = acts.step[quiet]
    starts = np.flatnonzero(np.append(True, (key[1:] != key[:-1]) | (step[1:] != step[:-1])))
    turn = np.arange(len(by)) - np.repeat(starts, np.diff(np.append(starts, len(by))))
    slots = key * _MIXER ^ turn
    comm = facts.communication
    if len(comm):
        # What runs beside a collective is slowed by it: that is contention, and another rule's.
        apart = np.zeros(len(acts), bool)
        apart[comm.compute[comm.apart]] = True
        slots, quiet = slots[apart[quiet]], quiet[apart[quiet]]
    return slots, quiet


def _finding(facts: Facts, number: int, excess: int, here: I64) -> Finding:
    acts = facts.trace.activities
    dur = acts.dur[here]
    said = facts.what(int(here[0]))
    ratio = int(dur.max()) / max(1, int(dur.min()))
    evidence = tuple(item for at in here[[0, -1]] for item in facts.evidence_of(here[here == at]))
    return RULE.finding(
        f"the same launch varies {ratio:.1f}x between steps: {said.short}",
        count=number,
        at_stake_ns=facts.per_step(excess),
        confidence=Confidence.LIKELY,
        evidence=evidence,
        text=(
            f"{number} launches that are alike in op path, shapes and place in the step differ by more than "
            f"{_RATIO}x; the worst takes {time_text(int(dur.min()))} to {time_text(int(dur.max()))}."
        ),
        change="lock the clocks while measuring (nvidia-smi -lgc), and keep other work off the device",
    )
