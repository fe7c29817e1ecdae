"""Data is copied to the device from pageable memory.

## What it looks for

Copies of 64 KiB and more whose name says `Pageable -> Device`. Where a `DataLoader` runs, they are taken for its
batches, else for tensors of your own. In a file without steps and without a loader they may be a model on its way to
the device, once.

## Why it matters

The device cannot read pageable memory: the driver copies it to a pinned buffer of its own first, piece by piece, at a
fraction of the bus's rate, and the host waits until it is done, `non_blocking` or not. Nothing overlaps with it.

## How to confirm it

The name of the copy says so. Pin the memory, profile again: the name should say `Pinned`, the rate should be several
times higher, and `cudaStreamSynchronize` gone.

## What usually helps

`DataLoader(..., pin_memory=True)` and `batch.to("cuda", non_blocking=True)`; for tensors of your own,
`tensor.pin_memory()` once. A model moves once, before the first step: record after that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.findings.facts import facts_of
from foretrace.findings.idle_causes import loader_rows
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.findings.waits import PAGEABLE_BYTES
from foretrace.trace.kineto import Category
from foretrace.trace.raw import MISSING
from foretrace.units import bytes_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code="FT204", name="pageable-copy", needs=Needs.LAUNCHES, since="0.1")

_LOADED: Final = """\
pin the memory, and copy without waiting:
    loader = DataLoader(dataset, pin_memory=True)
    batch = batch.to("cuda", non_blocking=True)"""
_OWN: Final = """\
keep what is copied in pinned memory, and copy without waiting:
    buffer = torch.empty(shape, pin_memory=True)  # once; or tensor.pin_memory()
    x = buffer.to("cuda", non_blocking=True)"""
_ONCE: Final = " Parameters of a model move once: if these are, record later."


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all copies."""
    facts = facts_of(trace)
    acts = trace.activities
    names = facts.activity_names
    pageable = names.matching(lambda name: "HtoD" in name and "Pageable" in name)
    if not pageable:
        return
    copies = facts.counted[acts.category[facts.counted] == Category.MEMCPY]
    copies = copies[names.flags(pageable)(copies)]
    copies = copies[(acts.bytes[copies] != MISSING) & (acts.bytes[copies] >= PAGEABLE_BYTES)]
    if not copies.size:
        return
    moved = int(acts.bytes[copies].sum())
    spent = int(acts.dur[copies].sum())
    loaded = loader_rows(facts).size > 0
    once = not loaded and not facts.has_steps
    rate = f", {moved / spent:.3g} GB/s" if spent else ""
    yield RULE.finding(
        f"{bytes_text(facts.per_step(moved))} {facts.per} copied to the GPU from pageable memory",
        count=facts.per_step(len(copies)),
        at_stake_ns=facts.device_ns(copies),
        confidence=Confidence.POSSIBLE if once else Confidence.CERTAIN,
        evidence=facts.evidence_of(copies),
        text=(
            f"The copies take {time_text(facts.device_ns(copies))} {facts.per}{rate}: the driver stages them through "
            "a pinned buffer of its own, and the host waits. From pinned memory the copy is faster and overlaps with "
            "other work." + (_ONCE if once else "")
        ),
        change=_LOADED if loaded else _OWN,
    )
