"""Kernels run longer while a collective overlaps with them.

## What it looks for

Kernels alike in name, op and input shapes that run both alone and beside a collective, where the median beside it is
at least 1.2 times that alone.

## Why it matters

A collective takes multiprocessors and memory bandwidth from what runs at the same time. Overlap is then not free: the
computation gets longer by what the finding gives.

## How to confirm it

The evidence gives one launch alone and one beside a collective. Change the collective's share of the device and
compare.

## What usually helps

Fewer channels for the collective (`NCCL_MAX_CTAS`, `NCCL_MAX_NCHANNELS`), copy-engine or symmetric-memory
collectives, overlap with kernels that memory does not bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
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
_CHANGE: Final = "give the collective fewer blocks: NCCL_MAX_CTAS=8 (or NCCL_MAX_NCHANNELS), and compare both times"


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all kernels that are slowed."""
    facts = facts_of(trace)
    comm = facts.communication
    if not len(comm) or not comm.touched.any():
        return
    beside, alone = comm.compute[comm.touched], comm.compute[comm.apart]
    acts = trace.activities
    keys = _keys(facts, np.concatenate((beside, alone)))
    beside_key, alone_key = keys[: len(beside)], keys[len(beside) :]
    slowed: list[tuple[float, I64, I64]] = []
    for key in np.intersect1d(beside_key, alone_key):
        some, others = beside[beside_key == key], alone[alone_key == key]
        median, usual = float(np.median(acts.dur[some])), float(np.median(acts.dur[others]))
        if usual >= _SHORTEST_NS and median >= _RATIO * usual:
            slowed.append((float(np.maximum(0, acts.dur[some] - usual).sum()), some, others))
    total = sum(excess for excess, _, _ in slowed)
    if slowed and total >= _SHARE * facts.step_device_ns * facts.steps:
        yield _finding(facts, total, sorted(slowed, key=lambda item: -item[0]))


def _keys(facts: Facts, activities: I64) -> I64:
    """Equal for kernels of one name, under one op, with one list of input shapes."""
    owner = facts.trace.activities.owner[activities]
    names = np.append(facts.op_names.code, -1)[owner]
    dims = np.append(facts.trace.ops.dims.astype(np.int64), -1)[owner]
    columns = np.stack([facts.activity_names.code[activities], names, dims], axis=1)
    _, keys = np.unique(columns, axis=0, return_inverse=True)
    result: I64 = keys.reshape(-1)
    return result


def _finding(facts: Facts, total: float, slowed: list[tuple[float, I64, I64]]) -> Finding:
    acts = facts.trace.activities
    _, some, others = slowed[0]
    slow, usual = float(np.median(acts.dur[some])), float(np.median(acts.dur[others]))
    return RULE.finding(
        f"kernels run up to {slow / usual:.1f}x as long beside a collective",
        count=facts.per_step(sum(len(members) for _, members, _ in slowed)),
        at_stake_ns=facts.per_step(total),
        confidence=Confidence.LIKELY,
        evidence=facts.evidence_of(some, limit=2) + facts.evidence_of(others, limit=2),
        text=(
            f"{facts.what(int(some[0])).short} takes {time_text(usual)} alone and {time_text(slow)} while a "
            f"collective runs; over {len(slowed)} kinds of kernel that is {time_text(facts.per_step(total))} "
            f"{facts.per}."
        ),
        change=_CHANGE,
    )
