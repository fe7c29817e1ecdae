"""The optimizer updates one parameter at a time.

## What it looks for

An `Optimizer.step` that launches fifty small kernels or more, none of which takes many tensors at once.

## Why it matters

Each parameter costs several launches of a few microseconds each. For a model of a few hundred tensors that is
thousands of launches a step, and the CPU bounds it.

## How to confirm it

The multi-tensor forms launch a few kernels named `multi_tensor_apply_kernel`.

## What usually helps

`fused=True` (one kernel for many tensors), or `foreach=True`. It is the default only where all parameters are on the
device and of plain types.
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

RULE = Rule(code="FT212", name="single-tensor-optimizer", needs=Needs.LAUNCHES, since="0.1")

_FEWEST: Final = 50
_SMALL_NS: Final = 20_000
_MULTI: Final = "multi_tensor"
_CHANGE: Final = "torch.optim.AdamW(model.parameters(), fused=True)  # or foreach=True"


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all steps of the optimizer."""
    facts = facts_of(trace)
    if not facts.optimizer_steps.size:
        return
    acts = trace.activities
    inside = facts.counted[facts.in_optimizer]
    kernels = inside[(acts.category[inside] == Category.KERNEL) & ~acts.graph[inside]]
    if not kernels.size or facts.activities_where(lambda said: _MULTI in said.name, kernels).size:
        return
    small = np.median(acts.dur[kernels]) < _SMALL_NS
    if small and len(kernels) >= _FEWEST * len(facts.optimizer_steps):
        yield _finding(facts, kernels)


def _finding(facts: Facts, kernels: I64) -> Finding:
    rows = facts.optimizer_steps
    cpu = facts.cpu_ns(rows)
    device = facts.device_ns(kernels)
    bound = facts.timeline.per_step.bound
    name = facts.trace.name(int(rows[0])).removeprefix("Optimizer.step#").removesuffix(".step")
    return RULE.finding(
        f"{name} updates one tensor at a time: {facts.per_step(len(kernels)):,.0f} kernels {facts.per}",
        count=facts.per_step(len(kernels)),
        at_stake_ns=cpu if bound == "cpu" else device,
        confidence=Confidence.LIKELY,
        evidence=facts.evidence_of_rows(rows),
        text=(
            f"The optimizer takes {time_text(cpu)} {facts.per} on the CPU and {time_text(device)} on the device, in "
            f"kernels of {time_text(float(np.median(facts.trace.activities.dur[kernels])))} each."
        ),
        change=_CHANGE,
    )
