"""Device memory is allocated or freed by the driver in steady state.

## What it looks for

`cudaMalloc`, `cudaFree`, `cudaHostAlloc` and their like in counted steps. At stake is their time, and no more than the
device idles: an allocation while it works costs nothing. Less than a microsecond or a thousandth of a step is left out,
and so are calls that belong to the capture of a graph, or lie in a range that is named after one.

## Why it matters

PyTorch's allocator keeps what it got and hands it out again: after the first steps it should not ask the driver.
`cudaMalloc` takes from tens of microseconds to milliseconds, `cudaFree` waits for the device. Seeing them again means
that memory runs short (blocks are freed to make room), that sizes change from step to step, or, where nearly every
`aten::empty` makes one, that the allocator keeps nothing: it was switched off, as one does to debug. A first call may
make the device's context, which takes seconds, once. In a first run, which other calls of milliseconds show, the
allocator asks for all it will keep.

## How to confirm it

`torch.cuda.memory_stats()["num_alloc_retries"]` counts the times it ran short. `torch.cuda.memory._snapshot()` shows
what was asked for.

## What usually helps

Fewer distinct sizes (pad or bucket), on NVIDIA `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True` against
fragmentation, a smaller batch, no `torch.cuda.empty_cache()` in the loop; `pin_memory` buffers that are kept. No
`PYTORCH_NO_CUDA_MEMORY_CACHING` (on AMD `PYTORCH_NO_HIP_MEMORY_CACHING`) in the environment.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.allocations import allocation_calls
from foretrace.findings.amounts import amount
from foretrace.findings.captures import outside_captures
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.host_bound import is_amd, is_host_bound
from foretrace.findings.idle_causes import Filler
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import is_among
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT207", name="allocator-calls", needs=Needs.CALLS, since="0.1")

_CHANGE: Final = """\
keep sizes few, and let the allocator grow its segments:
    PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
take torch.cuda.empty_cache() out of the loop"""
_CHANGE_AMD: Final = "keep sizes few (pad or bucket), and take torch.cuda.empty_cache() out of the loop"
_CACHE: Final = """\
let PyTorch's allocator keep memory: start without what switches that off,
    unset PYTORCH_NO_CUDA_MEMORY_CACHING"""
_CACHE_AMD: Final = f"{_CACHE} PYTORCH_NO_HIP_MEMORY_CACHING"
_WARM_UP: Final = "run a step before the recording: what is made once is no part of a step"
_UNSURE: Final = " With one window there is no telling whether this is steady state."
_FREES: Final = re.compile("Free|Unmap|Release")
_EMPTY: Final = "aten::empty"
# Not all: tensors on the CPU come from aten::empty too.
_EVERY: Final = 0.9
_FEWEST: Final = 10
# The driver takes some milliseconds at most, but for the first call, which makes the context.
_FIRST_NS: Final = 100_000_000
_MAIN_SHARE: Final = 0.5


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all calls."""
    facts = facts_of(trace)
    names = allocation_calls(facts)
    rows = outside_captures(facts, facts.calls(*names)) if names else None
    if rows is None or not rows.size:
        return
    spent = facts.cpu_ns(rows)
    stake = _stake(facts, spent)
    if not facts.worth(stake):
        return
    called = ", ".join(dict.fromkeys(trace.name(int(row)) for row in rows))
    steady = facts.steps > 1
    number = facts.per_step(len(rows))
    change, text = _told(facts, rows)
    yield RULE.finding(
        f"the driver allocates or frees memory: {time_text(spent)} {facts.per}",
        count=number,
        at_stake_ns=stake,
        confidence=Confidence.LIKELY if steady else Confidence.POSSIBLE,
        evidence=facts.evidence_of_rows(rows),
        text=(
            f"{amount(number)} call{'' if number == 1 else 's'} {facts.per} ({called}). {text}"
            + ("" if steady or change == _WARM_UP else _UNSURE)
        ),
        change=change,
    )


def _told(facts: Facts, rows: I64) -> tuple[str, str]:
    """(what to change, what the calls say): caching is off, the context is made, it is a first run, or none of them."""
    amd = is_amd(facts)
    made, asked = _uncached(facts, rows)
    if made:
        return _CACHE_AMD if amd else _CACHE, (
            f"{made:,} of {asked:,} calls of {_EMPTY} make one: PyTorch's allocator keeps nothing, so it looks "
            "switched off."
        )
    longest = int(facts.trace.rows.dur[rows].max())
    if longest >= _FIRST_NS and longest >= _MAIN_SHARE * facts.trace.rows.dur[rows].sum():
        return (
            _WARM_UP,
            f"One alone takes {time_text(longest)}, as a first call does that makes a context or loads a library.",
        )
    if facts.steps == 1 and facts.counted.size and facts.idle_cause.filler is Filler.FIRST_USE:
        return (
            _WARM_UP,
            "They are of a first run, as other calls of milliseconds show: the allocator asks for what it will keep.",
        )
    return _CHANGE_AMD if amd else _CHANGE, "In steady state PyTorch's allocator needs none."


def _uncached(facts: Facts, rows: I64) -> tuple[int, int]:
    """(calls of `aten::empty` that allocate, all of them) where nearly all do and memory goes back; else (0, 0)."""
    asked = facts.ops(_EMPTY)
    if len(asked) < _FEWEST:
        return 0, 0
    frees = np.array([_FREES.search(facts.trace.name(int(row))) is not None for row in rows], bool)
    made = int(is_among(asked, facts.op_around(rows[~frees])).sum())
    # An allocator that warms up allocates much and frees little.
    steady = 2 * int(frees.sum()) >= int((~frees).sum())
    return (made, len(asked)) if steady and made >= _EVERY * len(asked) else (0, 0)


def _stake(facts: Facts, spent: float) -> float:
    """What the calls can cost: no more than the device idles, where that is known."""
    figures = facts.timeline.per_step
    if not figures.period_ns or not facts.counted.size:
        return spent
    if is_host_bound(facts) and facts.idle_cause.filler is Filler.ALLOCATION:
        return min(spent, facts.idle_cause.filled_ns)
    return min(spent, figures.period_ns - figures.busy_ns.median)
