"""Device memory is allocated or freed by the driver in steady state.

## What it looks for

`cudaMalloc`, `cudaFree`, `cudaHostAlloc` and their like in counted steps.

## Why it matters

PyTorch's allocator keeps what it got and hands it out again: after the first steps it should not ask the driver.
`cudaMalloc` takes from tens of microseconds to milliseconds, `cudaFree` waits for the device. Seeing them again means
that memory runs short (blocks are freed to make room), or that sizes change from step to step.

## How to confirm it

`torch.cuda.memory_stats()["num_alloc_retries"]` counts the times it ran short. `torch.cuda.memory._snapshot()` shows
what was asked for.

## What usually helps

Fewer distinct sizes (pad or bucket), `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` against fragmentation, a
smaller batch, no `torch.cuda.empty_cache()` in the loop; `pin_memory` buffers that are kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.findings.allocations import allocation_calls
from foretrace.findings.amounts import amount
from foretrace.findings.facts import facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code="FT207", name="allocator-calls", needs=Needs.CALLS, since="0.1")

_CHANGE: Final = """\
keep sizes few, and let the allocator grow its segments:
    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
take torch.cuda.empty_cache() out of the loop"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all calls."""
    facts = facts_of(trace)
    names = allocation_calls(facts)
    rows = facts.calls(*names) if names else None
    if rows is None or not rows.size:
        return
    spent = facts.cpu_ns(rows)
    called = ", ".join(dict.fromkeys(trace.name(int(row)) for row in rows))
    steady = facts.steps > 1
    yield RULE.finding(
        f"the driver allocates or frees memory: {time_text(spent)} {facts.per}",
        count=facts.per_step(len(rows)),
        at_stake_ns=spent,
        confidence=Confidence.LIKELY if steady else Confidence.POSSIBLE,
        evidence=facts.evidence_of_rows(rows),
        text=(
            f"{amount(facts.per_step(len(rows)))} calls {facts.per} ({called}). In steady state PyTorch's allocator "
            "needs none. " + ("" if steady else "With one window there is no telling whether this is steady state.")
        ).strip(),
        change=_CHANGE,
    )
