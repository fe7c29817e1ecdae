"""Hold one sweep against another of the same device: do winners repeat, and what does following advice cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foretrace.capture.ties import tied
from foretrace.sweep.recommend import recommended

if TYPE_CHECKING:
    from foretrace.capture.recording import WallTime
    from foretrace.report.sweep_data import Sweep
    from foretrace.report.sweep_outcome import CaseOutcome

__all__ = ["Agreement", "Regret", "agreement", "regrets"]


@dataclass(frozen=True)
class Agreement:
    """Whether the winner, or the tie, of one sweep is that of another."""

    same: tuple[str, ...]
    """Cases with the same winner or tie."""
    overlapping: tuple[str, ...]
    """Cases where a tie lost or gained a variant, so that some winner is common."""
    different: tuple[str, ...]
    """Cases with no winner in common."""

    @property
    def share(self) -> float:
        """The share of the cases, of those that both have a winner for, that is the same."""
        cases = len(self.same) + len(self.overlapping) + len(self.different)
        return len(self.same) / cases if cases else 0.0


@dataclass(frozen=True)
class Regret:
    """What following the advice for one case costs."""

    case: str
    pin: str | None
    sure: str
    over_best: float
    """How much longer than the fastest the advised variant takes, as a share of the fastest."""
    over_default: float
    """The same against the default dispatch; below zero the advice saves time."""
    slower: bool
    """Slower than the default beyond the spread."""


def agreement(one: Sweep, other: Sweep) -> Agreement:
    """Compare the winners of the cases that are in both sweeps."""
    theirs = _outcomes(other)
    sorted_out: dict[str, list[str]] = {"same": [], "overlapping": [], "different": []}
    for case, outcome in _outcomes(one).items():
        again = theirs.get(case)
        if again is None or not outcome.winners or not again.winners:
            continue
        ours, others = set(outcome.winner_names), set(again.winner_names)
        word = "same" if ours == others else "overlapping" if ours & others else "different"
        sorted_out[word].append(case)
    return Agreement(**{word: tuple(cases) for word, cases in sorted_out.items()})


def regrets(advisor: Sweep, truth: Sweep) -> list[Regret]:
    """Follow the advice of one sweep at every case of another, where its time, the default's and the best are known."""
    found = []
    for outcome in _outcomes(truth).values():
        default, best = outcome.default, outcome.best
        if default is None or default.time_ns is None or best is None:
            continue
        advice = recommended(outcome.shape, advisor)
        taken = default.time_ns if advice.pin is None else _time(outcome, advice.pin)
        if taken is None:
            continue
        found.append(
            Regret(
                case=outcome.case,
                pin=advice.pin,
                sure=advice.sure,
                over_best=taken.median / best.median - 1,
                over_default=taken.median / default.time_ns.median - 1,
                slower=taken.median > default.time_ns.median and not tied(default.time_ns, taken),
            )
        )
    return found


def _outcomes(sweep: Sweep) -> dict[str, CaseOutcome]:
    """The cases by name, of the device that most of them are of."""
    return {outcome.case: outcome for device in sweep.devices[:1] for outcome in device.outcomes}


def _time(outcome: CaseOutcome, variant: str) -> WallTime | None:
    return next((row.time_ns for row in outcome.rows if row.variant == variant), None)
