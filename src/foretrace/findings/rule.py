"""What a rule is and what it finds: small frozen values, and the words for what a rule needs of a trace."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, StrEnum, auto
from typing import TYPE_CHECKING, Any, Final

from foretrace.trace.kineto import Category

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foretrace.trace.model import Trace

__all__ = ["Check", "Confidence", "Evidence", "Finding", "Needs", "NotApplicable", "Rule", "Severity", "missing"]


class Needs(Flag):
    """What a trace must hold before a rule has anything to say about it."""

    NOTHING = 0
    DEVICE = auto()
    """Device activity."""
    LAUNCHES = auto()
    """Device activity that is tied to its launch."""
    OPS = auto()
    """Ops on the host."""
    SHAPES = auto()
    """Recorded input shapes."""
    STEPS = auto()
    """At least one step."""
    SEVERAL_STEPS = auto()
    """At least two steps."""
    CALLS = auto()
    """Runtime calls."""


class Confidence(StrEnum):
    """How sure a finding is that its change applies."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


class Severity(StrEnum):
    """A finding asks for a change; a note explains what looks wrong and is not, or what to know."""

    FINDING = "finding"
    NOTE = "note"


@dataclass(frozen=True)
class Evidence:
    """One event that proves a finding."""

    event: int
    """Position in the file's event list."""
    name: str
    path: tuple[str, ...]
    """What encloses it on the host, outermost first: annotations and ops, its own op last."""
    time_ns: int
    """The event's duration."""

    def to_json(self) -> dict[str, Any]:
        """The keys of ``evidence[]``."""
        return {"event": self.event, "name": self.name, "path": list(self.path), "time_ns": self.time_ns}


@dataclass(frozen=True)
class Finding:
    """One cause, with its count and cost per step, what proves it and what to change."""

    code: str
    name: str
    """The rule's name."""
    title: str
    """One line with its numbers, no full stop."""
    count: float
    """Occurrences a step; in the whole file where it has no steps."""
    at_stake_ns: int
    """Time a step that the change removes or shrinks: an upper bound of the gain. 0 where time is not the matter."""
    confidence: Confidence
    evidence: tuple[Evidence, ...]
    """Occurrences in one step, the first few; ``count`` says how many there are."""
    text: str = ""
    """What happens and why, in one to four sentences."""
    change: str | None = None
    """What to try; code where there is code."""
    because: str | None = None
    """The code of the finding this one follows from."""
    severity: Severity = Severity.FINDING

    def to_json(self) -> dict[str, Any]:
        """The keys of ``findings[]``."""
        return {
            "code": self.code,
            "name": self.name,
            "severity": str(self.severity),
            "title": self.title,
            "count": self.count,
            "at_stake_ns": self.at_stake_ns,
            "confidence": str(self.confidence),
            "evidence": [item.to_json() for item in self.evidence],
            "text": self.text,
            "change": self.change,
            "because": self.because,
        }


@dataclass(frozen=True)
class NotApplicable:
    """A rule that could not be asked, and why."""

    code: str
    name: str
    because: str

    def to_json(self) -> dict[str, Any]:
        """The keys of ``not_applicable[]``."""
        return dict(vars(self))


@dataclass(frozen=True)
class Rule:
    """A rule's identity. Its module's docstring is its documentation."""

    code: str
    """Never used again for another rule."""
    name: str
    """The pattern, not the cure."""
    needs: Needs
    since: str
    """The release that brought it."""
    note: bool = False
    """What it finds is a note, never a problem."""

    def finding(
        self,
        title: str,
        *,
        count: float,
        at_stake_ns: float,
        confidence: Confidence,
        evidence: tuple[Evidence, ...],
        text: str = "",
        change: str | None = None,
        because: str | None = None,
    ) -> Finding:
        """A finding of this rule; of a note, nothing is at stake."""
        return Finding(
            code=self.code,
            name=self.name,
            title=title,
            count=int(count) if count == int(count) else round(count, 2),
            at_stake_ns=0 if self.note else max(0, round(at_stake_ns)),
            confidence=confidence,
            evidence=evidence,
            text=text,
            change=change,
            because=because,
            severity=Severity.NOTE if self.note else Severity.FINDING,
        )


@dataclass(frozen=True)
class Check:
    """A rule with the function that looks for it and its documentation."""

    rule: Rule
    check: Callable[[Trace], Iterator[Finding]]
    docs: str
    """The module's docstring: a first sentence, then the four headings."""


_MISSING: Final[tuple[tuple[Needs, Callable[[Trace], bool], str], ...]] = (
    (Needs.OPS, lambda trace: len(trace.ops) > 0, "the file holds no ops"),
    (
        Needs.CALLS,
        lambda trace: trace.count(Category.RUNTIME, Category.DRIVER) > 0,
        "the file holds no runtime calls",
    ),
    (Needs.DEVICE, lambda trace: trace.has_device_activity, "the file holds no device activity"),
    (
        Needs.LAUNCHES,
        lambda trace: bool(trace.activities.linked.any()),
        "no device activity is tied to its launch",
    ),
    (
        Needs.SHAPES,
        lambda trace: trace.has_shapes,
        "no input shapes were recorded (profile with record_shapes=True)",
    ),
    (Needs.STEPS, lambda trace: trace.has_steps, "the file has no steps (call prof.step(), or name one with --step)"),
    (Needs.SEVERAL_STEPS, lambda trace: len(trace.steps) > 1, "it takes two steps to compare, and the file has fewer"),
)


def missing(trace: Trace, needs: Needs) -> str | None:
    """Why a rule with these needs cannot be asked of this trace; None where it can."""
    return next((text for need, held, text in _MISSING if need in needs and not held(trace)), None)
