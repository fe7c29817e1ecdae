"""The first recorded step is cold: it is longer than the others and left out of the figures.

## What it looks for

A first step that takes more than one and a half times the median of the others, and at least a millisecond more.

## Why it matters

The first step may compile, choose algorithms, allocate, load kernels, and the profiler itself starts up in it. A mean
over all steps, as most tables take it, is then wrong. foretrace leaves the step out of medians and periods.

## How to confirm it

`foretrace read TRACE --steps` shows it beside the others.

## What usually helps

Warm-up in the schedule: `torch.profiler.schedule(wait=1, warmup=3, active=3)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.findings.facts import facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code="FT205", name="cold-first-step", needs=Needs.SEVERAL_STEPS, since="0.1", note=True)


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one note."""
    facts = facts_of(trace)
    steps = facts.timeline.steps
    if not steps[0].cold:
        return
    others = facts.timeline.per_step.cpu_time_ns.median
    yield RULE.finding(
        f"the first step is cold: {time_text(steps[0].cpu_time_ns)} against {time_text(others)}",
        count=1,
        at_stake_ns=0,
        confidence=Confidence.CERTAIN,
        evidence=facts.evidence_of_rows(trace.steps.row[:1]),
        text=(
            f"{steps[0].name} takes {steps[0].cpu_time_ns / max(1.0, others):.1f} times as long on the CPU as the "
            "other steps. It is left out of all figures per step."
        ),
        change="warm up before recording: torch.profiler.schedule(wait=1, warmup=3, active=3)",
    )
