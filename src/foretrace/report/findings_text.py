"""Findings for people: a line each on the first screen, all of them in full, and one rule with its documentation."""

from __future__ import annotations

from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from rich.text import Text

from foretrace.report.change_text import change_lines
from foretrace.report.console import Column, print_grid
from foretrace.report.escape import cut_words, ellipsis, plain
from foretrace.report.labels import short_name
from foretrace.units import count_text, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from foretrace.findings.engine import Examination
    from foretrace.findings.rule import Evidence, Finding, NotApplicable

__all__ = [
    "FOLDED",
    "print_docs",
    "print_finding",
    "print_findings",
    "print_found",
    "print_rule",
    "print_rules",
    "stake_text",
]

FOLDED: Final = 8
"""Findings shown in full before ``--all``."""
_INDENT: Final = 8
_EVENTS: Final = 2
# Room for an event's time and number.
_FIGURES: Final = 32


def stake_text(finding: Finding, *, per_step: bool = True) -> str:
    """``0.127 ms a step``; empty where time is not the matter."""
    if not finding.at_stake_ns:
        return ""
    return time_text(finding.at_stake_ns) + (" a step" if per_step else "")


def print_found(out: Console, found: Examination, *, limit: int, per_step: bool) -> int:
    """The first findings, a line each, on the first screen; how many lines that took."""
    causes = [finding for finding in found.problems if finding.because is None]
    shown = causes[:limit]
    rest = _rest(found, len(causes) - len(shown))
    if not shown and not rest:
        return 0
    stakes = [stake_text(finding, per_step=per_step) for finding in shown]
    wide = max((len(stake) for stake in stakes), default=0)
    room = out.width - _INDENT - len("FT101  ") - (wide + 2 if wide else 0)
    out.print()
    for at, (finding, stake) in enumerate(zip(shown, stakes, strict=True)):
        line = Text(f" {'Found' if at == 0 else '':<6} ", style="bold")
        line.append(f"{plain(finding.code)}  ", style="yellow")
        line.append(f"{cut_words(plain(finding.title), room):<{room}}" if wide else plain(finding.title))
        if wide:
            line.append(f"  {stake:>{wide}}")
        out.print(line, soft_wrap=True)
    if rest:
        lead = f" {'' if shown else 'Found':<6} "
        out.print(Text(lead, style="bold") + Text(rest, style="dim"), soft_wrap=True)
    return 1 + len(shown) + bool(rest)


def _rest(found: Examination, more: int) -> str:
    """``1 more finding, 3 that follow from FT105, 2 notes: --findings``."""
    parts = [count_text(more, "more finding")] if more else []
    followers = [finding.because for finding in found.problems if finding.because is not None]
    if followers:
        causes = ", ".join(dict.fromkeys(followers))
        parts.append(f"{len(followers)} that follow{'s' if len(followers) == 1 else ''} from {plain(causes)}")
    if found.notes:
        parts.append(count_text(len(found.notes), "note"))
    return ", ".join(parts) + ": --findings" if parts else ""


def print_findings(out: Console, found: Examination, *, per_step: bool, everything: bool = False) -> None:
    """Findings in full, each with the ones that follow from it; notes and what could not be asked after them."""
    ordered = _families(found.problems) + found.notes
    shown = ordered if everything else ordered[:FOLDED]
    out.print()
    if not ordered:
        out.print(Text(" No findings."))
    for finding in shown:
        print_finding(out, finding, per_step=per_step)
    if len(shown) < len(ordered):
        codes = ", ".join(dict.fromkeys(finding.code for finding in ordered[len(shown) :]))
        out.print(Text(f" {len(ordered) - len(shown)} more with --all: {plain(codes)}", style="dim"), soft_wrap=True)
    if everything:
        _not_asked(out, found.not_applicable)
    elif found.not_applicable:
        out.print(Text(f" {count_text(len(found.not_applicable), 'rule')} could not be asked: --all", style="dim"))


def _families(problems: Sequence[Finding]) -> list[Finding]:
    """Causes in their order, each followed by what follows from it."""
    first = {finding.code: finding for finding in reversed(problems) if finding.because is None}
    ordered: list[Finding] = []
    for finding in problems:
        if finding.because not in first:
            ordered.append(finding)
            if first.get(finding.code) is finding:
                ordered += [other for other in problems if other.because == finding.code]
    return ordered


def _not_asked(out: Console, rules: Sequence[NotApplicable]) -> None:
    reasons = dict.fromkeys(rule.because for rule in rules)
    for reason in reasons:
        codes = ", ".join(rule.code for rule in rules if rule.because == reason)
        for line in wrap(f"Not applicable, because {reason}: {codes}.", out.width - 2, break_on_hyphens=False):
            out.print(Text(f" {line}", style="dim"), soft_wrap=True)


def print_finding(out: Console, finding: Finding, *, per_step: bool) -> None:
    """One finding: what, how often, how much, why, where, and what to change."""
    head = Text(" ")
    head.append(plain(finding.code), style="yellow")
    head.append(f"  {plain(finding.title)}", style="bold")
    out.print(head, overflow="fold")
    facts = [f"{finding.count:,g} a step" if per_step else f"{finding.count:,g} in the file"]
    if finding.at_stake_ns:
        facts.append(f"{time_text(finding.at_stake_ns)} at stake")
    facts.append("a note" if finding.severity == "note" else str(finding.confidence))
    if finding.because:
        facts.append(f"follows from {plain(finding.because)}")
    out.print(Text(" " * _INDENT + " · ".join(facts), style="dim"), soft_wrap=True)
    _paragraph(out, finding.text)
    for item in finding.evidence[:_EVENTS]:
        _event(out, item)
    if finding.change and not finding.because:
        _change(out, finding.change)
    out.print()


def _event(out: Console, item: Evidence) -> None:
    line = Text(" " * _INDENT)
    name = ellipsis(short_name(item.name), max(20, out.width - _INDENT - _FIGURES))
    line.append(f"{name}  {time_text(item.time_ns)}", style="cyan")
    line.append(f"  event {item.event:,}", style="dim")
    out.print(line, soft_wrap=True)
    if item.path:
        lead = "  under " if len(item.path) > 1 else "  in "
        path = " > ".join(plain(name) for name in _folded(item.path))
        for part in wrap(path, out.width - _INDENT - len(lead), break_on_hyphens=False):
            out.print(Text(" " * _INDENT + lead + part, style="dim"), soft_wrap=True)
            lead = " " * len(lead)


def _folded(path: Sequence[str]) -> list[str]:
    """A path with each run of one name as that name and how often it stands there."""
    runs = [(name, len(list(same))) for name, same in groupby(path)]
    return [name if number == 1 else f"{name} (x {number})" for name, number in runs]


def _paragraph(out: Console, text: str) -> None:
    for line in wrap(plain(text), out.width - _INDENT, break_on_hyphens=False):
        out.print(Text(" " * _INDENT + line), soft_wrap=True)


def _change(out: Console, change: str) -> None:
    lead = "Try: "
    for line in change_lines(change, out.width - _INDENT - len(lead)):
        out.print(Text(" " * _INDENT + lead + line, style="green"), soft_wrap=True)
        lead = " " * len(lead)


def print_docs(out: Console, docs: str) -> None:
    """A rule's documentation: headings bold, paragraphs wrapped to the width."""
    for block in docs.strip().split("\n\n"):
        if block.startswith("## "):
            out.print(Text(f" {block.removeprefix('## ')}", style="bold"))
            continue
        if block.startswith("    "):
            out.print(Text("\n".join(" " + line for line in block.splitlines())), soft_wrap=True)
        else:
            for line in wrap(" ".join(block.split()), out.width - 2, break_on_hyphens=False):
                out.print(Text(f" {line}"), soft_wrap=True)
        out.print()


def print_rule(out: Console, row: dict[str, Any]) -> None:
    """The head of one rule: code, name, since when, what it needs."""
    kind = "a note, never a problem" if row["note"] else "a finding"
    needs = ", ".join(row["needs"]) or "nothing but the file"
    head = Text(" ")
    head.append(plain(row["code"]), style="yellow")
    head.append(f"  {plain(row['name'])}", style="bold")
    out.print(head)
    out.print(Text(f" {kind} · needs {needs} · since {plain(row['since'])}", style="dim"), soft_wrap=True)
    out.print()


def print_rules(out: Console, rows: Sequence[dict[str, Any]]) -> None:
    """All rules: code, name, what each looks for."""
    columns = [
        Column("Rule", text=True, least=5),
        Column("", text=True, least=24),
        Column("", text=True, most=200, least=20),
    ]
    cells: list[list[str | Text]] = [
        [
            Text(plain(row["code"]), style="yellow"),
            plain(row["name"]) + (" (note)" if row["note"] else ""),
            Text(plain(row["summary"]), style="dim"),
        ]
        for row in rows
    ]
    print_grid(out, columns, cells)
