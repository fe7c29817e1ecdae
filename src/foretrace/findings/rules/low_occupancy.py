"""Low occupancy that is meant: the tile fills the multiprocessor.

## What it looks for

Attention and matrix kernels on tensor cores that take a good part of the step and run at an occupancy of 25 % or
less, or whose printed occupancy is 0 %.

## Why it matters

It does not, and that is the point of this note. These kernels keep their tile in registers and shared memory and hide
latency by pipelining within the block, not by many warps. A printed 0 % means that the profiler did not estimate it
(launches through the driver), or rounded a small grid down.

## How to confirm it

Compare the rate reached with the device's peak: `foretrace read TRACE --json` gives the limiter, the roofline the
share of the peak.

## What usually helps

Nothing: leave it. Judge these kernels by the rate they reach.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.names.decoded import ATTENTION_ROLES
from foretrace.names.occupancy import occupancy
from foretrace.trace.distinct import distinct
from foretrace.trace.raw import MISSING, MISSING32
from foretrace.units import count_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.names.occupancy import Occupancy
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT114", name="low-occupancy", needs=Needs.LAUNCHES, since="0.1", note=True)

# At a quarter of the warps and below, people ask.
_LOW_PCT: Final = 25.0
# Below this share of the step's device time nobody looks.
_SHARE: Final = 0.1
_SHOWN: Final = 3
_LIMITERS: Final = {
    "registers": "registers",
    "shared_memory": "shared memory",
    "warps": "the warps of a block",
    "blocks": "the number of blocks",
    "grid": "a grid with fewer blocks than the device has room for",
}


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one note over all such kernels."""
    facts = facts_of(trace)
    heavy = facts.activities_where(
        lambda said: said.unit == "tensor_core" and (said.role in ATTENTION_ROLES or said.role == "gemm")
    )
    if not heavy.size or facts.device_ns(heavy) < _SHARE * facts.step_device_ns:
        return
    groups: dict[int, list[int]] = {}
    code = facts.activity_names.code[heavy]
    for number in distinct(code):
        groups[int(number)] = heavy[code == number].tolist()
    low: list[tuple[float, I64, Occupancy]] = []
    for members in groups.values():
        some = np.array(members, np.int64)
        found = _occupancy(facts, members[0])
        spent = facts.device_ns(some)
        if found and found.theoretical_pct <= _LOW_PCT and spent >= _SHARE * facts.step_device_ns:
            low.append((spent, some, found))
    if low:
        yield _finding(facts, sorted(low, key=lambda item: -item[0]))


def _occupancy(facts: Facts, activity: int) -> Occupancy | None:
    acts = facts.trace.activities
    block, grid = acts.block[activity], acts.grid[activity]
    if MISSING32 in (acts.registers[activity], acts.shared_memory[activity], *block):
        return None
    reported = int(acts.occupancy_pct[activity])
    return occupancy(
        registers=int(acts.registers[activity]),
        block_threads=int(np.prod(block)),
        shared_memory_bytes=int(acts.shared_memory[activity]),
        grid_blocks=None if MISSING in grid else int(np.prod(grid)),
        compute_capability=facts.capability,
        sms=facts.device.sms if facts.device else None,
        reported_pct=None if reported == MISSING32 else reported,
        limits=facts.device.properties if facts.device else None,
    )


def _likewise(facts: Facts, others: list[tuple[float, I64, Occupancy]]) -> str:
    """The kernels that the title counts, each with its occupancy."""
    if not others:
        return ""
    named = [f"{facts.what(int(some[0])).short} at {found.theoretical_pct:.3g} %" for _, some, found in others]
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return f" So it is with {', '.join(named[:_SHOWN])}{more}."


def _finding(facts: Facts, low: list[tuple[float, I64, Occupancy]]) -> Finding:
    _, some, found = low[0]
    members = np.concatenate([activities for _, activities, _ in low])
    said = facts.what(int(some[0]))
    others = f" (and {count_text(len(low) - 1, 'other')})" if len(low) > 1 else ""
    return RULE.finding(
        f"{found.theoretical_pct:.3g} % occupancy of {said.short}{others} is by design",
        count=facts.per_step(len(members)),
        at_stake_ns=0,
        confidence=Confidence.CERTAIN,
        evidence=facts.evidence_of(np.sort(members)),
        text=(
            f"{said.short} holds {count_text(found.blocks_per_sm, 'block')} per multiprocessor, limited by "
            f"{_LIMITERS.get(found.limiter, found.limiter)}: its tile stays on the chip, and pipelining within the "
            f"block hides the latency that other kernels hide with warps. Judge it by the rate it reaches."
            f"{_likewise(facts, low[1:])}"
        ),
    )
