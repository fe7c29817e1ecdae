"""Runtime calls in which the host waits for the device, and what made it wait."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.trace.kineto import SYNC_NAME, Category
from foretrace.trace.model import NONE

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.findings.name_index import Bools
    from foretrace.trace.raw import I64

__all__ = ["PAGEABLE_BYTES", "Waits", "waits"]

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


@dataclass(frozen=True)
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
        above = self.op[active]
        while active.size:
            result[active] = above
            why = says_why(above)
            found[active[why]] = above[why]
            above = parent[above]
            up = above >= 0
            active, above = active[up], above[up]
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
        pageable = names.matching(lambda name: "HtoD" in name and "Pageable" in name)
        result = np.zeros(len(self.rows), bool)
        held = np.flatnonzero(self.copy >= 0)
        result[held] = names.flags(pageable)(self.copy[held]) & (acts.bytes[self.copy[held]] >= PAGEABLE_BYTES)
        return result

    @cached_property
    def lost(self) -> I64:
        """For each wait, the idle time of the device that it caused, in nanoseconds.

        Without it the host would have gone on earlier by as much as it waited: it cost no more than that, and no more
        than the device idles after it.
        """
        return np.minimum(self.facts.trace.rows.dur[self.rows], np.maximum(0, self._idle_after))

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

    @cached_property
    def _idle_after(self) -> I64:
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


def waits(facts: Facts) -> Waits:
    """Find the waits of the counted steps."""
    names = facts.call_names.matching(lambda name: SYNC_NAME.match(name) is not None)
    rows = facts.calls(*names) if names else np.zeros(0, np.int64)
    return Waits(facts, rows, facts.op_around(rows) if rows.size else rows)
