"""Kernels run longer while a collective overlaps with them.

## What it looks for

Kernels alike in name, op (without one: annotation) and input shapes that run both alone and beside a collective, where
the median beside it is at least 1.2 times that alone. Where shapes were not recorded, those alone must take nearly the
same time; and there must be three of them where the grid is no larger than the device or a multiple of it: a persistent
kernel has one grid at any size.

## Why it matters

A collective takes multiprocessors and memory bandwidth from what runs at the same time. Overlap is then not free: the
computation gets longer by what the finding gives.

## How to confirm it

The evidence gives one launch alone and one beside a collective. Change the collective's share of the device and
compare.

## What usually helps

Fewer multiprocessors for the collective (NCCL: `NCCL_MAX_CTAS`, `NCCL_MAX_NCHANNELS`; DeepEP: `Buffer.set_num_sms`),
copy-engine or symmetric-memory collectives, overlap with kernels that memory does not bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.communication_kinds import main_library
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.raw import MISSING32
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT405", name="communication-contention", needs=Needs.LAUNCHES, since="0.1")

_RATIO: Final = 1.2
# Shorter kernels vary by themselves.
_SHORTEST_NS: Final = 20_000
_SHARE: Final = 0.01
# Where neither shapes nor the grid tell the size: how many alone prove that all do the same. And how far times of the
# same work lie apart.
_ALONE: Final = 3
_ALONE_SPREAD: Final = 1.2
_BESIDE_SPREAD: Final = 2.0
_CHANGES: Final = {
    "NCCL": "give the collective fewer blocks: NCCL_MAX_CTAS=8 (or NCCL_MAX_NCHANNELS), and compare both times",
    "RCCL": "give the collective fewer blocks: NCCL_MAX_NCHANNELS=8, and compare both times",
    "DeepEP": "give the exchange fewer multiprocessors: deep_ep.Buffer.set_num_sms(16), and compare both times",
}
_CHANGE: Final = """\
give the collective fewer blocks, where its library has a setting for that, or let it run beside kernels that memory \
does not bound; compare both times"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all kernels that are slowed."""
    facts = facts_of(trace)
    comm = facts.communication
    if not len(comm) or not comm.touched.any():
        return
    beside = facts.long_ones(comm.compute[comm.touched], _RATIO * _SHORTEST_NS)
    alone = facts.long_ones(comm.compute[comm.apart], _SHORTEST_NS)
    slowed: list[tuple[float, I64, I64]] = []
    by_key, usual_by_key = _by_key(facts, beside), _by_key(facts, alone)
    for key in by_key.keys() & usual_by_key.keys():
        some, others = by_key[key], usual_by_key[key]
        median, usual = (float(np.median(trace.activities.dur[members])) for members in (some, others))
        if usual >= _SHORTEST_NS and median >= _RATIO * usual and _same_work(facts, some, others):
            excess = np.maximum(0, trace.activities.dur[some] - usual).sum()
            slowed.append((float(excess), np.sort(some), np.sort(others)))
    total = sum(excess for excess, _, _ in slowed)
    if slowed and total >= _SHARE * facts.step_device_ns * facts.steps:
        yield _finding(facts, total, sorted(slowed, key=lambda item: (-item[0], int(item[1][0]))))


def _same_work(facts: Facts, some: I64, others: I64) -> bool:
    """Whether launches that are alike do the same: their shapes say so, or else their times."""
    acts = facts.trace.activities
    owner = int(acts.owner[some[0]])
    if owner >= 0 and facts.trace.ops.dims[owner] != MISSING32:
        return True
    beside, alone = acts.dur[some], acts.dur[others]
    return bool(
        (len(alone) >= _ALONE or not _may_be_persistent(facts, int(some[0])))
        and alone.max() <= _ALONE_SPREAD * alone.min()
        and beside.max() <= _BESIDE_SPREAD * beside.min()
    )


def _may_be_persistent(facts: Facts, activity: int) -> bool:
    """Whether the grid is that of the device, rather than of the work."""
    grid = facts.trace.activities.grid[activity]
    if (grid <= 0).any():
        return False
    blocks, sms = int(grid.prod()), facts.device.sms if facts.device is not None else None
    return sms is None or blocks <= sms or blocks % sms == 0


def _by_key(facts: Facts, activities: I64) -> dict[int, I64]:
    """The activities by what makes them alike."""
    if not activities.size:
        return {}
    keys = facts.alike(activities)
    order = np.argsort(keys, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)
    return {int(keys[part[0]]): activities[part] for part in parts}


def _finding(facts: Facts, total: float, slowed: list[tuple[float, I64, I64]]) -> Finding:
    acts = facts.trace.activities
    _, some, others = slowed[0]
    slow, usual = float(np.median(acts.dur[some])), float(np.median(acts.dur[others]))
    return RULE.finding(
        f"kernels run up to {slow / usual:.1f}x as long beside a collective",
        count=facts.per_step(sum(len(members) for _, members, _ in slowed)),
        at_stake_ns=facts.per_step(total),
        # Without shapes, alike may mean another number of tokens.
        confidence=Confidence.LIKELY if facts.trace.has_shapes else Confidence.POSSIBLE,
        evidence=facts.evidence_of(some, limit=2) + facts.evidence_of(others, limit=2),
        text=(
            f"{facts.what(int(some[0])).short} takes {time_text(usual)} alone and {time_text(slow)} while a "
            f"collective runs; over {len(slowed)} kinds of kernel that is {time_text(facts.per_step(total))} "
            f"{facts.per}."
        ),
        change=_CHANGES.get(main_library(facts, facts.communication.collectives), _CHANGE),
    )
