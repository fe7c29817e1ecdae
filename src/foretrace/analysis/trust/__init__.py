"""The trust header: what can and cannot be believed in a file, one line each. Empty means clean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.analysis.trust import clocks, contents, links
from foretrace.analysis.trust.doubt import Doubt

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretrace.analysis.timeline import Timeline
    from foretrace.trace.model import Trace

__all__ = ["Doubt", "doubts"]

# In the order a reader should meet them: what the file is, what is missing, what skews numbers, what to know.
_CHECKS: Final[tuple[Callable[[Trace, Timeline], Doubt | None], ...]] = (
    contents.no_events,
    contents.old_autograd,
    contents.no_device_activity,
    links.unlinked_activity,
    links.missing_activity,
    contents.cold_step,
    contents.profiler_overhead,
    clocks.absurd_times,
    clocks.zero_times,
    clocks.overrun,
    clocks.stream_overlap,
    clocks.clock_skew,
    clocks.whole_microseconds,
    links.graph_replay,
    links.outside_steps,
    contents.no_steps,
    clocks.crossing_ranges,
    links.external_ids,
)


def doubts(trace: Trace, steps: Timeline) -> list[Doubt]:
    """All that applies to this file; what was repaired comes first."""
    repaired = [
        Doubt(
            repair.code,
            repair.count,
            0,
            f"{repair.text} First at byte {repair.byte:,}, line {repair.line:,}.",
        )
        for repair in trace.repairs
    ]
    found = (check(trace, steps) for check in _CHECKS)
    return repaired + [doubt for doubt in found if doubt is not None]
