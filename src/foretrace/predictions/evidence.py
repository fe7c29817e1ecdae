"""The events behind a number: what they are, how many a step, and the ops that they come from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from foretrace.analysis.sites import by_slot, sites
from foretrace.analysis.timeline import Count, Spread
from foretrace.trace.kineto import Category
from foretrace.trace.model import NONE

if TYPE_CHECKING:
    from foretrace.analysis.metrics.basis import Ground
    from foretrace.analysis.metrics.metric import Figure
    from foretrace.trace.raw import I64

__all__ = ["Evidence", "activities_behind", "evidence_of"]

_KINDS = {
    Category.CPU_OP: "op",
    Category.ANNOTATION: "annotation",
    Category.RUNTIME: "runtime call",
    Category.DRIVER: "runtime call",
}


@dataclass(frozen=True)
class Evidence:
    """Events that are alike in name and origin."""

    kind: str
    """``kernel``, ``memcpy``, ``memset``, ``op``, ``annotation`` or ``runtime call``."""
    name: str
    label: str
    """The same for people: what a decoded kernel is, the name of anything else."""
    path: tuple[str, ...]
    """Annotations and ops around it (of a device activity, around its launch), outermost first."""
    per_step: Count
    time_ns: Spread
    """A step: device time of activity, CPU time of the rest."""
    bytes: int | None
    """Bytes that each moves."""
    launch: str | None
    event: int
    """Position in the file's event list of the first of them."""
    events: frozenset[int]
    """The positions of all of them."""

    def to_json(self) -> dict[str, Any]:
        """The keys of ``evidence[]``."""
        return {
            "event": self.event,
            "kind": self.kind,
            "name": self.name,
            "path": list(self.path),
            "per_step": self.per_step.to_json(),
            "time_ns": self.time_ns.to_json(),
            "bytes": self.bytes,
            "launch": self.launch,
        }


def evidence_of(ground: Ground, figure: Figure) -> tuple[Evidence, ...]:
    """The events that a figure was counted from, those with the most time first."""
    if figure.activities is not None:
        found = activities_behind(ground, figure.activities)
    elif figure.rows is not None:
        found = _rows_behind(ground, figure.rows)
    else:
        found = []
    return tuple(sorted(found, key=lambda item: (-item.time_ns.median, -item.per_step.value, item.event)))


def activities_behind(ground: Ground, chosen: I64) -> list[Evidence]:
    """Device activity, grouped by name and origin."""
    trace = ground.trace
    slot = np.maximum(ground.activity_slot[chosen], 0)
    index = trace.rows.index[trace.activities.row]
    return [
        Evidence(
            kind=site.kind,
            name=site.name,
            label=ground.label(site.name) if site.kind == "kernel" else site.name,
            path=(*site.path, site.frame) if site.frame is not None else site.path,
            per_step=site.count,
            time_ns=site.time_ns,
            bytes=site.bytes,
            launch=site.launch,
            event=int(index[site.first]),
            events=frozenset(index[site.members].tolist()),
        )
        for site in sites(trace, ground.paths, chosen, slot, ground.slots)
    ]


def _rows_behind(ground: Ground, chosen: I64) -> list[Evidence]:
    trace, rows = ground.trace, ground.trace.rows
    if not chosen.size:
        return []
    around = _paths_around(ground, chosen)
    slot = ground.row_slot(chosen)
    keys = (around + 1) * len(trace.strings) + rows.name[chosen]
    _, first, code = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(code, kind="stable")
    bounds = np.searchsorted(code[order], np.arange(len(first) + 1))
    found = []
    for at, lead in enumerate(first):
        some = order[bounds[at] : bounds[at + 1]]
        inside = some[slot[some] >= 0]
        counts, times = by_slot(slot[inside], rows.dur[chosen[inside]], ground.slots)
        row = int(chosen[lead])
        name = trace.name(row)
        found.append(
            Evidence(
                kind=_KINDS.get(Category(int(rows.category[row])), "event"),
                name=name,
                label=name,
                path=ground.paths.names(int(around[lead])),
                per_step=Count.of(counts.tolist()),
                time_ns=Spread.of(times.tolist()),
                bytes=None,
                launch=None,
                event=int(rows.index[row]),
                events=frozenset(rows.index[chosen[some]].tolist()),
            )
        )
    return found


def _paths_around(ground: Ground, chosen: I64) -> I64:
    """For each row the path around it: of a range the one above its own, of a call the innermost one."""
    where, rows = ground.paths, ground.trace.rows
    own = where.of_row[chosen]
    above = np.array([*where.above, NONE], np.int64)
    calls = np.flatnonzero(own < 0)
    result = above[own]
    if calls.size:
        result[calls] = where.around(rows.thread[chosen[calls]], rows.ts[chosen[calls]])
    return result
