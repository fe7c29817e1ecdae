"""Ranges of the host that a rule looks at, and which of them each counted activity was launched in."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from foretrace.findings.spans import Spans

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.trace.raw import I64

__all__ = ["CountedRanges"]


@dataclass(frozen=True, eq=False)
class CountedRanges:
    """Ops or annotations in the counted steps, none inside another."""

    facts: Facts = field(repr=False)
    rows: I64
    """The row of each."""

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def spans(self) -> Spans:
        """When each ran."""
        rows = self.facts.trace.rows
        return Spans(rows.thread[self.rows], rows.ts[self.rows], rows.end[self.rows])

    @cached_property
    def of_activity(self) -> I64:
        """For each counted activity the position of the range it was launched in, or -1."""
        rows = self.facts.trace.rows
        launch = self.facts.trace.activities.launch[self.facts.counted]
        return self.spans.holding(rows.thread[launch], rows.ts[launch])
