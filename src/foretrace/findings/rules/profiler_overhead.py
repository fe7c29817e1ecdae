"""The profiler's own work, or the loading of code, falls inside the recorded steps.

## What it looks for

Overhead records in the steps that figures are over. Some are the profiler's own work (`Activity Buffer Request`,
`Buffer Flush`); others are CUDA bringing code to the device at its first use (`Lazy Function Loading`,
`Runtime Triggered Module Loading`), which it does without a profiler as well.

## Why it matters

A launch that triggers one takes milliseconds instead of microseconds, and the device waits for it. It is a cost of
measuring or of starting, and not of the steps that follow: launch costs and the longest gaps of such a step say
nothing.

## How to confirm it

The evidence names the launch around it. The other steps of the same trace do not have it.

## What usually helps

A warm-up step more in the schedule, so that the buffers are there before recording begins. Lazy loading is over after
the first call of each kernel; `CUDA_MODULE_LOADING=EAGER` avoids it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.analysis.overhead import overhead_parts
from foretrace.findings.facts import facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.kineto import Category
from foretrace.units import count_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code="FT206", name="profiler-overhead", needs=Needs.NOTHING, since="0.1", note=True)


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one note over all records."""
    facts = facts_of(trace)
    rows = facts.counted_rows(trace.rows_of(Category.OVERHEAD))
    if not rows.size:
        return
    parts = overhead_parts(trace, rows)
    yield RULE.finding(
        f"{parts[0].short} is in the window: {time_text(parts[0].time_ns)}"
        + "".join(f"; {part.short}: {time_text(part.time_ns)}" for part in parts[1:]),
        count=facts.per_step(len(rows)),
        at_stake_ns=0,
        confidence=Confidence.CERTAIN,
        evidence=facts.evidence_of_rows(rows),
        text="; ".join(
            f"{', '.join(part.names)}: {count_text(part.count, 'record')}, {time_text(part.time_ns)} in all"
            for part in parts
        )
        + ". The launches around them are as long for that reason alone.",
        change="one warm-up step more: torch.profiler.schedule(wait=1, warmup=3, active=3)",
    )
