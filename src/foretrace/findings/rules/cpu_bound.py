"""The CPU bounds the step: the device waits for launches more than half of the time.

## What it looks for

A busy share of 0.5 or less: the time in a step during which the device does anything, over the period of a step.
Steps without device work wait for nothing. Where calls that wait for the device explain most of the idle time, it
follows from them (`host-sync`), and where graphs replay most of the work no graph is advised. In `foretrace attention`,
where a call was timed without the profiler, that time is what counts.

## Why it matters

The device is idle for the rest. Faster kernels change nothing; fewer or cheaper launches do. Each launch from eager
PyTorch costs the CPU some 5 to 10 microseconds, and more while a profiler records Python stacks.

## How to confirm it

Double the batch: if a step takes as long as before, the CPU bounds it. `foretrace read TRACE --steps` gives CPU,
device and busy time of each step.

## What usually helps

A CUDA graph replays all launches in one call: `torch.compile(model, mode="reduce-overhead")` or `torch.cuda.graph`.
Fewer, larger kernels: `torch.compile`, a larger batch, a fused optimizer. No waiting for the device inside the step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.host_bound import graph_share, is_host_bound, waits_idle_ns
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import distinct
from foretrace.trace.kineto import Category
from foretrace.units import count_text, share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code="FT201", name="cpu-bound", needs=Needs.LAUNCHES, since="0.1")

# One gap with this share of the idle time is what to look at.
_MAIN_SHARE: Final = 0.5
# From this share of the device time up the launches are in graphs already.
_REPLAYED: Final = 0.5
_IN_GRAPHS: Final = "the launches are in graphs already: look at what the CPU does between the replays"
_CHANGE: Final = """\
replay the launches as a CUDA graph, or make fewer of them:
    model = torch.compile(model, mode="reduce-overhead")"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding where the busy share says so."""
    facts = facts_of(trace)
    figures = facts.timeline.per_step
    if is_host_bound(facts) and figures.period_ns is not None:
        yield _finding(facts, figures.period_ns, figures.busy_ns.median)


def title(busy_ns: float, period_ns: float) -> str:
    """How little of a period is work."""
    return f"the GPU waits for the CPU: {time_text(busy_ns)} of work every {time_text(period_ns)}"


def _finding(facts: Facts, period_ns: float, busy_ns: float) -> Finding:
    idle = period_ns - busy_ns
    waits, replayed = waits_idle_ns(facts), graph_share(facts)
    text = f"{_busy(facts, period_ns, busy_ns)} "
    if waits is None:
        text += _launched(facts, idle)
    else:
        text += (
            f"Not launches but calls in which the host waits explain most of it: {time_text(waits)} {facts.per} of "
            "idle time in and after them. "
        )
    if replayed >= _REPLAYED:
        text += f"Graph replays launch {share_text(replayed)} of the device time already. "
    if facts.trace.has_stacks and waits is None:
        text += "Python stacks were recorded, which slows the CPU: without them the share is larger."
    return RULE.finding(
        title(busy_ns, period_ns),
        count=1,
        at_stake_ns=idle,
        confidence=_confidence(facts),
        evidence=facts.evidence_of_rows(_longest_launches(facts), limit=4),
        text=text.strip(),
        change=None if waits is not None else _IN_GRAPHS if replayed >= _REPLAYED else _CHANGE,
        because=None if waits is None else "FT203",
    )


def _busy(facts: Facts, period_ns: float, busy_ns: float) -> str:
    each = "" if facts.has_steps else " in this window"
    launches = facts.launches
    return (
        f"The device is busy {share_text(busy_ns / period_ns)} of the time{each} and waits for "
        f"{count_text(round(launches), 'launch', 'launches')} {facts.per}, one every "
        f"{time_text(period_ns / max(1.0, launches))}."
    )


def _launched(facts: Facts, idle: float) -> str:
    main = facts.gaps.longer_than(0).main
    if main is not None and main.total_ns >= _MAIN_SHARE * idle * facts.steps:
        return (
            f"Its longest gaps, {time_text(facts.per_step(main.total_ns))} {facts.per}, fall while the CPU is in "
            f"{main.host_name}. "
        )
    return ""


def _confidence(facts: Facts) -> Confidence:
    """Several steps show a period; one window shows its edges too, and recorded stacks slow the CPU."""
    if not facts.has_steps:
        return Confidence.POSSIBLE
    return Confidence.CERTAIN if facts.steps > 1 and not facts.trace.has_stacks else Confidence.LIKELY


def _longest_launches(facts: Facts) -> np.ndarray:
    """The launches that took the CPU longest in the first counted step."""
    acts, rows = facts.trace.activities, facts.trace.rows
    some = facts.counted[acts.category[facts.counted] == Category.KERNEL]
    some = some if some.size else facts.counted
    launch = distinct(acts.launch[some[acts.step[some] == acts.step[some[0]]]])
    return launch[np.argsort(-rows.dur[launch], kind="stable")]
