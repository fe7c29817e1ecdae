"""A trace with its counted steps indexed: names, who is above whom, figures of a step, evidence.

*Counted* is what lies in the steps that per-step figures are over; where the file has no steps, all of it is counted as
one window, unlinked activity apart.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.operators import cpu_self_times
from foretrace.analysis.timeline import Timeline, timeline
from foretrace.findings.amounts import times
from foretrace.findings.name_index import NameIndex
from foretrace.findings.rule import Evidence
from foretrace.trace.distinct import distinct
from foretrace.trace.kineto import Category
from foretrace.trace.model import NONE, TimeFault
from foretrace.trace.nesting import Forest, forest
from foretrace.units import count_text, time_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretrace.findings.name_index import Bools
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I32, I64

__all__ = ["EVIDENCE", "CountedTrace"]

EVIDENCE: Final = 8
"""Events a finding shows: the first of one step; the count says how many there are."""

_WORTH_NS: Final = 1_000
_WORTH_SHARE: Final = 0.001
_IN_PATHS: Final = frozenset((int(Category.CPU_OP), int(Category.ANNOTATION)))
_BACKWARD: Final = "autograd::engine::evaluate_function"


class CountedTrace:
    """A trace and what is counted of it."""

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

    def rows_named(self, wanted: Callable[[str], bool]) -> I64:
        """Rows of annotations and ops whose name is wanted; each distinct name is asked once."""
        trace = self.trace
        rows = trace.rows_of(Category.ANNOTATION, Category.CPU_OP)
        names = trace.rows.name[rows]
        flag = np.zeros(len(trace.strings), bool)
        for number in distinct(names).tolist():
            flag[number] = wanted(trace.strings[number])
        return rows[flag[names]]

    def ops(self, *names: str) -> I64:
        """Counted ops with one of these names."""
        return self.counted_ops(self.op_names.of(*names))

    def op_text(self, op: int) -> str:
        """The name of an op."""
        return self.op_names.strings[int(self.op_names.code[op])]

    def by_signature(self, ops: I64) -> tuple[I64, I64]:
        """(one op of each signature, for each op the position of its signature): name, shapes and types are equal."""
        columns = self.trace.ops
        if not ops.size:
            return ops, ops
        key = self.op_names.code[ops].astype(np.int64)
        for column in (columns.dims[ops], columns.types[ops]):
            _, number = np.unique(column, return_inverse=True)
            key = key * (int(number.max()) + 1) + number.reshape(-1)
        _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
        return ops[first], inverse.reshape(-1)

    # Nesting.

    def climb(self, ops: I64, holders: I64) -> I64:
        """For each op, the innermost of ``holders`` that it is or lies under; -1 for none."""
        held = np.zeros(len(self.trace.ops), bool)
        held[holders[holders >= 0]] = True
        return self.trace.op_nesting.climb(ops, held)

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

    @cached_property
    def backward_of(self) -> I64:
        """For each counted activity that backward launched, the forward op whose backward it is; else -1."""
        forward = self.trace.ops.forward
        tied = np.flatnonzero(forward >= 0)
        if not tied.size:
            return np.full(len(self.counted), NONE, np.int64)
        held = self.under(tied)
        result: I64 = np.where(held >= 0, forward[held], NONE)
        return result

    # Figures.

    @property
    def per(self) -> str:
        """``a step``, or ``in the file`` where there are no steps: what counts are of."""
        return "a step" if self.has_steps else "in the file"

    @cached_property
    def step_device_ns(self) -> float:
        """Device time of all counted activity a step."""
        return self.device_ns(self.counted)

    def worth(self, device_ns: float) -> bool:
        """Whether a device time a step is worth a word: a thousandth of the step, and a microsecond."""
        return device_ns >= max(_WORTH_NS, _WORTH_SHARE * self.step_device_ns)

    def per_step(self, total: float) -> float:
        """A total over the counted steps as a figure of one step."""
        return total / self.steps

    def each(self, total: int, what: str, several: str | None = None, *, said: bool = False) -> str:
        """``5 copies a step``; where steps have no whole number of them ``34 copies in 6 steps``.

        ``said``: that a whole number is of a step stands in the sentence already.
        """
        if total % self.steps:
            return f"{count_text(total, what, several)} in {self.steps} steps"
        text = count_text(total // self.steps, what, several)
        return text if said else f"{text} {self.per}"

    def number_each(self, total: int) -> str:
        """``5 a step``, ``34 in 6 steps``, ``2 in the file``."""
        if total % self.steps:
            return f"{total:,} in {self.steps} steps"
        return f"{total // self.steps:,} {self.per}"

    def times_each(self, total: int) -> str:
        """``once a step``, ``twice in the file``, ``34 times in 6 steps``."""
        if total % self.steps == 0:
            return f"{times(total // self.steps)} {self.per}"
        return f"{times(total)} in {self.steps} steps"

    def device_ns(self, activities: I64) -> float:
        """Device time of these counted activities a step."""
        return self.per_step(int(self.trace.activities.dur[activities].sum()))

    def backward_text(self, activities: I64) -> str:
        """A sentence on what the backward of the calls that a text is about takes; empty where there is none."""
        if not activities.size:
            return ""
        number = count_text(round(self.per_step(len(activities))), "kernel or copy", "kernels and copies")
        return f" The backward of these calls is {number} more {self.per}, {time_text(self.device_ns(activities))}."

    def cpu_ns(self, rows: I64) -> float:
        """CPU time of these counted rows a step."""
        return self.per_step(int(self.trace.rows.dur[rows].sum()))

    # Where things come from.

    def host_parents(self, rows: I64) -> I64:
        """For each row, the row of the op, annotation, step or runtime call around it on its thread, or -1."""
        woods = self.trace.host_forest
        place = self.trace.host_place[rows]
        above = np.where(place >= 0, woods.parent[place], NONE) if len(woods.parent) else place
        return np.where(above >= 0, self.trace.host_order[above], NONE) if len(woods.parent) else above

    @cached_property
    def op_at(self) -> I64:
        """For each row, its position in ``ops``, or -1."""
        result = np.full(len(self.trace.rows), NONE, np.int64)
        result[self.trace.ops.row] = np.arange(len(self.trace.ops))
        return result

    def op_around(self, rows: I64) -> I64:
        """For each row of a runtime call, the innermost op around it, or -1."""
        trace, woods = self.trace, self.trace.host_forest

        def op_of(place: I64) -> I64:
            return self.op_at[trace.host_order[place]]

        above = self.host_parents(rows)
        held = np.flatnonzero(above >= 0)
        place = woods.climb_from(self.trace.host_place[above[held]], lambda at: op_of(at) >= 0)
        result = np.full(len(rows), NONE, np.int64)
        result[held[place >= 0]] = op_of(place[place >= 0])
        return result

    def annotation_names(self, rows: I64) -> I64:
        """For each row of the host, the name of the innermost annotation around it that is no step, or -1."""
        trace, woods = self.trace, self.trace.host_forest
        wanted = np.zeros(len(trace.rows), bool)
        wanted[trace.rows_of(Category.ANNOTATION)] = True
        wanted[trace.steps.row] = False
        held = np.flatnonzero(trace.host_place[rows] >= 0)
        place = woods.climb_from(trace.host_place[rows[held]], lambda at: wanted[trace.host_order[at]])
        result = np.full(len(rows), NONE, np.int64)
        result[held[place >= 0]] = trace.rows.name[trace.host_order[place[place >= 0]]]
        return result

    def path(self, row: int) -> tuple[str, ...]:
        """Names of the annotations and ops around a row, outermost first."""
        trace, woods, found = self.trace, self.trace.host_forest, []
        place = int(self.trace.host_place[row])
        first = place = int(woods.parent[place]) if place >= 0 else NONE
        if first in self._paths:
            return self._paths[first]
        while place >= 0:
            above = int(trace.host_order[place])
            if int(trace.rows.category[above]) in _IN_PATHS and above not in self._step_rows:
                found.append(trace.name(above))
            place = int(woods.parent[place])
        return self._paths.setdefault(first, tuple(reversed(found)))

    @cached_property
    def _paths(self) -> dict[int, tuple[str, ...]]:
        """The paths that were asked for, by the innermost range."""
        return {}

    @cached_property
    def _step_rows(self) -> frozenset[int]:
        return frozenset(self.trace.steps.row.tolist())

    @cached_property
    def _cpu_self(self) -> I64:
        return cpu_self_times(self.trace)

    def cpu_self_of(self, ops: I64) -> I64:
        """CPU time of each of these ops, less the ops, annotations and runtime calls directly inside it."""
        return self._cpu_self[ops]

    # Evidence.

    def evidence_of_rows(self, rows: I64, limit: int = EVIDENCE) -> tuple[Evidence, ...]:
        """Host events: the first few of the first step with any."""
        return self._shown(rows, rows, self.step_of(self.trace.rows.ts[rows]), limit)

    def evidence_of_ops(self, ops: I64, limit: int = EVIDENCE) -> tuple[Evidence, ...]:
        """Ops: the first few of the first step with any."""
        return self.evidence_of_rows(self.trace.ops.row[ops].astype(np.int64), limit)

    def evidence_of(self, activities: I64, limit: int = EVIDENCE) -> tuple[Evidence, ...]:
        """Activities, with what encloses their launches: the first few of the first step with any."""
        acts = self.trace.activities
        rows = acts.row[activities].astype(np.int64)
        return self._shown(rows, acts.launch[activities], acts.step[activities], limit)

    def _shown(self, rows: I64, hosts: I64, step: I64, limit: int) -> tuple[Evidence, ...]:
        trace = self.trace
        spots = np.flatnonzero(step == step[:1])[:limit]
        return tuple(
            Evidence(
                event=int(trace.rows.index[rows[spot]]),
                name=trace.name(int(rows[spot])),
                path=self.path(int(hosts[spot])) if hosts[spot] >= 0 else (),
                time_ns=int(trace.rows.dur[rows[spot]]),
            )
            for spot in spots
        )
