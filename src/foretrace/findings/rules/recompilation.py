"""Something is compiled inside the recorded steps.

## What it looks for

Ranges of Dynamo's and Inductor's own clock (`... (dynamo_timed)`, `_compile.compile_inner`) in counted steps.

## Why it matters

A compilation takes seconds and belongs before the loop. When it happens in a step, a guard failed: a shape, a dtype,
a Python value or a global changed, and the frame was compiled again. After a few times Dynamo gives up and runs it
eagerly.

## How to confirm it

`TORCH_LOGS="recompiles"` prints which guard failed, and for what value.

## What usually helps

Warm up with the shapes that come. `torch._dynamo.mark_dynamic(x, 0)` or `torch.compile(dynamic=True)` for a size that
changes; keep Python numbers that change out of the arguments (make them tensors).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.analysis.intervals import union_length
from foretrace.findings.facts import facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import is_among
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code="FT208", name="recompilation", needs=Needs.OPS, since="0.1")

_CHANGE: Final = """\
find the guard that fails, then make that size dynamic:
    TORCH_LOGS="recompiles" python train.py
    torch._dynamo.mark_dynamic(x, 0)"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all compilations."""
    facts = facts_of(trace)
    rows = facts.regions.compiling
    if not rows.size:
        return
    spent = facts.per_step(union_length(trace.rows.ts[rows], trace.rows.end[rows]))
    outer = rows[~is_among(facts.host_parents(rows), rows)]
    yield RULE.finding(
        f"{time_text(spent)} of compiling {facts.per}",
        count=facts.per_step(len(outer)),
        at_stake_ns=spent,
        confidence=Confidence.CERTAIN if facts.has_steps else Confidence.LIKELY,
        evidence=facts.evidence_of_rows(outer),
        text=(
            f"{trace.name(int(outer[0]))} runs in the recorded steps. In steady state nothing is compiled: a guard "
            "failed, or the warm-up was too short."
        ),
        change=_CHANGE,
    )
