"""Communication that no computation hides.

## What it looks for

Time in which collectives run on a device and nothing else does. Kernels are told as collectives by their names, in
all the forms these have had.

## Why it matters

Collectives that overlap with computation cost little; the rest is time the device does not compute. The time in a
collective kernel includes the wait for the slowest rank: it is no measure of the transfer.

## How to confirm it

Compare the ranks: where one has short collectives and the others long ones, that one is late. `foretrace read FOLDER`
lists them side by side.

## What usually helps

Larger buckets and earlier launches (`bucket_cap_mb`, `gradient_as_bucket_view`), prefetch (FSDP `backward_prefetch`),
balanced work over the ranks, communication on a stream of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.findings.facts import facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code="FT404", name="exposed-communication", needs=Needs.LAUNCHES, since="0.1")

# Below this share of the period it is not what to look at.
_SHARE: Final = 0.02
_CHANGE: Final = """\
overlap it with computation: larger buckets, launched earlier; prefetch for FSDP:
    DistributedDataParallel(model, bucket_cap_mb=100, gradient_as_bucket_view=True)"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all collectives."""
    facts = facts_of(trace)
    comm = facts.communication
    if not len(comm):
        return
    exposed = facts.per_step(comm.exposed_ns)
    period = facts.timeline.per_step.period_ns or facts.step_device_ns
    if exposed < _SHARE * period:
        return
    inside, hidden = facts.per_step(comm.busy_ns), facts.per_step(comm.overlapped_ns)
    yield RULE.finding(
        f"{time_text(exposed)} {facts.per} of communication that nothing hides",
        count=facts.per_step(len(comm)),
        at_stake_ns=exposed,
        confidence=Confidence.LIKELY,
        evidence=facts.evidence_of(comm.collectives),
        text=(
            f"Collectives are in their kernels {time_text(inside)} {facts.per}: {time_text(hidden)} overlap with "
            f"other work, {time_text(exposed)} do not ({share_text(exposed / period)} of the period). This is time in "
            "the kernel, which includes the wait for other ranks, not the time of the transfer."
        ),
        change=_CHANGE,
    )
