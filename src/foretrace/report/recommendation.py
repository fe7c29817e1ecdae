"""The content of `foretrace recommend`: what to run at a shape, on what evidence, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from foretrace._version import __version__
from foretrace.capture.recording import DeviceInfo
from foretrace.report.data import SCHEMA
from foretrace.report.pin_code import pin_code

if TYPE_CHECKING:
    from foretrace.capture.recording import ShapeInfo
    from foretrace.report.sweep_outcome import CaseOutcome

__all__ = ["Alternative", "Evidence", "Recommendation", "Sureness"]

Sureness = Literal["measured", "sure", "likely", "unsure", "unknown"]

_BY_HOST: Final = 1.0  # above this many times the device's time, a loop of calls waits for the host


@dataclass(frozen=True)
class Alternative:
    """A variant as it compares with the default dispatch at the shape."""

    variant: str
    gain: float
    """The share of the default's time that it saves; below zero it is slower."""
    give_or_take: float
    """The same, up or down: the spread where it was measured, else one standard deviation of the estimate."""

    def to_json(self) -> dict[str, Any]:
        """Plain values with stable keys."""
        return dict(vars(self))


@dataclass(frozen=True)
class Evidence:
    """A measured case that says something about the shape."""

    distance: float
    """In doublings of a size; 0 is the shape itself."""
    outcome: CaseOutcome

    def to_json(self) -> dict[str, Any]:
        """Plain values with stable keys."""
        outcome = self.outcome
        return {
            "case": outcome.case,
            "distance": self.distance,
            "winners": list(outcome.winner_names),
            "time_ns": None if outcome.best is None else outcome.best.median,
            "default_backend": None if outcome.default is None else outcome.default.backend,
            "default_loss": outcome.loss,
        }


@dataclass(frozen=True)
class Recommendation:
    """What to run at a shape."""

    shape: ShapeInfo
    device: DeviceInfo | None
    sweep: str
    """Where the evidence is."""
    pin: str | None
    """The variant to pin; None is to keep the default."""
    sure: Sureness
    probability: float | None
    """Of that pinning it (or keeping the default) is right; None where it was measured or nothing is known."""
    default_backend: str | None
    """What the default dispatch picks at this shape, as far as it is known."""
    alternatives: tuple[Alternative, ...]
    """The other variants, the one that saves most first."""
    evidence: tuple[Evidence, ...]
    """The nearest measured cases, the nearest first."""
    cases: int
    """Cases that the estimate rests on."""
    elsewhere: str | None = None
    """The card of this machine, where it is another one than the evidence is of."""

    @property
    def gain(self) -> float | None:
        """What the pin saves, as a share of the default's time; None where the default is kept."""
        return next((each.gain for each in self.alternatives if each.variant == self.pin), None)

    @property
    def code(self) -> str | None:
        """The lines that pin it; None where the default is kept, or the variant is the user's own."""
        return None if self.pin is None else pin_code(self.pin, self.shape)

    @property
    def waits_for_host(self) -> tuple[int, int] | None:
        """Of the nearest case: time to enqueue a call and to run it, where enqueueing takes longer."""
        for evidence in self.evidence[:1]:
            row = evidence.outcome.default
            if row is not None and row.host_ns and row.time_ns and row.host_ns > _BY_HOST * row.time_ns.median:
                return row.host_ns, row.time_ns.median
        return None

    def to_json(self) -> dict[str, Any]:
        """The JSON of ``recommend``: plain values with stable keys."""
        device: dict[str, Any] = dict.fromkeys(DeviceInfo.__struct_fields__)
        if self.device is not None:
            device |= msgspec.to_builtins(self.device)
        return {
            "schema": SCHEMA,
            "foretrace": __version__,
            "sweep": self.sweep,
            "device": device,
            "shape": msgspec.to_builtins(self.shape),
            "keep_default": self.pin is None,
            "pin": self.pin,
            "sure": self.sure,
            "probability": self.probability,
            "default_backend": self.default_backend,
            "gain": self.gain,
            "alternatives": [each.to_json() for each in self.alternatives],
            "code": self.code,
            "cases": self.cases,
            "evidence": [each.to_json() for each in self.evidence],
            "this_card": self.elsewhere,
        }

    def __str__(self) -> str:
        from foretrace.report.recommend_text import recommendation_text  # noqa: PLC0415 - rich is for people

        return recommendation_text(self)
