"""The device idles in long gaps, though the CPU does not bound the step.

## What it looks for

Gaps between activities of the busiest device that are longer than 50 microseconds and than three launches usually lie
apart, where they make up at least a twentieth of the period. Where the CPU bounds the whole step, that finding says
so, and names its longest gap. But where for most of the idle time what runs next was launched already, it is not the
CPU that the device waits for, and this finding says so.

## Why it matters

In such a gap the device waits for one thing: a batch, a synchronization, a Python loop, a collective of another rank.

## How to confirm it

The finding names what the CPU was in, and where most of it are calls of a millisecond and more, as the first use of a
kernel takes, those. `foretrace read TRACE --tree` shows what came before and after it.

## What usually helps

Move that work out of the way: more loader workers, no `.item()`, pinned memory, work on the host while the device is
busy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.idle_advice import WARM_UP, unblock
from foretrace.findings.idle_causes import Filler
from foretrace.findings.idle_gaps import NOTHING, IdleGaps
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import distinct
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code="FT401", name="idle-device", needs=Needs.LAUNCHES, since="0.1")

_SHORTEST_NS: Final = 50_000
_LAUNCHES: Final = 3
_SHARE: Final = 0.05
_SHOWN: Final = 3
_NAME: Final = 60
_HELD_SHARE: Final = 0.5
_HELD_CHANGE: Final = (
    "see what the stream waits for: an event of another stream, another rank's part of a collective, another process"
)
_UNKNOWN: Final = " Record Python stacks (with_stack=True) to see what that is."


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding, about the group of gaps with the most idle time."""
    facts = facts_of(trace)
    figures = facts.timeline.per_step
    if figures.bound == "unknown" or not figures.period_ns or not facts.counted.size:
        return
    if figures.bound == "cpu" and facts.idle_cause.filler is not Filler.HELD_BACK:
        return
    usual = _LAUNCHES * figures.period_ns / max(1.0, facts.launches)
    long = facts.gaps.longer_than(max(_SHORTEST_NS, usual))
    if long.groups and facts.per_step(long.total_ns) >= _SHARE * figures.period_ns:
        yield _finding(facts, long, figures.period_ns)


def _finding(facts: Facts, long: IdleGaps, period_ns: float) -> Finding:
    main = long.groups[0]
    idle = facts.per_step(long.total_ns)
    where = "; ".join(
        f"{time_text(facts.per_step(group.total_ns))} in {_short(group.host_name)}" for group in long.groups[:_SHOWN]
    )
    rows = main.rows[main.rows >= 0]
    number = sum(group.count for group in long.groups)
    gaps = facts.each(number, "long gap", said=True)
    unknown = main.host_name == NOTHING and not facts.trace.has_stacks
    held = facts.timeline.per_step.bound == "cpu" or long.held_back_ns >= _HELD_SHARE * long.total_ns
    change = unblock(main.host_name, has_stacks=facts.trace.has_stacks)
    first = not held and facts.idle_cause.filler is Filler.FIRST_USE
    if held or first:
        change = _HELD_CHANGE if held else WARM_UP
    following = np.sort(main.following)
    if held or not (first or rows.size):
        evidence = facts.evidence_of(following)
    else:
        # One host range may fill several gaps.
        evidence = facts.evidence_of_rows(facts.idle_cause.rows if first else distinct(rows))
    return RULE.finding(
        f"the GPU idles {time_text(idle)} {facts.per}{':' if number % facts.steps else ' in'} {gaps}",
        count=facts.per_step(number),
        at_stake_ns=idle,
        confidence=Confidence.POSSIBLE if held else Confidence.LIKELY,
        evidence=evidence,
        text=(
            f"{share_text(idle / period_ns)} of the period. Meanwhile the CPU is: {where}."
            + (_held_back(facts, long) if held else _first_use(facts) if first else _UNKNOWN if unknown else "")
        ),
        change=change,
    )


def _held_back(facts: Facts, long: IdleGaps) -> str:
    return (
        f" But for {time_text(facts.per_step(long.held_back_ns))} of it what runs next was launched already and did "
        "not start: it is not the CPU that the device waits for."
    )


def _first_use(facts: Facts) -> str:
    return (
        f" {time_text(facts.idle_cause.filled_ns)} of idle time {facts.per} fall while the host is in calls of a "
        "millisecond and more, as the first use of a kernel, a library or a stream takes."
    )


def _short(name: str) -> str:
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"
