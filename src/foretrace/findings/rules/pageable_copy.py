"""Data is copied to the device from pageable memory.

## What it looks for

Copies of 64 KiB and more whose name says `Pageable -> Device`. AMD's names (`Host -> Device`) say neither that nor
`Pinned`: there those copies count for which the host waits, and the finding is `likely` rather than `certain`. Where a
`DataLoader` runs, they are taken for its batches, else for tensors of your own. In a file without steps and without a
loader they may be a model on its way to the device, once.

## Why it matters

The device cannot read pageable memory: the driver copies it to a pinned buffer of its own first, piece by piece, at a
fraction of the bus's rate, and the host waits until it is done, `non_blocking` or not. Nothing overlaps with it.

## How to confirm it

The name of the copy says so, but on AMD. Pin the memory, profile again: the name should say `Pinned`, the rate should
be several times higher, and `cudaStreamSynchronize` (on AMD `hipMemcpyWithStream`) gone.

## What usually helps

`DataLoader(..., pin_memory=True)` and `batch.to("cuda", non_blocking=True)`; for tensors of your own,
`tensor.pin_memory()` once. A model moves once, before the first step: record after that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.findings.facts import facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.findings.upload_advice import ONCE, may_move_once, pin
from foretrace.findings.waits import PAGEABLE_BYTES, may_be_pageable
from foretrace.trace.distinct import is_among
from foretrace.trace.kineto import Category
from foretrace.trace.raw import MISSING
from foretrace.units import bytes_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code="FT204", name="pageable-copy", needs=Needs.LAUNCHES, since="0.1")

_STAGED: Final = "the driver stages them through a pinned buffer of its own, and the host waits"
_WAITED: Final = "the host waits for them, as it does for pageable memory (their names do not say whether it is)"


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all copies."""
    facts = facts_of(trace)
    acts = trace.activities
    names = facts.activity_names
    possible = names.matching(may_be_pageable)
    if not possible:
        return
    copies = facts.counted[acts.category[facts.counted] == Category.MEMCPY]
    copies = copies[names.flags(possible)(copies)]
    said = names.flags(names.matching(lambda name: "Pageable" in name))(copies)
    copies = copies[said | is_among(copies, facts.waits.copy)]
    copies = copies[(acts.bytes[copies] != MISSING) & (acts.bytes[copies] >= PAGEABLE_BYTES)]
    if not copies.size:
        return
    moved = int(acts.bytes[copies].sum())
    spent = int(acts.dur[copies].sum())
    told = bool(said.any())
    once = may_move_once(facts)
    rate = f", {moved / spent:.3g} GB/s" if spent else ""
    yield RULE.finding(
        f"{bytes_text(facts.per_step(moved))} {facts.per} copied to the GPU "
        + ("from pageable memory" if told else "while the CPU waits"),
        count=facts.per_step(len(copies)),
        at_stake_ns=facts.device_ns(copies),
        confidence=Confidence.POSSIBLE if once else Confidence.CERTAIN if told else Confidence.LIKELY,
        evidence=facts.evidence_of(copies),
        text=(
            f"The copies take {time_text(facts.device_ns(copies))} {facts.per}{rate}: {_STAGED if told else _WAITED}. "
            "From pinned memory the copy is faster and overlaps with other work." + (ONCE if once else "")
        ),
        change=pin(facts),
    )
