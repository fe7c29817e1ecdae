"""The op table: calls, CPU time and device time by op name.

CPU self time is an op's own: its length less the child ops, annotations and runtime calls directly inside it. CPU total
is its length. An op that is all there is inside an op of its own name (``aten::mul`` of a number calls ``aten::mul`` of
a tensor) is the same call. All three are as ``torch.profiler``'s table has them. Device self time is that of the
activities it owns; device total adds its descendants', and an activity under two ops of one name counts once for that
name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I32, I64

__all__ = ["OpRow", "cpu_self_times", "device_times", "op_table"]


@dataclass(frozen=True)
class OpRow:
    """All calls of one op name."""

    name: str
    calls: int
    cpu_self_ns: int
    cpu_total_ns: int
    device_self_ns: int
    device_total_ns: int
    activities: int
    """Activities owned, in or out of steps."""

    def to_json(self) -> dict[str, Any]:
        """The keys of ``ops[]``."""
        return dict(vars(self))


def cpu_self_times(trace: Trace) -> I64:
    """For each op, its length less what lies directly inside it on its thread, in nanoseconds."""
    place = trace.host_place[trace.ops.row]
    timed = np.flatnonzero(place >= 0)
    result = np.zeros(len(place), np.int64)
    result[timed] = trace.host_forest.own_lengths[place[timed]]
    return result


def device_times(trace: Trace) -> tuple[I64, I64]:
    """For each op: (device time of the activities it owns, the same with its descendants'), in nanoseconds."""
    acts, ops = trace.activities, trace.ops
    own = np.zeros(len(ops), np.int64)
    held = acts.owner >= 0
    np.add.at(own, acts.owner[held], acts.dur[held])
    return own, trace.op_nesting.sums(own)


def _repeats(trace: Trace, name: Any) -> Any:
    """Ops that are the only thing inside an op of the same name."""
    woods, ops = trace.host_forest, trace.ops
    inner = np.flatnonzero((ops.parent >= 0) & (name[ops.parent] == name))
    if not inner.size:
        return np.zeros(len(ops), bool)
    place = trace.host_place
    inside = np.bincount(woods.parent[woods.parent >= 0], minlength=len(woods.parent))
    above = woods.parent[place[ops.row[inner]]]
    result = np.zeros(len(ops), bool)
    result[inner] = (above == place[ops.row[ops.parent[inner]]]) & (inside[above] == 1)
    return result


def op_table(trace: Trace) -> list[OpRow]:
    """One row for each op name, the most device time first, then the most CPU time."""
    ops = trace.ops
    if not len(ops):
        return []
    name = trace.rows.name[ops.row]
    labels, code = _codes(name, len(trace.strings))
    size = len(labels)
    own, total = device_times(trace)
    alone = ~trace.op_nesting.is_inside_alike(code)
    fresh = ~_repeats(trace, name)
    held = trace.activities.owner >= 0
    columns = {
        "calls": np.bincount(code[fresh], minlength=size),
        "cpu_self_ns": _sums(code, cpu_self_times(trace), size),
        "cpu_total_ns": _sums(code[fresh], trace.rows.dur[ops.row[fresh]], size),
        "device_self_ns": _sums(code, own, size),
        "device_total_ns": _sums(code[alone], total[alone], size),
        "activities": np.bincount(code[trace.activities.owner[held]], minlength=size),
    }
    table = [
        OpRow(name=trace.strings[label], **{key: int(column[at]) for key, column in columns.items()})
        for at, label in enumerate(labels)
    ]
    table.sort(key=lambda row: (-row.device_self_ns, -row.device_total_ns, -row.cpu_total_ns, row.name))
    return table


def _codes(values: I32, limit: int) -> tuple[I64, I64]:
    """(distinct values, for each value its place among them); values lie in [0, limit)."""
    seen = np.zeros(limit, bool)
    seen[values] = True
    labels = np.flatnonzero(seen)
    place = np.zeros(limit, np.int64)
    place[labels] = np.arange(len(labels))
    return labels, place[values]


def _sums(code: I64, values: I64, size: int) -> I64:
    """Exact integer sums by code."""
    result = np.zeros(size, np.int64)
    np.add.at(result, code, values)
    return result
