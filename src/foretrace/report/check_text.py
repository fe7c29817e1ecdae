"""What `foretrace check` prints: each guess, what became of it, and where a miss comes from."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Final

from foretrace.report.change_text import change_lines
from foretrace.report.escape import ellipsis, plain
from foretrace.units import bytes_text, count_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from foretrace.findings.rule import Finding
    from foretrace.predictions.evidence import Evidence
    from foretrace.predictions.outcome import Outcome

__all__ = ["outcome_lines", "outcomes_text", "print_outcomes", "tally"]

_STYLES: Final = {"hit": "green", "miss": "bold red", "unresolved": "yellow"}
_INDENT: Final = 12
_SHOWN: Final = 5
_WIDE: Final = 100


def print_outcomes(out: Console, outcomes: Sequence[Outcome], *, everything: bool = False) -> None:
    """Every outcome, misses with their explanation; the tally last."""
    from rich.text import Text  # noqa: PLC0415 - the plugin shows the same lines without rich

    column = _column(outcomes)
    told: set[str] = set()
    for outcome in outcomes:
        head, *rest = outcome_lines(outcome, width=out.width, column=column, everything=everything, told=told)
        word = outcome.outcome
        out.print(Text(f" {word:<{_INDENT - 1}}", style=_STYLES[word]) + Text(head), soft_wrap=True)
        for line in rest:
            out.print(Text(" " * _INDENT + line), soft_wrap=True)
    out.print()
    out.print(Text(f" {tally(outcomes)}", style="bold"))


def outcomes_text(outcomes: Sequence[Outcome], *, width: int = _WIDE) -> str:
    """The same without color, for a test's failure message."""
    column = _column(outcomes)
    told: set[str] = set()
    lines = []
    for outcome in outcomes:
        head, *rest = outcome_lines(outcome, width=width, column=column, told=told)
        lines.append(f"{outcome.outcome:<{_INDENT - 1}} {head}")
        lines += [" " * _INDENT + line for line in rest]
    return "\n".join(lines)


def tally(outcomes: Sequence[Outcome]) -> str:
    """How many of each, as in ``2 hits, 1 miss, 1 unresolved.``."""
    words = {"hit": ("hit", "hits"), "miss": ("miss", "misses"), "unresolved": ("unresolved", "unresolved")}
    counts = {word: sum(outcome.outcome == word for outcome in outcomes) for word in words}
    return ", ".join(count_text(counts[word], *words[word]) for word in words if counts[word]) + "."


def _column(outcomes: Sequence[Outcome]) -> int:
    """How wide the predictions are, so that what was found stands in one column."""
    return min(44, max((len(plain(str(outcome.prediction))) for outcome in outcomes), default=0))


def outcome_lines(
    outcome: Outcome, *, width: int, column: int = 0, everything: bool = False, told: set[str] | None = None
) -> list[str]:
    """The prediction with what was found, then what explains a miss; lines of at most ``width`` less the indent.

    ``told`` are the codes of findings that were told already; what is told now is added.
    """
    room = max(30, width - _INDENT - 1)
    prediction = plain(str(outcome.prediction))
    lines = []
    found = "" if outcome.outcome == "unresolved" else f"found {plain(outcome.found)}"
    if len(prediction) > column or len(prediction) + 3 + len(found) > room:
        lines.append(prediction)
        if found:
            lines.append(found)
    else:
        lines.append(f"{prediction:<{column}}   {found}".rstrip())
    if outcome.outcome == "hit":
        return lines
    if outcome.prediction.because:
        lines += _wrapped(f"you said: because {plain(outcome.prediction.because)}", room)
    if outcome.reason:
        lines += _wrapped(plain(outcome.reason), room)
    shown = outcome.evidence if everything else outcome.evidence[:_SHOWN]
    for item in shown:
        lines += list(_evidence_lines(item, room))
    if len(outcome.evidence) > len(shown):
        rest = len(outcome.evidence) - len(shown)
        lines.append(f"and {count_text(rest, 'more place', 'more places')} (--all shows them)")
    if outcome.finding is not None:
        lines += _finding_lines(outcome.finding, room, told if told is not None else set())
    return lines


def _finding_lines(finding: Finding, room: int, told: set[str]) -> list[str]:
    if finding.code in told:
        return _wrapped(f"{plain(finding.title)}, as above.   {finding.code}", room)
    told.add(finding.code)
    lines = _wrapped(f"{plain(finding.title)}.   {finding.code}", room)
    if finding.change:
        lead = "try  "
        lines += [
            f"{lead if at == 0 else ' ' * len(lead)}{line}"
            for at, line in enumerate(change_lines(finding.change, room - len(lead)))
        ]
    return lines


def _evidence_lines(item: Evidence, room: int) -> Iterator[str]:
    facts = []
    if item.per_step.varies:
        facts.append(f"{item.per_step.min:,} to {item.per_step.max:,} a step")
    elif item.per_step.value != 1:
        facts.append(f"{item.per_step.value:,} a step")
    if item.bytes:
        facts.append(bytes_text(item.bytes))
    if item.time_ns.median:
        facts.append(time_text(item.time_ns.median))
    tail = ", ".join(facts)
    name = ellipsis(plain(item.label), max(20, room - len(tail) - 2))
    yield f"{name}, {tail}" if tail else name
    if item.path:
        lead = "launched by  " if item.kind in ("kernel", "memcpy", "memset") else "in  "
        yield from _wrapped_path([plain(part) for part in item.path], lead, room)
    elif item.kind in ("kernel", "memcpy", "memset"):
        yield "launched outside any op"


def _wrapped_path(parts: list[str], lead: str, room: int) -> Iterator[str]:
    """``lead`` a > b > c, broken between the parts."""
    line = lead
    for at, part in enumerate(parts):
        piece = ellipsis(part, room - len(lead) - 2) + (" > " if at < len(parts) - 1 else "")
        if len(line) + len(piece.rstrip()) > room and line.strip():
            yield line.rstrip()
            line = " " * len(lead)
        line += piece
    yield line.rstrip()


def _wrapped(text: str, room: int) -> list[str]:
    return wrap(text, room, break_on_hyphens=False, break_long_words=True)
