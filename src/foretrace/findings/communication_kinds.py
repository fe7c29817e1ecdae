"""What kind of communication a trace does, told by the op around each collective or else by its kernel's name.

What hides one kind does nothing for another: gradients wait for buckets, shards for a prefetch, an all-to-all for the
slowest rank. Old NCCL ran several collectives under one kernel name, so the op goes before the name.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.trace.raw import I64

__all__ = ["CommunicationKind", "kinds_of", "main_library"]


class CommunicationKind(StrEnum):
    """What is communicated, in the words of a sentence."""

    GRADIENTS = "all-reduces of gradients"
    REDUCTION = "all-reduces"
    SHARDS = "all-gathers and reduce-scatters"
    EXCHANGE = "all-to-alls"
    NEIGHBORS = "sends and receives"
    OTHER = "other communication"


# Ops and the annotations of process groups, not the annotations that users write.
_OPS: Final = ("nccl:", "c10d::", "c10d_functional::", "_c10d_functional::", "symm_mem::", "vllm::", "gloo:", "rccl:")
_OF_OP: Final[tuple[tuple[str, CommunicationKind], ...]] = (
    ("alltoall", CommunicationKind.EXCHANGE),
    ("all_to_all", CommunicationKind.EXCHANGE),
    ("allreduce", CommunicationKind.REDUCTION),
    ("all_reduce", CommunicationKind.REDUCTION),
    ("allgather", CommunicationKind.SHARDS),
    ("all_gather", CommunicationKind.SHARDS),
    ("reduce_scatter", CommunicationKind.SHARDS),
    ("send", CommunicationKind.NEIGHBORS),
    ("recv", CommunicationKind.NEIGHBORS),
)
_OF_KERNEL: Final = {
    "all_reduce": CommunicationKind.REDUCTION,
    "all_gather": CommunicationKind.SHARDS,
    "reduce_scatter": CommunicationKind.SHARDS,
    "all_to_all": CommunicationKind.EXCHANGE,
    "dispatch": CommunicationKind.EXCHANGE,
    "combine": CommunicationKind.EXCHANGE,
    "notify": CommunicationKind.EXCHANGE,
    "send and receive": CommunicationKind.NEIGHBORS,
}
# DistributedDataParallel reduces in the hooks of the gradients.
_GRADIENTS: Final = "AccumulateGrad"


def kinds_of(facts: Facts) -> list[tuple[CommunicationKind, int]]:
    """Time in nanoseconds that nothing hides of each kind, the longest first; each origin is looked at once."""
    acts, trace, comm = facts.trace.activities, facts.trace, facts.communication
    collectives = comm.collectives
    if not collectives.size:
        return []
    owner, launch = acts.owner[collectives], acts.launch[collectives]
    above = np.where(owner >= 0, trace.ops.parent[owner], owner) if len(trace.ops) else owner
    columns = [facts.activity_names.code[collectives], facts.annotation_names(launch)]
    columns += [
        np.where(op >= 0, trace.rows.name[trace.ops.row[op]], op) if len(trace.ops) else op for op in (owner, above)
    ]
    _, first, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    spent: Counter[CommunicationKind] = Counter()
    for number, at in enumerate(first):
        kind = _kind(facts, int(collectives[at]))
        spent[kind] += int(comm.exposed[inverse.reshape(-1) == number].sum())
    return [(kind, time) for kind, time in spent.most_common() if time]


def _kind(facts: Facts, activity: int) -> CommunicationKind:
    path = facts.path(int(facts.trace.activities.launch[activity]))
    kind = _of_path(path) or _OF_KERNEL.get(facts.what(activity).op or "", CommunicationKind.OTHER)
    if kind is CommunicationKind.REDUCTION and any(_GRADIENTS in name for name in path):
        return CommunicationKind.GRADIENTS
    return kind


def _of_path(path: tuple[str, ...]) -> CommunicationKind | None:
    for name in reversed(path):
        if name.startswith(_OPS):
            found = next((kind for word, kind in _OF_OP if word in name), None)
            if found is not None:
                return found
    return None


def main_library(facts: Facts, collectives: I64) -> str:
    """The library whose kernels communicate the longest."""
    spent: Counter[str] = Counter()
    for activity in collectives:
        spent[facts.what(int(activity)).library] += int(facts.trace.activities.dur[activity])
    return spent.most_common(1)[0][0] if spent else ""
