"""What is at stake where the wall time without the profiler is known: the profiler's own cost is no loss.

A traced step holds what recording costs the host, so the device idles longer in it than it does otherwise. Where the
same work was timed beside the trace, no more idle time can be won than that time less the device's busy time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from foretrace.analysis.timeline import CPU_BOUND
from foretrace.findings.rules.cpu_bound import RULE as HOST_BOUND
from foretrace.findings.rules.cpu_bound import title
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foretrace.findings.rule import Finding

__all__ = ["within_wall"]

_HOST_TIME: Final = frozenset({"FT112", "FT201", "FT203", "FT207", "FT209", "FT210", "FT401"})
"""Rules whose stake is time in which the device waits for the host."""
_FOLLOWERS: Final = frozenset({"FT202"})
"""Rules whose stake is that only where they follow from the host's bound; the device's time otherwise."""
# Less idle time than this is within what two measurements of the same work differ by.
_LEAST_SHARE: Final = 0.05


def within_wall(findings: Iterable[Finding], wall_ns: float, busy_ns: float) -> tuple[Finding, ...]:
    """The findings with no more idle time at stake than the call has without the profiler, in their order of stake.

    Those about idle time go where there is next to none, and the one that says that the host bounds the step where it
    does not. What followed from a finding that goes stands on its own.

    Args:
        findings: what the rules say of the trace of a call; notes pass as they are.
        wall_ns: how long the call takes without the profiler.
        busy_ns: how long the device is busy in it.
    """
    most = max(0.0, wall_ns - busy_ns)
    kept = [_capped(finding, wall_ns, busy_ns, round(most)) for finding in findings if _is_left(finding, wall_ns, most)]
    codes = {finding.code for finding in kept}
    kept = [item if item.because in codes else replace(item, because=None) for item in kept]
    return tuple(sorted(kept, key=lambda item: (item.severity == "note", -item.at_stake_ns, item.code)))


def _of_host_time(finding: Finding) -> bool:
    return finding.code in _HOST_TIME or (finding.code in _FOLLOWERS and finding.because == HOST_BOUND.code)


def _is_left(finding: Finding, wall_ns: float, most: float) -> bool:
    if finding.severity == "note" or not finding.at_stake_ns or not _of_host_time(finding):
        return True
    if finding.code == HOST_BOUND.code:
        return most >= (1 - CPU_BOUND) * wall_ns
    return most >= _LEAST_SHARE * wall_ns


def _capped(finding: Finding, wall_ns: float, busy_ns: float, most: int) -> Finding:
    if not _of_host_time(finding) or finding.at_stake_ns <= most:
        return finding
    said = (
        f"{finding.text} Without the profiler a call takes {time_text(wall_ns)}, and the device is busy for "
        f"{time_text(busy_ns)} of it: no more than the rest is at stake."
    )
    named = title(busy_ns, wall_ns) if finding.code == HOST_BOUND.code else finding.title
    return replace(finding, title=named, text=said, at_stake_ns=most)
