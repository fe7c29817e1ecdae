"""The profiler's own work falls inside the recorded steps.

## What it looks for

Overhead records (`Activity Buffer Request`, buffer flushes, lazy loading of kernels) in the steps that figures are
over.

## Why it matters

A launch that triggers one takes milliseconds instead of microseconds, and the device waits for it. It is a cost of
measuring, not of the program: launch costs and the longest gaps of such a step say nothing.

## How to confirm it

The evidence names the launch around it. The other steps of the same trace do not have it.

## What usually helps

A warm-up step more in the schedule, so that the buffers are there before recording begins. Lazy loading is over after
the first call of each kernel; `CUDA_MODULE_LOADING=EAGER` avoids it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.findings.facts import facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.kineto import Category
from foretrace.units import time_text

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
    names = ", ".join(dict.fromkeys(trace.name(int(row)) for row in rows))
    spent = int(trace.rows.dur[rows].sum())
    yield RULE.finding(
        f"the profiler's own work is in the window: {time_text(spent)}",
        count=facts.per_step(len(rows)),
        at_stake_ns=0,
        confidence=Confidence.CERTAIN,
        evidence=facts.evidence_of_rows(rows),
        text=(
            f"{names}: {len(rows)} records, {time_text(spent)} in all. The launches around them are as long for that "
            "reason alone."
        ),
        change="one warm-up step more: torch.profiler.schedule(wait=1, warmup=3, active=3)",
    )
