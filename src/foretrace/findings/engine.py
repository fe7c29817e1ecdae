"""Ask every rule about a trace, and put the answers in the order of what is at stake."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from foretrace.errors import ForetraceError, RuleError, UsageError
from foretrace.findings.facts import facts_of
from foretrace.findings.registry import rules
from foretrace.findings.rule import Check, Finding, NotApplicable, Severity, missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foretrace.analysis.timeline import Timeline
    from foretrace.trace.model import Trace

__all__ = ["Examination", "chosen_rules", "examine", "findings"]


@dataclass(frozen=True)
class Examination:
    """All that the rules say about a trace."""

    findings: tuple[Finding, ...]
    """The most at stake first; notes last."""
    not_applicable: tuple[NotApplicable, ...]
    """Rules that could not be asked, and why."""

    @property
    def problems(self) -> list[Finding]:
        """Findings without the notes."""
        return [found for found in self.findings if found.severity is Severity.FINDING]

    @property
    def notes(self) -> list[Finding]:
        """The notes."""
        return [found for found in self.findings if found.severity is Severity.NOTE]

    def to_json(self) -> dict[str, Any]:
        """The keys ``findings`` and ``not_applicable``."""
        return {
            "findings": [found.to_json() for found in self.findings],
            "not_applicable": [rule.to_json() for rule in self.not_applicable],
        }


def findings(trace: Trace, *, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> list[Finding]:
    """What is odd in a trace, why, and what to change; the most at stake first, notes last.

    Args:
        trace: the trace.
        select: codes (``FT101``), beginnings of codes (``FT1``) or names of the rules to ask; empty means all.
        ignore: the same, of rules not to ask.

    Raises:
        UsageError: no rule has such a code or name.
        RuleError: a rule failed.
    """
    return list(examine(trace, select=select, ignore=ignore).findings)


def examine(
    trace: Trace, *, select: Sequence[str] = (), ignore: Sequence[str] = (), steps: Timeline | None = None
) -> Examination:
    """The findings, and the rules that could not be asked; ``steps`` saves computing the timeline again."""
    facts_of(trace, steps)
    found: list[Finding] = []
    unasked: list[NotApplicable] = []
    for check in chosen_rules(select, ignore):
        lacking = missing(trace, check.rule.needs)
        if lacking is not None:
            unasked.append(NotApplicable(check.rule.code, check.rule.name, lacking))
        else:
            found.extend(_ask(check, trace))
    found = _with_shared_changes(found)
    found.sort(key=lambda item: (item.severity is Severity.NOTE, -item.at_stake_ns, item.code))
    return Examination(tuple(found), tuple(unasked))


def _with_shared_changes(found: list[Finding]) -> list[Finding]:
    """What follows from another finding has that one's change, where that one is there."""
    changes = {cause.code: cause.change for cause in reversed(found) if cause.because is None}
    return [replace(item, change=changes[item.because]) if item.because in changes else item for item in found]


def chosen_rules(select: Iterable[str] = (), ignore: Iterable[str] = ()) -> list[Check]:
    """The rules that are selected and not ignored.

    Raises:
        UsageError: no rule has such a code or name.
    """
    every = rules()
    wanted = [_matching(every, word) for word in select]
    unwanted = [_matching(every, word) for word in ignore]
    return [
        check
        for check in every
        if (not wanted or any(check in some for some in wanted)) and not any(check in some for some in unwanted)
    ]


def _matching(every: Sequence[Check], word: str) -> list[Check]:
    some = [check for check in every if check.rule.name == word or (word and check.rule.code.startswith(word.upper()))]
    if not some:
        raise UsageError(f"no rule is called {word!r}; `foretrace rules` lists them all.")
    return some


def _ask(check: Check, trace: Trace) -> list[Finding]:
    try:
        return list(check.check(trace))
    except ForetraceError:
        raise
    except Exception as error:
        raise RuleError(
            f"{trace.file}: rule {check.rule.code} ({check.rule.name}) failed ({type(error).__name__}: {error}); "
            f"go on without it with --ignore {check.rule.code}, and report it with this file."
        ) from error
