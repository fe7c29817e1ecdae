"""What metrics are measured over: the steps of a trace, narrowed to an op or an annotation, and names decoded once."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from foretrace.analysis.dispatch.recorded import AttentionCall, attention_calls
from foretrace.analysis.paths import Paths, paths
from foretrace.analysis.timeline import Timeline, timeline
from foretrace.analysis.trust.links import launches_without_activity
from foretrace.names.decode import decode
from foretrace.trace.distinct import distinct, is_among
from foretrace.trace.kineto import Category
from foretrace.trace.model import NONE, TimeFault
from foretrace.trace.nesting import forest

if TYPE_CHECKING:
    import numpy.typing as npt

    from foretrace.analysis.metrics.quantity import Scope
    from foretrace.names.decoded import Decoded
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

    Mask = npt.NDArray[np.bool_]

__all__ = ["Basis", "Ground", "matches", "names_matching"]


def matches(name: str, pattern: str) -> bool:
    """Whether a name is the pattern, in which ``*`` stands for any text."""
    return name == pattern or ("*" in pattern and _glob(pattern).fullmatch(name) is not None)


@lru_cache(maxsize=256)
def _glob(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(piece) for piece in pattern.split("*")), re.DOTALL)


def names_matching(trace: Trace, names: npt.NDArray[np.int32], pattern: str) -> Mask:
    """For each of these interned names, whether it is the pattern; each distinct name is asked once."""
    unique, inverse = np.unique(names, return_inverse=True)
    wanted = np.array([matches(trace.strings[number], pattern) for number in unique], bool)
    result: Mask = wanted[inverse] if len(unique) else np.zeros(len(names), bool)
    return result


@dataclass(frozen=True)
class Ground:
    """What all metrics of a trace share, computed when first asked for."""

    trace: Trace
    _decoded: dict[int, Decoded] = field(default_factory=dict)
    _basis: dict[Scope | None, Basis] = field(default_factory=dict)

    @cached_property
    def timeline(self) -> Timeline:
        """Steps and per-step figures."""
        return timeline(self.trace)

    @cached_property
    def paths(self) -> Paths:
        """The paths of the trace."""
        return paths(self.trace)

    @property
    def slots(self) -> int:
        """How many steps the figures are over; the whole file is one where it has none."""
        return max(1, len(self.timeline.used))

    @cached_property
    def _slot_of_step(self) -> I64:
        """For each step its slot among the steps that figures are over, or -1; the last entry is for "no step"."""
        used = self.timeline.used
        result = np.full(len(self.trace.steps) + 1, NONE, np.int64)
        result[used] = np.arange(len(used))
        if not used:
            result[-1] = 0
        return result

    @cached_property
    def activity_slot(self) -> I64:
        """For each activity its slot, or -1: unlinked, or in no step that figures are over."""
        acts = self.trace.activities
        return np.where(acts.linked, self._slot_of_step[acts.step], NONE)

    def row_slot(self, rows: I64) -> I64:
        """The slot that each row starts in, or -1."""
        steps = self.trace.steps
        everywhere = np.zeros(len(steps), np.int32)
        woods = forest(everywhere, steps.ts, steps.end)
        step = woods.innermost(np.zeros(len(rows), np.int32), self.trace.rows.ts[rows])
        timed = self.trace.rows.fault[rows] == TimeFault.NONE
        return np.where(timed, self._slot_of_step[step], NONE)

    @cached_property
    def op_slot(self) -> I64:
        """The slot that each op starts in, or -1."""
        return self.row_slot(self.trace.ops.row.astype(np.int64))

    def inside(self, chosen: Mask) -> Mask:
        """For each op, whether it is one of the chosen or lies inside one."""
        return self.trace.op_nesting.is_inside(chosen)

    @cached_property
    def _activity_names(self) -> tuple[I64, I64]:
        """(the distinct interned names of activities, for each activity which of them it has)."""
        names, inverse = np.unique(self.trace.rows.name[self.trace.activities.row], return_inverse=True)
        return names.astype(np.int64), inverse.astype(np.int64)

    @cached_property
    def lost_launches(self) -> I64:
        """Rows of the launches whose activity is not in the file."""
        return launches_without_activity(self.trace)

    @cached_property
    def attention_calls(self) -> list[AttentionCall]:
        """The attention calls of the recording."""
        return attention_calls(self.trace)

    def decoded(self, name: int) -> Decoded:
        """An interned kernel name, decoded."""
        known = self._decoded.get(name)
        if known is None:
            known = self._decoded[name] = decode(self.trace.strings[name])
        return known

    def label(self, name: str) -> str:
        """A kernel's name for people: what it is where its name says so, else the name."""
        decoded = decode(name)
        return name if decoded.role == "other" else decoded.short

    def by_kernel_name(self, wanted: Any) -> Mask:
        """For each activity, whether it is a kernel whose decoded name is wanted."""
        acts = self.trace.activities
        chosen: Mask = self.by_name(lambda name: wanted(self.decoded(name))) & (acts.category == Category.KERNEL)
        return chosen

    def by_name(self, wanted: Any) -> Mask:
        """For each activity, whether its interned name is wanted; each distinct name is asked once."""
        names, inverse = self._activity_names
        chosen = np.array([bool(wanted(int(name))) for name in names], bool)
        result: Mask = chosen[inverse] if len(names) else np.zeros(len(inverse), bool)
        return result

    def basis(self, scope: Scope | None) -> Basis:
        """The ground of metrics narrowed to a scope; None is the whole step."""
        known = self._basis.get(scope)
        if known is None:
            known = self._basis[scope] = Basis(self, scope)
        return known


@dataclass(frozen=True)
class Basis:
    """What metrics of one scope are measured over."""

    ground: Ground
    scope: Scope | None

    @property
    def trace(self) -> Trace:
        """The trace."""
        return self.ground.trace

    @cached_property
    def ranges(self) -> I64:
        """Rows of the ops or annotations that the scope names, wherever they run; empty for the whole step."""
        trace = self.trace
        if self.scope is None:
            return np.zeros(0, np.int64)
        if self.scope.kind == "op":
            rows = trace.ops.row.astype(np.int64)
        else:
            rows = trace.rows_of(Category.ANNOTATION)
            rows = rows[~is_among(rows, trace.steps.row)]
        return rows[names_matching(trace, trace.rows.name[rows], self.scope.name)]

    @cached_property
    def calls(self) -> I64:
        """Of these, the ones in the steps that figures are over."""
        return self.ranges[self.ground.row_slot(self.ranges) >= 0]

    @cached_property
    def ops(self) -> Mask:
        """For each op, whether it lies in the scope."""
        trace, ops = self.trace, self.trace.ops
        if self.scope is None:
            return np.ones(len(ops), bool)
        if self.scope.kind == "annotation":
            return self._inside_annotation(ops.row.astype(np.int64))
        return self.ground.inside(names_matching(trace, trace.rows.name[ops.row], self.scope.name))

    @cached_property
    def activities(self) -> Mask:
        """For each activity, whether it lies in the scope and in a step that figures are over."""
        acts = self.trace.activities
        inside = self.ground.activity_slot >= 0
        if self.scope is None:
            return inside
        if self.scope.kind == "op":
            held = acts.owner >= 0
            mine = np.zeros(len(acts), bool)
            mine[held] = self.ops[acts.owner[held]]
            return inside & mine
        mine = np.zeros(len(acts), bool)
        linked = np.flatnonzero(inside)
        mine[linked] = self._inside_annotation(acts.launch[linked])
        return mine

    def rows(self, rows: I64) -> I64:
        """Of some runtime calls, those in the scope and in a step that figures are over."""
        rows = rows[self.ground.row_slot(rows) >= 0]
        if self.scope is None or not rows.size:
            return rows
        if self.scope.kind == "annotation":
            return rows[self._inside_annotation(rows)]
        trace = self.trace
        chosen = trace.ops.row[self.ops].astype(np.int64)
        woods = trace.rows.forest(chosen)
        return rows[woods.innermost(trace.rows.thread[rows], trace.rows.ts[rows]) >= 0]

    def outermost(self) -> I64:
        """Of ``calls``, those not inside another of them: their lengths add up."""
        rows, calls = self.trace.rows, self.calls
        woods = forest(rows.thread[calls], rows.ts[calls], rows.end[calls])
        return calls[woods.parents() < 0]

    def _inside_annotation(self, rows: I64) -> Mask:
        """Rows that start inside the annotation on its thread, or at that time on a thread of autograd's.

        A backward pass runs on threads of its own while the thread that asked for it waits inside its annotation.
        """
        trace, ranges = self.trace, self.ranges
        table = trace.rows
        if not ranges.size:
            return np.zeros(len(rows), bool)
        ranges = ranges[table.fault[ranges] == TimeFault.NONE]
        own = forest(table.thread[ranges], table.ts[ranges], table.end[ranges])
        inside = own.innermost(table.thread[rows], table.ts[rows]) >= 0
        backward = distinct(table.thread[trace.ops.row[trace.ops.forward_thread > 0]])
        foreign = np.flatnonzero(~inside & is_among(table.thread[rows], backward))
        if foreign.size:
            anywhere = forest(np.zeros(len(ranges), np.int32), table.ts[ranges], table.end[ranges])
            inside[foreign] = anywhere.innermost(np.zeros(len(foreign), np.int32), table.ts[rows[foreign]]) >= 0
        return inside
