"""The op tree of one step: annotations and ops by nesting, activities under the op that launched them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from foretrace.analysis.launches import KIND_NAMES
from foretrace.analysis.shapes import shapes_text
from foretrace.trace.kineto import Category
from foretrace.trace.model import NONE, TimeFault
from foretrace.trace.nesting import forest
from foretrace.trace.raw import MISSING

if TYPE_CHECKING:
    from foretrace.trace.model import Trace

__all__ = ["Node", "step_tree"]


@dataclass
class Node:
    """A range, or an activity, and what lies under it."""

    name: str
    kind: str
    """``thread``, ``annotation``, ``op``, ``kernel``, ``memcpy`` or ``memset``."""
    cpu_ns: int
    device_ns: int
    """Device time of this and all below."""
    shapes: str = ""
    event: int = NONE
    """Position in the file's event list; -1 for a thread."""
    activity: int = NONE
    """Position in ``trace.activities``, for an activity."""
    bytes: int | None = None
    children: list[Node] = field(default_factory=list)

    def walk(self) -> list[Node]:
        """This node and all below, each before its children."""
        order = [self]
        for node in order:
            order.extend(node.children)
        return order

    def activity_counts(self) -> dict[int, int]:
        """Activities at and below each node, by ``id`` of the node."""
        counts: dict[int, int] = {}
        for node in reversed(self.walk()):
            counts[id(node)] = (node.activity >= 0) + sum(counts[id(child)] for child in node.children)
        return counts

    def to_json(self) -> dict[str, Any]:
        """The node and its children as plain values."""
        return {
            "name": self.name,
            "kind": self.kind,
            "cpu_ns": self.cpu_ns,
            "device_ns": self.device_ns,
            "shapes": self.shapes or None,
            "event": self.event if self.event >= 0 else None,
            "bytes": self.bytes,
            "children": [child.to_json() for child in self.children],
        }


def step_tree(trace: Trace, step: int | None) -> list[Node]:
    """One node for each thread that worked in the step (None: in the whole file), host order within.

    Activities hang under the op that owns them, or under the annotation around their launch; those launched in the
    step outside everything hang under their thread.
    """
    rows = trace.rows
    ranges = _ranges(trace, step)
    woods = forest(rows.thread[ranges], rows.ts[ranges], rows.end[ranges])
    above = woods.parents()
    ops_by_row = np.full(len(rows), NONE, np.int64)
    ops_by_row[trace.ops.row] = np.arange(len(trace.ops))
    nodes: dict[int, Node] = {}
    threads: dict[int, Node] = {}
    for spot in woods.original:
        row = int(ranges[spot])
        op = int(ops_by_row[row])
        node = Node(
            name=trace.name(row),
            kind="op" if op >= 0 else "annotation",
            cpu_ns=int(rows.dur[row]),
            device_ns=0,
            shapes=shapes_text(trace, op) if op >= 0 else "",
            event=int(rows.index[row]),
        )
        nodes[row] = node
        parent = int(above[spot])
        holder = nodes[int(ranges[parent])] if parent >= 0 else _thread(trace, threads, row)
        holder.children.append(node)
    _hang_activities(trace, step, nodes, threads)
    for thread in threads.values():
        _sum_up(thread)
    return sorted(threads.values(), key=lambda node: -node.device_ns)


def _ranges(trace: Trace, step: int | None) -> Any:
    rows = trace.rows
    kinds = (rows.category == Category.CPU_OP) | (rows.category == Category.ANNOTATION)
    kinds &= rows.fault == TimeFault.NONE
    kinds[trace.steps.row] = False
    if step is not None:
        kinds &= (rows.ts >= trace.steps.ts[step]) & (rows.ts < trace.steps.end[step])
    return np.flatnonzero(kinds)


def _thread(trace: Trace, threads: dict[int, Node], row: int) -> Node:
    number = int(trace.rows.thread[row])
    if number not in threads:
        threads[number] = Node(name=trace.thread_label(row), kind="thread", cpu_ns=0, device_ns=0)
    return threads[number]


def _hang_activities(trace: Trace, step: int | None, nodes: dict[int, Node], threads: dict[int, Node]) -> None:
    acts, rows = trace.activities, trace.rows
    chosen = np.flatnonzero(acts.linked if step is None else acts.step == step)
    for at in chosen[np.argsort(rows.ts[acts.launch[chosen]], kind="stable")]:
        row = int(acts.row[at])
        owner = int(trace.ops.row[acts.owner[at]]) if acts.owner[at] >= 0 else int(acts.outer[at])
        holder = nodes.get(owner) or _thread(trace, threads, int(acts.launch[at]))
        moved = int(acts.bytes[at])
        holder.children.append(
            Node(
                name=trace.name(row),
                kind=KIND_NAMES[Category(int(acts.category[at]))],
                cpu_ns=0,
                device_ns=int(acts.dur[at]),
                event=int(rows.index[row]),
                activity=int(at),
                bytes=None if moved == MISSING else moved,
            )
        )


def _sum_up(root: Node) -> None:
    """Add device time from the leaves up, without recursion: files nest deeper than Python calls may."""
    for node in reversed(root.walk()):
        node.device_ns += sum(child.device_ns for child in node.children)
        if node.kind == "thread":
            node.cpu_ns = sum(child.cpu_ns for child in node.children)
