"""What the rules ask of a trace again and again, computed once: names, steps, who is above whom, evidence.

Rules see columns; this is the place where the columns are indexed, so that forty rules cost little more than one.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.timeline import Timeline, timeline
from foretrace.findings.name_index import NameIndex
from foretrace.findings.rule import Evidence
from foretrace.trace.kineto import Category
from foretrace.trace.model import NONE, TimeFault
from foretrace.trace.nesting import Forest, forest

if TYPE_CHECKING:
    from foretrace.findings.name_index import Bools
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I32, I64

__all__ = ["EVIDENCE", "Facts", "facts_of"]

EVIDENCE: Final = 8
"""Events a finding shows: the first of one step; the count says how many there are."""

_BACKWARD: Final = "autograd::engine::evaluate_function"
_MEMO: Final = "_facts"


def facts_of(trace: Trace, steps: Timeline | None = None) -> Facts:
    """The facts of a trace, kept on it beside its other cached columns."""
    memo = vars(trace)
    if _MEMO not in memo:
        memo[_MEMO] = Facts(trace, steps)
    found: Facts = memo[_MEMO]
    return found


class Facts:
    """A trace, indexed for the rules. *Counted* is what lies in the steps that per-step figures are over.

    Where the file has no steps, all of it is counted as one window, unlinked activity apart.
    """

    def __init__(self, trace: Trace, steps: Timeline | None = None) -> None:
        self.trace = trace
        self._steps = steps

    # Steps.

    @cached_property
    def timeline(self) -> Timeline:
        """Steps and per-step figures."""
        return self._steps or timeline(self.trace)

    @cached_property
    def steps(self) -> int:
        """How many steps are counted; 1 where the file is one window."""
        return max(1, len(self.timeline.used))

    @property
    def has_steps(self) -> bool:
        """Figures are per step, not of the whole file."""
        return bool(self.timeline.used)

    @cached_property
    def _step_counts(self) -> Bools:
        """For each step, and at the end for "no step", whether it is counted."""
        counted = np.zeros(len(self.trace.steps) + 1, bool)
        counted[self.timeline.used] = True
        counted[-1] = not self.timeline.used
        return counted

    @cached_property
    def _step_forest(self) -> Forest:
        steps = self.trace.steps
        return forest(np.zeros(len(steps), np.int32), steps.ts, steps.end)

    def step_of(self, time: I64) -> I64:
        """The step around each moment, or -1."""
        if not len(self.trace.steps):
            return np.full(len(time), NONE, np.int64)
        return self._step_forest.innermost(np.zeros(len(time), np.int32), time)

    def counted_rows(self, rows: I64) -> I64:
        """Of these rows, those that begin in a counted step and whose times are believed."""
        if not rows.size:
            return rows
        return rows[self._is_counted(rows)]

    def counted_ops(self, ops: I64) -> I64:
        """Of these ops, those that begin in a counted step."""
        if not ops.size:
            return ops
        return ops[self._is_counted(self.trace.ops.row[ops])]

    def _is_counted(self, rows: I64 | I32) -> Bools:
        held: Bools = self._step_counts[self.step_of(self.trace.rows.ts[rows])]
        held &= self.trace.rows.fault[rows] == TimeFault.NONE
        return held

    @cached_property
    def counted(self) -> I64:
        """Positions of the linked, timed activities of the counted steps."""
        acts = self.trace.activities
        return np.flatnonzero(acts.linked & acts.timed & self._step_counts[acts.step])

    # Names.

    @cached_property
    def op_names(self) -> NameIndex:
        """Ops by name."""
        return NameIndex(self.trace.strings, self.trace.rows.name[self.trace.ops.row])

    @cached_property
    def runtime_rows(self) -> I64:
        """Rows of runtime calls."""
        return self.trace.rows_of(Category.RUNTIME, Category.DRIVER)

    @cached_property
    def call_names(self) -> NameIndex:
        """Runtime calls by name: positions in ``runtime_rows``."""
        return NameIndex(self.trace.strings, self.trace.rows.name[self.runtime_rows])

    def calls(self, *names: str) -> I64:
        """Rows of the counted runtime calls with one of these names."""
        return self.counted_rows(self.runtime_rows[self.call_names.of(*names)])

    @cached_property
    def activity_names(self) -> NameIndex:
        """Activities by name."""
        return NameIndex(self.trace.strings, self.trace.rows.name[self.trace.activities.row])

    def ops(self, *names: str) -> I64:
        """Counted ops with one of these names."""
        return self.counted_ops(self.op_names.of(*names))

    def op_text(self, op: int) -> str:
        """The name of an op."""
        return self.op_names.strings[int(self.op_names.code[op])]

    # Nesting.

    def climb(self, ops: I64, holders: I64) -> I64:
        """For each op, the innermost of ``holders`` that it is or lies under; -1 for none."""
        parent = self.trace.ops.parent
        held = np.zeros(len(self.trace.ops) + 1, bool)
        held[holders] = True
        result = np.full(len(ops), NONE, np.int64)
        active = np.flatnonzero(ops >= 0)
        above = ops[active]
        while active.size:
            found = held[above]
            result[active[found]] = above[found]
            active, above = active[~found], parent[above[~found]]
            up = above >= 0
            active, above = active[up], above[up]
        return result

    def under(self, holders: I64, activities: I64 | None = None) -> I64:
        """For each of these activities (default: the counted ones) the innermost of ``holders`` above it, or -1."""
        chosen = self.counted if activities is None else activities
        return self.climb(self.trace.activities.owner[chosen], holders)

    def outermost(self, ops: I64) -> I64:
        """Of these ops, those that lie under no other of them."""
        above = self.trace.ops.parent[ops]
        return ops[self.climb(above, ops) < 0]

    @cached_property
    def has_backward(self) -> bool:
        """A backward pass runs in the counted steps."""
        names = self.op_names.matching(lambda name: name.startswith(_BACKWARD))
        return bool(names) and bool(self.ops(*names).size)

    @cached_property
    def backward_ops(self) -> I64:
        """The outermost ops of the backward pass."""
        return self.op_names.of(*self.op_names.matching(lambda name: name.startswith(_BACKWARD)))

    def in_backward(self, ops: I64) -> Bools:
        """Whether each op runs in the backward pass."""
        result: Bools = self.climb(ops, self.backward_ops) >= 0
        return result

    # Figures.

    def per_step(self, total: float) -> float:
        """A total over the counted steps as a figure of one step."""
        return total / self.steps

    def device_ns(self, activities: I64) -> float:
        """Device time of these counted activities a step."""
        return self.per_step(int(self.trace.activities.dur[activities].sum()))

    def cpu_ns(self, rows: I64) -> float:
        """CPU time of these counted rows a step."""
        return self.per_step(int(self.trace.rows.dur[rows].sum()))

    # Where things come from.

    def op_around(self, rows: I64) -> I64:
        """For each row of a runtime call, the innermost op around its start, or -1."""
        result = np.full(len(rows), NONE, np.int64)
        trace, columns = self.trace, self.trace.rows
        threads = columns.thread[rows]
        op_threads = columns.thread[trace.ops.row]
        for thread in np.unique(threads):
            chosen = np.flatnonzero(threads == thread)
            moments = np.sort(columns.ts[rows[chosen]])
            ops = np.flatnonzero(op_threads == thread)
            start, end = columns.ts[trace.ops.row[ops]], columns.end[trace.ops.row[ops]]
            # Only ops that hold one of the moments need sorting, and those are few.
            holds = np.searchsorted(moments, start) < np.searchsorted(moments, end)
            ops, start, end = ops[holds], start[holds], end[holds]
            woods = forest(np.zeros(len(ops), np.int32), start, end)
            found = woods.innermost(np.zeros(len(chosen), np.int32), columns.ts[rows[chosen]])
            if ops.size:
                result[chosen] = np.where(found >= 0, ops[np.maximum(found, 0)], NONE)
        return result

    @cached_property
    def _annotations(self) -> tuple[I64, Forest]:
        rows = self.trace.rows
        found = self.trace.rows_of(Category.ANNOTATION)
        found = found[(rows.fault[found] == TimeFault.NONE) & ~np.isin(found, self.trace.steps.row)]
        return found, forest(rows.thread[found], rows.ts[found], rows.end[found])

    def path(self, row: int, op: int) -> tuple[str, ...]:
        """Names of the annotations and ops around a row, outermost first; ``op`` is the innermost op around it."""
        trace, rows = self.trace, self.trace.rows
        around = [int(trace.ops.row[at]) for at in trace.op_path(op)] if op >= 0 else []
        annotations, woods = self._annotations
        if annotations.size:
            spot = int(woods.innermost(rows.thread[row : row + 1], rows.ts[row : row + 1])[0])
            parents = self._annotation_parents
            while spot >= 0:
                around.append(int(annotations[spot]))
                spot = int(parents[spot])
        around.sort(key=lambda at: (int(rows.ts[at]), -int(rows.dur[at]), at))
        return tuple(trace.name(at) for at in around if at != row)

    @cached_property
    def _annotation_parents(self) -> I64:
        return self._annotations[1].parents()

    # Evidence.

    def evidence_of_calls(self, rows: I64, ops: I64, limit: int = EVIDENCE) -> tuple[Evidence, ...]:
        """Runtime calls with the innermost op around each (-1: none): the first few of the first step with any."""
        return self._shown(rows, ops, rows, self.step_of(self.trace.rows.ts[rows]), limit)

    def evidence_of_ops(self, ops: I64, limit: int = EVIDENCE) -> tuple[Evidence, ...]:
        """Ops: the first few of the first step with any."""
        rows = self.trace.ops.row[ops].astype(np.int64)
        return self._shown(rows, self.trace.ops.parent[ops], rows, self.step_of(self.trace.rows.ts[rows]), limit)

    def evidence_of(self, activities: I64, limit: int = EVIDENCE) -> tuple[Evidence, ...]:
        """Activities, with what encloses their launches: the first few of the first step with any."""
        acts = self.trace.activities
        rows = acts.row[activities].astype(np.int64)
        return self._shown(rows, acts.owner[activities], acts.launch[activities], acts.step[activities], limit)

    def _shown(self, rows: I64, ops: I64, hosts: I64, step: I64, limit: int) -> tuple[Evidence, ...]:
        trace = self.trace
        spots = np.flatnonzero(step == step[:1])[:limit]
        return tuple(
            Evidence(
                event=int(trace.rows.index[rows[spot]]),
                name=trace.name(int(rows[spot])),
                path=self.path(int(hosts[spot]), int(ops[spot])) if hosts[spot] >= 0 else (),
                time_ns=int(trace.rows.dur[rows[spot]]),
            )
            for spot in spots
        )
