"""Communication between devices: what of it the device's own work hides, and what that work pays for it.

A kernel is communication by what its name says, over all the forms that collectives have had (`ncclKernel_...`,
`ncclDevKernel_...`, RCCL's, symmetric memory). Its time is time in the kernel: it includes the wait for other ranks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.intervals import union, union_length
from foretrace.trace.distinct import distinct

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.findings.name_index import Bools
    from foretrace.trace.raw import I64

__all__ = ["Communication", "communication"]

_ROLE: Final = "communication"


@dataclass(frozen=True, eq=False)
class Communication:
    """Counted activities, apart."""

    facts: Facts = field(repr=False)
    collectives: I64
    compute: I64

    def __len__(self) -> int:
        return len(self.collectives)

    @cached_property
    def exposed_ns(self) -> int:
        """Time in which collectives run and nothing else does, over all devices."""
        return self.busy_ns - self.overlapped_ns

    @cached_property
    def busy_ns(self) -> int:
        """Time in which collectives run, each moment of a device once."""
        acts = self.facts.trace.activities
        return sum(
            union_length(acts.ts[some], acts.end[some])
            for some in (self._on(self.collectives, device) for device in self._devices)
        )

    @cached_property
    def overlapped_ns(self) -> int:
        """Time in which collectives and other work run at once."""
        acts = self.facts.trace.activities
        total = 0
        for device in self._devices:
            some, other = self._on(self.collectives, device), self._on(self.compute, device)
            both = np.concatenate((some, other))
            apart = union_length(acts.ts[some], acts.end[some]) + union_length(acts.ts[other], acts.end[other])
            total += apart - union_length(acts.ts[both], acts.end[both])
        return total

    @cached_property
    def exposed(self) -> I64:
        """For each collective the time in which no other work runs on its device, in nanoseconds."""
        acts = self.facts.trace.activities
        result: I64 = acts.dur[self.collectives].astype(np.int64)
        for device in self._devices:
            other = self._on(self.compute, device)
            low, high = union(acts.ts[other], acts.end[other])
            mine = np.flatnonzero(acts.device[self.collectives] == device)
            begin, end = acts.ts[self.collectives[mine]], acts.end[self.collectives[mine]]
            if len(low):
                result[mine] -= _covered(low, high, end) - _covered(low, high, begin)
        return result

    def _on(self, some: I64, device: int) -> I64:
        mine: I64 = some[self.facts.trace.activities.device[some] == device]
        return mine

    @cached_property
    def _devices(self) -> list[int]:
        return [int(number) for number in distinct(self.facts.trace.activities.device[self.collectives])]

    @cached_property
    def touched(self) -> Bools:
        """Which of ``compute`` run while a collective runs on their device, for at least half of their time."""
        acts = self.facts.trace.activities
        result = np.zeros(len(self.compute), bool)
        for device in self._devices:
            low, high = union(*self._intervals(device))
            mine = np.flatnonzero(acts.device[self.compute] == device)
            begin, end = acts.ts[self.compute[mine]], acts.end[self.compute[mine]]
            covered = _covered(low, high, end) - _covered(low, high, begin)
            result[mine] = (covered > 0) & (2 * covered >= end - begin)
        return result

    @cached_property
    def apart(self) -> Bools:
        """Which of ``compute`` run while no collective does."""
        acts = self.facts.trace.activities
        result = np.ones(len(self.compute), bool)
        for device in self._devices:
            low, high = union(*self._intervals(device))
            mine = np.flatnonzero(acts.device[self.compute] == device)
            begin, end = acts.ts[self.compute[mine]], acts.end[self.compute[mine]]
            result[mine] = _covered(low, high, end) == _covered(low, high, begin)
        return result

    def _intervals(self, device: int) -> tuple[I64, I64]:
        some = self._on(self.collectives, device)
        return self.facts.trace.activities.ts[some], self.facts.trace.activities.end[some]


def _covered(low: I64, high: I64, time: I64) -> I64:
    """How much of the disjoint intervals lies before each moment."""
    before = np.concatenate(([0], np.cumsum(high - low)))
    at = np.searchsorted(low, time, side="right")
    inner = np.maximum(at - 1, 0)
    return before[at] - np.where(at > 0, np.maximum(0, high[inner] - time), 0)


def communication(facts: Facts) -> Communication:
    """Tell them apart."""
    collectives = facts.activities_where(lambda said: said.role == _ROLE)
    compute = facts.activities_where(lambda said: said.role != _ROLE) if collectives.size else collectives
    return Communication(facts, collectives, compute)
