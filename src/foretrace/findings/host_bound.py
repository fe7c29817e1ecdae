"""The device waits for the host more than half of the time: whether it does, what for, and what follows from that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.findings.idle_causes import Filler

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts

__all__ = [
    "FOLLOWS_LAUNCHES",
    "follows_launches",
    "graph_share",
    "graph_word",
    "is_amd",
    "is_host_bound",
    "waits_idle_ns",
]

FOLLOWS_LAUNCHES: Final = "FT201"
"""The finding that the host bounds the step: what makes its launches dear or many follows from it."""
_WAITS: Final = "FT203"
_OF_LAUNCHES: Final = (Filler.LAUNCHES, Filler.COMPILED)
# A window with fewer launches shows nothing but its own edges.
_FEWEST: Final = 10
# Waits with this share of the idle time are what the device waits for; the rest comes with any step.
_MAIN_SHARE: Final = 0.5


def is_host_bound(facts: Facts) -> bool:
    """Whether the device waits for the host most of a step (or window): it is idle, and nothing is queued for it."""
    figures = facts.timeline.per_step
    if figures.bound != "cpu" or figures.period_ns is None or not facts.counted.size or not figures.busy_ns.median:
        return False
    if figures.period_of == "window" and facts.launches < _FEWEST:
        return False
    return facts.idle_cause.filler is not Filler.HELD_BACK


def waits_idle_ns(facts: Facts) -> float | None:
    """Idle time a step that waits inside the program account for, where that is most of it; else None."""
    figures = facts.timeline.per_step
    lost = facts.waits.lost_a_step(facts.waits.in_program) if len(facts.waits) else 0.0
    idle = (figures.period_ns or 0) - figures.busy_ns.median
    return lost if lost and lost >= _MAIN_SHARE * idle else None


def follows_launches(facts: Facts) -> str | None:
    """What a finding about launches follows from: that the host bounds the step, where launches are why it does."""
    if not is_host_bound(facts) or waits_idle_ns(facts) is not None:
        return None
    return FOLLOWS_LAUNCHES if facts.idle_cause.filler in _OF_LAUNCHES else None


def is_amd(facts: Facts) -> bool:
    """Whether the calls are HIP's."""
    return bool(facts.call_names.matching(lambda name: name.startswith("hip")))


def graph_word(facts: Facts) -> str:
    """What a graph is called on this device."""
    return "HIP graph" if is_amd(facts) else "CUDA graph"


def graph_share(facts: Facts) -> float:
    """Share of the counted device time that graph replays launched."""
    graph = facts.counted[facts.trace.activities.graph[facts.counted]]
    return facts.device_ns(graph) / max(1.0, facts.step_device_ns)
