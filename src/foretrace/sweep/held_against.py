"""Hold one sweep against another of the same device: do winners repeat, and what does following advice cost."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import msgspec

from foretrace.capture.ties import YARDSTICK, tied
from foretrace.report.sweep_data import Sweep
from foretrace.sweep.recommend import recommended

if TYPE_CHECKING:
    from foretrace.capture.sweep_row import SweepRow
    from foretrace.report.recommendation import Recommendation
    from foretrace.report.sweep_outcome import CaseOutcome

__all__ = ["Agreement", "Regret", "agreement", "left_out_regrets", "regrets", "with_default"]


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
    found = (_regret(outcome, recommended(outcome.shape, advisor)) for outcome in _outcomes(truth).values())
    return [regret for regret in found if regret is not None]


def left_out_regrets(sweep: Sweep) -> list[Regret]:
    """Follow, at every case of a sweep, the advice of all its other cases."""
    found = []
    for case, outcome in _outcomes(sweep).items():
        others = Sweep(rows=tuple(row for row in sweep.rows if row.case != case), place=sweep.place)
        found.append(_regret(outcome, recommended(outcome.shape, others)) if others.rows else None)
    return [regret for regret in found if regret is not None]


def with_default(sweep: Sweep, backend: str) -> Sweep:
    """The sweep as it would be if PyTorch picked this backend everywhere, which releases with another order do.

    The device gets no name and no release, so that no rule of dispatch speaks against it; cases without a time of the
    backend lose their default.
    """
    rows: list[SweepRow] = []
    for device in sweep.devices[:1]:
        about = None if device.device is None else msgspec.structs.replace(device.device, name="", torch=None)
        for outcome in device.outcomes:
            for row in outcome.rows:
                if row.variant == YARDSTICK:
                    continue
                moved = msgspec.structs.replace(row, device=about)
                rows.append(moved)
                if row.variant == backend and row.time_ns is not None:
                    rows.append(msgspec.structs.replace(moved, variant=YARDSTICK))
    return Sweep(rows=tuple(rows), place=sweep.place)


def _regret(outcome: CaseOutcome, advice: Recommendation) -> Regret | None:
    default, best = outcome.default, outcome.best
    taken = default if advice.pin is None else next((row for row in outcome.rows if row.variant == advice.pin), None)
    if default is None or default.time_ns is None or best is None or taken is None:
        return None
    if taken.time_ns is None:  # refused, or it failed: following the advice raises
        return Regret(outcome.case, advice.pin, advice.sure, inf, inf, slower=True)
    return Regret(
        case=outcome.case,
        pin=advice.pin,
        sure=advice.sure,
        over_best=taken.time_ns.median / best.median - 1,
        over_default=taken.time_ns.median / default.time_ns.median - 1,
        slower=taken.time_ns.median > default.time_ns.median and not tied(default.time_ns, taken.time_ns),
    )


def _outcomes(sweep: Sweep) -> dict[str, CaseOutcome]:
    """The cases by name, of the device that most of them are of."""
    return {outcome.case: outcome for device in sweep.devices[:1] for outcome in device.outcomes}
