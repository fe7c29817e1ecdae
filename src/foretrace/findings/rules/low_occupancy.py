"""Low occupancy: where it is meant, as the tile fills the multiprocessor, and where the grid is too small.

## What it looks for

Attention and matrix kernels on tensor cores that take a good part of the step and run at an occupancy of 25 % or
less. Those whose grid has fewer blocks than the device has room for are told apart.

## Why it matters

Mostly it does not, and that is the point of this note. These kernels keep their tile in registers and shared memory
and hide latency by pipelining within the block, not by many warps. A printed 0 % means that the profiler did not
estimate it (launches through the driver), or rounded a small grid down. A grid that is too small is another matter:
some multiprocessors have nothing to do, whatever the kernel.

## How to confirm it

Compare the rate reached with the device's peak: `foretrace read TRACE --json` gives the limiter, the roofline the
share of the peak.

## What usually helps

Nothing where the tile is the limit: leave it, and judge these kernels by the rate they reach. Where the grid is, more
work for a launch: a larger batch, more heads, or for decoding a kernel that splits the keys over blocks.
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
}
# Below this share of the blocks that the device holds at once the grid is the limit, whatever the tile.
_FEW: Final = 0.5
_MORE_WORK: Final = "give each launch more to do, as a larger batch does"
_MORE_ATTENTION: Final = f"{_MORE_WORK}; for a few queries over many keys, a kernel that splits the keys over blocks"


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
        found = _occupancy(facts, _longest(facts, some))
        spent = facts.device_ns(some)
        if found and found.theoretical_pct <= _LOW_PCT and spent >= _SHARE * facts.step_device_ns:
            low.append((spent, some, found))
    low.sort(key=lambda item: -item[0])
    by_design = [item for item in low if not _is_short(item[2])]
    short = [item for item in low if _is_short(item[2])]
    if by_design:
        yield _finding(facts, by_design)
    if short:
        yield _short_finding(facts, short)


def _is_short(found: Occupancy) -> bool:
    """Whether the grid has too few blocks to fill the device."""
    return found.limiter == "grid" or (found.waves is not None and found.waves < _FEW)


def _longest(facts: Facts, some: I64) -> int:
    """The launch that stands for all of one kernel."""
    return int(some[np.argmax(facts.trace.activities.dur[some])])


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


def _short_finding(facts: Facts, short: list[tuple[float, I64, Occupancy]]) -> Finding:
    _, some, found = short[0]
    said = facts.what(int(some[0]))
    blocks = int(np.prod(facts.trace.activities.grid[_longest(facts, some)]))
    sms = facts.device.sms if facts.device and facts.device.sms else 0
    others = f" (and {count_text(len(short) - 1, 'other')})" if len(short) > 1 else ""
    likewise = [facts.what(int(activities[0])).short for _, activities, _ in short[1:]]
    more = f" and {len(likewise) - _SHOWN} more" if len(likewise) > _SHOWN else ""
    also = f" So it is with {', '.join(likewise[:_SHOWN])}{more}." if likewise else ""
    members = np.concatenate([activities for _, activities, _ in short])
    return RULE.finding(
        f"{said.short}{others} has too few blocks to fill the device",
        count=facts.per_step(len(members)),
        at_stake_ns=0,
        confidence=Confidence.CERTAIN,
        evidence=facts.evidence_of(np.sort(members)),
        text=(
            f"{said.short} runs {count_text(blocks, 'block')} where {count_text(sms, 'multiprocessor')} have room for "
            f"{count_text(found.blocks_per_sm, 'block')} each: its occupancy is low as there is too little work in the "
            f"call, not by the kernel's design.{also}"
        ),
        change=_MORE_ATTENTION if said.role in ATTENTION_ROLES else _MORE_WORK,
    )
