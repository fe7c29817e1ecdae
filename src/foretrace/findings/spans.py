"""Stretches of time on threads, none of them inside another: which one holds a moment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from foretrace.trace.distinct import distinct
from foretrace.trace.model import NONE

if TYPE_CHECKING:
    from foretrace.trace.raw import I32, I64

__all__ = ["Spans"]


@dataclass(frozen=True, eq=False)
class Spans:
    """Half-open stretches [begin, end) on threads."""

    thread: I32
    begin: I64
    end: I64

    def holding(self, thread: I32, time: I64) -> I64:
        """For each (thread, moment) the position of the span around it, or -1."""
        result = np.full(len(time), NONE, np.int64)
        for number in distinct(self.thread):
            spans = np.flatnonzero(self.thread == number)
            spans = spans[np.argsort(self.begin[spans], kind="stable")]
            chosen = np.flatnonzero(thread == number)
            moments = time[chosen]
            at = np.searchsorted(self.begin[spans], moments, side="right") - 1
            inside = (at >= 0) & (moments < self.end[spans[np.maximum(at, 0)]])
            result[chosen[inside]] = spans[at[inside]]
        return result

    def __len__(self) -> int:
        return len(self.begin)
