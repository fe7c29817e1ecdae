"""Communication that no computation hides.

## What it looks for

Time in which collectives run on a device and nothing else does. Kernels are told as collectives by their names, in
all the forms these have had; which collective it is, by the op around the launch or else by the name.

## Why it matters

Collectives that overlap with computation cost little; the rest is time the device does not compute. The time in a
collective kernel includes the wait for the slowest rank: it is no measure of the transfer.

## How to confirm it

Compare the ranks: where one has short collectives and the others long ones, that one is late. `foretrace read FOLDER`
lists them side by side.

## What usually helps

It depends on what is communicated. Gradients under DistributedDataParallel: larger buckets and earlier launches
(`bucket_cap_mb`, `gradient_as_bucket_view`). Sharded parameters: prefetch (FSDP `backward_prefetch`). All-to-alls of
tokens or embeddings: balanced work over the ranks, asynchronous calls, two half batches in turn. A model split over
devices for inference: fewer devices for each replica, or communication fused with what follows it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.findings.communication_kinds import CommunicationKind, kinds_of
from foretrace.findings.facts import facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code="FT404", name="exposed-communication", needs=Needs.LAUNCHES, since="0.1")

# Below this share of the period it is not what to look at.
_SHARE: Final = 0.02
# A kind of communication below this share of the time that nothing hides is not what to change.
_KIND_SHARE: Final = 0.2
_CHANGES: Final = {
    CommunicationKind.GRADIENTS: """\
gradients: reduce them while backward computes, in buckets of another size:
    DistributedDataParallel(model, bucket_cap_mb=100, gradient_as_bucket_view=True)""",
    CommunicationKind.REDUCTION: """\
all-reduces: those of gradients belong in backward, in buckets (DistributedDataParallel's bucket_cap_mb); those of \
activations (tensor parallel) are hidden by the other half of a batch split in two""",
    CommunicationKind.SHARDS: """\
all-gathers and reduce-scatters: where they are of sharded parameters, fetch the next layer's while this one computes:
    FullyShardedDataParallel(model, backward_prefetch=BackwardPrefetch.BACKWARD_PRE, forward_prefetch=True)""",
    CommunicationKind.EXCHANGE: """\
all-to-alls: even out tokens or embeddings over the ranks, and compute something else meanwhile (asynchronous calls, \
or two half batches in turn)""",
    CommunicationKind.NEIGHBORS: """\
sends and receives: start them earlier and wait later (dist.batch_isend_irecv); in a pipeline, more microbatches""",
    CommunicationKind.OTHER: "overlap it with computation that does not need its result",
}
_WITHOUT_BACKWARD: Final = """\
no backward runs here, so these are no gradients but parts of a model split over devices: fewer devices for each \
replica, an all-reduce fused with what follows it, or two half batches in turn (one computes while the other \
communicates)"""
_SPLIT_MODEL: Final = frozenset({CommunicationKind.REDUCTION, CommunicationKind.SHARDS})


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
    kinds = kinds_of(facts)
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
            "the kernel, which includes the wait for other ranks, not the time of the transfer." + _kinds_text(kinds)
        ),
        change=_change(kinds, backward=facts.has_backward),
    )


def _kinds_text(kinds: list[tuple[CommunicationKind, int]]) -> str:
    """What the time goes to, as shares; empty where nothing is known of it."""
    total = sum(spent for _, spent in kinds)
    if not total or kinds[0][0] is CommunicationKind.OTHER:
        return ""
    if len(kinds) == 1:
        return f" All that nothing hides is {kinds[0][0]}."
    return f" Of what nothing hides {', '.join(f'{share_text(spent / total)} is {kind}' for kind, spent in kinds)}."


def _change(kinds: list[tuple[CommunicationKind, int]], *, backward: bool) -> str:
    """What hides the kinds that most of the time goes to."""
    total = sum(spent for _, spent in kinds)
    chosen = [kind for kind, spent in kinds if spent >= _KIND_SHARE * total]
    texts = (_WITHOUT_BACKWARD if not backward and kind in _SPLIT_MODEL else _CHANGES[kind] for kind in chosen)
    return "\n".join(dict.fromkeys(texts))
