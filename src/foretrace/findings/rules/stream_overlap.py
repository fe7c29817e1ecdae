"""Activities overlap on one stream, and viewers hide the later ones.

## What it looks for

Activities of one stream that begin before the one before them has ended, by more than a few hundredths of a
microsecond.

## Why it matters

Programmatic dependent launch and graph branches do this on purpose: the next kernel starts while the last blocks of
the one before run. Trace viewers draw one box at a time on a row and drop the later one, so a kernel seems never to
have run; sums of durations are longer than the time that passed.

## How to confirm it

foretrace counts every activity, and gives device time (the sum) and busy time (each moment once) apart.

## What usually helps

Nothing, where it was meant. `foretrace open TRACE --repair-lanes` draws overlapping boxes on rows of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.intervals import overlaps
from foretrace.findings.facts import facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.units import count_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code="FT403", name="stream-overlap", needs=Needs.DEVICE, since="0.1", note=True)

# The clock's own step on the device; touching boxes are no overlap.
_LEAST_NS: Final = 64


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one note over all streams."""
    facts = facts_of(trace)
    acts = trace.activities
    found, total, streams = [], 0, 0
    for stream in acts.streams:
        late, length = overlaps(acts.ts[stream], acts.end[stream])
        wide = length > _LEAST_NS
        if wide.any():
            found.append(stream[late[wide]])
            total += int(length[wide].sum())
            streams += 1
    if not found:
        return
    late_ones = np.sort(np.concatenate(found))
    linked = late_ones[acts.linked[late_ones]]
    shown = linked if linked.size else late_ones
    yield RULE.finding(
        f"{count_text(len(late_ones), 'activity', 'activities')} on {count_text(streams, 'stream')} hidden by viewers",
        count=facts.per_step(len(late_ones)),
        at_stake_ns=0,
        confidence=Confidence.CERTAIN,
        evidence=facts.evidence_of(shown),
        text=(
            f"They begin before the one before them on their stream has ended, {time_text(total)} in all. A viewer "
            "draws one box at a time on a row and drops them; all counts and times here include them."
        ),
    )
