"""The optimizer updates one parameter at a time.

## What it looks for

An `Optimizer.step` that launches fifty small kernels or more, none of which takes many tensors at once. At stake is the
time its kernels take or, where that is more, how long the device idles meanwhile; where launches bound the whole step,
the CPU time of it.

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

from foretrace.analysis.intervals import union
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.host_bound import follows_launches
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
_FUSED: Final = frozenset({"Adagrad", "Adam", "AdamW", "SGD"})
_FOREACH: Final = frozenset({"Adadelta", "Adafactor", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"})
_OTHER: Final = (
    "use a form of it that updates many tensors at once: those of torch.optim take foreach=True, and "
    "torch._foreach_add_ and its like do it in one's own"
)


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
    idle = int(facts.gaps.within(*union(facts.trace.rows.ts[rows], facts.trace.rows.end[rows])).sum())
    name = facts.trace.name(int(rows[0])).removeprefix("Optimizer.step#").removesuffix(".step")
    return RULE.finding(
        f"{name} updates one tensor at a time: {facts.per_step(len(kernels)):,.0f} kernels {facts.per}",
        count=facts.per_step(len(kernels)),
        at_stake_ns=cpu if follows_launches(facts) else max(device, facts.per_step(idle)),
        confidence=Confidence.LIKELY,
        evidence=facts.evidence_of_rows(rows),
        text=(
            f"The optimizer takes {time_text(cpu)} {facts.per} on the CPU and {time_text(device)} on the device, in "
            f"kernels of {time_text(float(np.median(facts.trace.activities.dur[kernels])))} each."
        ),
        change=_change(name),
    )


def _change(name: str) -> str:
    if name in _FUSED:
        return f"torch.optim.{name}(model.parameters(), ..., fused=True)  # or foreach=True"
    return f"torch.optim.{name}(model.parameters(), ..., foreach=True)" if name in _FOREACH else _OTHER
