"""Runtime calls in which the host waits for the device, and what made it wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.copies import direction
from foretrace.analysis.intervals import gaps
from foretrace.findings.idle_gaps import SHORTEST_GAP_NS, held_back
from foretrace.trace.kineto import SYNC_NAME, Category
from foretrace.trace.model import NONE
from foretrace.trace.preorder import LEVEL

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.findings.name_index import Bools
    from foretrace.trace.raw import I64

__all__ = ["PAGEABLE_BYTES", "Waits", "may_be_pageable", "waits"]

# The driver stages smaller copies and returns at once: what is pageable about them does not matter.
PAGEABLE_BYTES: Final = 64 * 1024
# Ops that say why the host needs the device's data, outermost first.
CAUSES: Final = (
    "aten::item",
    "aten::is_nonzero",
    "aten::nonzero",
    "aten::unique",
    "aten::_unique2",
    "aten::unique_consecutive",
    "aten::masked_select",
    "aten::equal",
    "aten::allclose",
    "aten::repeat_interleave",
    "aten::_local_scalar_dense",
    "aten::index",
    "aten::index_put_",
    "aten::to",
    "aten::copy_",
)


@dataclass(frozen=True, eq=False)
class Waits:
    """The counted waits."""

    facts: Facts = field(repr=False)
    rows: I64
    op: I64
    """The innermost op around each, or -1."""

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def cause(self) -> I64:
        """For each wait, the outermost op around it that says why, else the outermost op; -1 outside every op."""
        facts = self.facts
        says_why = facts.op_names.flags(CAUSES)
        parent = facts.trace.ops.parent
        result, found = self.op.copy(), np.full(len(self.op), NONE, np.int64)
        active = np.flatnonzero(self.op >= 0)
        above, spent = self.op[active], 0
        while active.size and spent < len(parent):
            spent += len(active) + LEVEL
            result[active] = above
            why = says_why(above)
            found[active[why]] = above[why]
            above = parent[above]
            up = above >= 0
            active, above = active[up], above[up]
        if active.size:
            nesting = facts.trace.op_nesting
            outer = nesting.climb_out(above, says_why(np.arange(len(parent))))
            found[active] = np.where(outer >= 0, outer, found[active])
            result[active] = nesting.climb(above, parent < 0)
        return np.where(found >= 0, found, result)

    @cached_property
    def copy(self) -> I64:
        """For each wait, the memcpy that it waits for under the same op (a position in activities), or -1."""
        facts, acts = self.facts, self.facts.trace.activities
        copies = facts.counted[acts.category[facts.counted] == Category.MEMCPY]
        by_op = np.full(len(facts.trace.ops) + 1, NONE, np.int64)
        owned = copies[acts.owner[copies] >= 0]
        by_op[acts.owner[owned]] = owned
        return by_op[self.op]

    @cached_property
    def is_pageable_upload(self) -> Bools:
        """Which of them wait for a large copy from pageable memory: another rule's matter."""
        acts, names = self.facts.trace.activities, self.facts.activity_names
        pageable = names.matching(may_be_pageable)
        result = np.zeros(len(self.rows), bool)
        held = np.flatnonzero(self.copy >= 0)
        result[held] = names.flags(pageable)(self.copy[held]) & (acts.bytes[self.copy[held]] >= PAGEABLE_BYTES)
        return result

    @cached_property
    def in_program(self) -> I64:
        """Positions, here, of the waits that the program asks for, those for large pageable uploads apart.

        What an op in a step waits for counts at the step's end too; what ends a recording is no part of the program.
        """
        counts = self.is_between | ((self.op >= 0) & self.facts.has_steps)
        return np.flatnonzero(~self.is_pageable_upload & counts)

    @cached_property
    def lost(self) -> I64:
        """For each wait, the most idle time of the device that it can have caused, in nanoseconds; an estimate.

        Without it the host would have gone on earlier by as much as it waited: it cost no more than that, and no more
        than the device idles in it and after it. Of a wait that nothing follows, what is known is what lies in it.
        """
        lost: I64 = np.minimum(self.facts.trace.rows.dur[self.rows], self.idle_inside + self.idle_after)
        return lost

    def lost_a_step(self, spots: I64) -> float:
        """What these waits lost in a step: the mean of those that something follows stands for the others too."""
        if not len(spots):
            return 0.0
        return float(self.lost[self.measured(spots)].mean()) * len(spots) / self.facts.steps

    def measured(self, spots: I64) -> I64:
        """Of these waits, those that device work follows; all of them where none has any."""
        known = spots[self.is_followed[spots]]
        return known if known.size else spots

    @cached_property
    def is_between(self) -> Bools:
        """Which of them have device work before and after them: the others begin or end the recording."""
        acts = self.facts.trace.activities
        timed = np.flatnonzero(acts.timed)
        if not timed.size:
            return np.zeros(len(self.rows), bool)
        first, last = int(acts.ts[timed].min()), int(acts.ts[timed].max())
        rows = self.facts.trace.rows
        held: Bools = (rows.end[self.rows] > first) & (rows.end[self.rows] <= last)
        return held

    def holds_idle(self, spots: I64) -> bool:
        """The device idles for most of these waits: it is the call itself that takes long."""
        return bool(2 * self.idle_inside[spots].sum() > self.facts.trace.rows.dur[self.rows[spots]].sum())

    @cached_property
    def is_followed(self) -> Bools:
        """After which of them device work begins: what the device idles after the others is not in the file."""
        acts = self.facts.trace.activities
        timed = np.flatnonzero(acts.timed)
        last = int(acts.ts[timed].max()) if timed.size else -1
        held: Bools = self.facts.trace.rows.end[self.rows] <= last
        return held

    @cached_property
    def idle_inside(self) -> I64:
        """For each wait, how long the device idles during it: the host then waits for something else than its work.

        Gaps that are the device's own, between one activity and the next, are left out, and so is the end of a gap in
        which the next activity was launched already: the host waits for what holds that back.
        """
        rows, acts = self.facts.trace.rows, self.facts.trace.activities
        timed = np.flatnonzero(acts.timed)
        low, high = gaps(acts.ts[timed], acts.end[timed])
        long = high - low >= SHORTEST_GAP_NS
        low, high = low[long], high[long]
        first = timed[np.argsort(acts.ts[timed], kind="stable")]
        following = first[np.searchsorted(acts.ts[first], high)]
        high = high - held_back(self.facts, low, high, following)
        total = np.concatenate(([0], np.cumsum(high - low)))

        def idle_before(time: I64) -> I64:
            at = np.searchsorted(low, time, side="right")
            latest = np.maximum(at - 1, 0)
            over = np.maximum(0, high[latest] - time) if len(high) else np.zeros(len(time), np.int64)
            before: I64 = total[at] - np.where(at > 0, over, 0)
            return before

        idle: I64 = idle_before(rows.end[self.rows]) - idle_before(rows.ts[self.rows])
        result: I64 = np.where(idle >= SHORTEST_GAP_NS, idle, 0)
        return result

    @cached_property
    def idle_after(self) -> I64:
        """For each wait, how long the device idles after it until the next activity begins."""
        trace = self.facts.trace
        acts = trace.activities
        timed = np.flatnonzero(acts.timed)
        # Files are nearly in order, and a stable sort is quick then.
        starts = np.sort(acts.ts[timed], kind="stable")
        reach = np.sort(acts.end[timed], kind="stable")
        end = trace.rows.end[self.rows]
        at = np.searchsorted(starts, end, side="left")
        following = np.where(at < len(starts), starts[np.minimum(at, len(starts) - 1)], end)
        # Nothing may still run: everything that began before has ended.
        running = np.searchsorted(starts, end, side="left") > np.searchsorted(reach, end, side="right")
        return np.where(running, 0, np.maximum(0, following - end))


def may_be_pageable(name: str) -> bool:
    """Whether a memcpy of this name is from pageable memory, if the host waits for it: AMD's names do not say."""
    return direction(name) == "HtoD" and "Pinned" not in name


def waits(facts: Facts) -> Waits:
    """Find the waits of the counted steps."""
    names = facts.call_names.matching(lambda name: SYNC_NAME.match(name) is not None)
    rows = facts.calls(*names) if names else np.zeros(0, np.int64)
    return Waits(facts, rows, facts.op_around(rows) if rows.size else rows)
