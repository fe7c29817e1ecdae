"""The rules' documentation: their modules' docstrings, as rows and as the pages of ``docs/rules``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from foretrace.findings.registry import RULES, rules

if TYPE_CHECKING:
    from pathlib import Path

    from foretrace.findings.rule import Check

__all__ = ["pages", "rule_row", "rule_rows", "stale_pages", "write_pages"]

HEADINGS: Final = ("What it looks for", "Why it matters", "How to confirm it", "What usually helps")
"""The four headings that every rule's documentation has, in this order."""

_GROUPS: Final = {"FT1": "Attention", "FT2": "Host", "FT3": "GEMM and dtype", "FT4": "Device"}
_NEEDS: Final = {
    "OPS": "ops",
    "CALLS": "runtime calls",
    "DEVICE": "device activity",
    "LAUNCHES": "launches tied to their activity",
    "SHAPES": "input shapes",
    "STEPS": "steps",
    "SEVERAL_STEPS": "two steps or more",
}


def summary(check: Check) -> str:
    """The first sentence of a rule's documentation."""
    return " ".join(check.docs.strip().split("\n\n")[0].split())


def needs(check: Check) -> list[str]:
    """What a trace must hold for the rule, in words."""
    return [text for name, text in _NEEDS.items() if name in {need.name for need in check.rule.needs}]


def rule_row(check: Check) -> dict[str, Any]:
    """One rule as plain values: ``code``, ``name``, ``note``, ``since``, ``needs``, ``summary``, ``docs``."""
    rule = check.rule
    return {
        "code": rule.code,
        "name": rule.name,
        "note": rule.note,
        "since": rule.since,
        "needs": needs(check),
        "summary": summary(check),
        "docs": check.docs.strip(),
    }


def rule_rows() -> list[dict[str, Any]]:
    """Every rule, those of other packages last."""
    return [rule_row(check) for check in rules()]


def pages() -> dict[str, str]:
    """File name -> text of the pages of ``docs/rules``: one for each of foretrace's own rules, and ``README.md``."""
    own = [check for check in rules() if check.rule.code in RULES]
    made = {f"{check.rule.code}.md": _page(check) for check in own}
    made["README.md"] = _index(own)
    return made


def stale_pages(folder: Path) -> list[str]:
    """Names of pages that are missing, differ from what the rules say, or belong to no rule."""
    made = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))


def write_pages(folder: Path) -> list[str]:
    """Bring the folder up to date; the names of what changed."""
    made, stale = pages(), stale_pages(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in stale:
        if name in made:
            (folder / name).write_text(made[name], encoding="utf-8")
        else:
            (folder / name).unlink()
    return stale


def _page(check: Check) -> str:
    rule = check.rule
    first, _, rest = check.docs.strip().partition("\n\n")
    kind = "a note, never a problem" if rule.note else "a finding"
    lines = [
        f"# {rule.code} {rule.name}",
        "",
        " ".join(first.split()),
        "",
        f"Gives {kind}. Needs {', '.join(needs(check)) or 'nothing but the file'}. Since {rule.since}.",
        "",
        rest,
        "",
        "---",
        f"Generated from `src/foretrace/findings/rules/{RULES[rule.code]}.py`. [All rules](README.md)",
    ]
    return "\n".join(lines) + "\n"


def _index(own: list[Check]) -> str:
    lines = [
        "# Rules",
        "",
        "What foretrace looks for in a trace. `foretrace rules` lists them, `foretrace explain CODE` tells one in",
        "full, `foretrace explain CODE TRACE` shows what it finds there. Generated from the rules themselves.",
    ]
    for beginning, title in _GROUPS.items():
        lines += ["", f"## {title}", "", "| code | name | |", "|---|---|---|"]
        for check in own:
            if check.rule.code.startswith(beginning):
                kind = " (note)" if check.rule.note else ""
                lines.append(
                    f"| [{check.rule.code}]({check.rule.code}.md) | {check.rule.name}{kind} | {summary(check)} |"
                )
    return "\n".join(lines) + "\n" + _OWN


_OWN: Final = """
## What a finding is

In `--json`, each is `{"code", "name", "severity", "title", "count", "at_stake_ns", "confidence", "evidence", "text",
"change", "because"}`: `count` and `at_stake_ns` are of one step (of the file, where it has no steps); `at_stake_ns` is
the most that the change can gain; `confidence` is `certain`, `likely` or `possible`; `because` names the finding that
this one follows from, and whose change it shares. A `severity` of `note` is never a problem. `evidence` holds the first
few events of one step, `{"event", "name", "path", "time_ns"}`: `event` is the position in the file's event list.
`not_applicable` beside it names the rules that could not be asked, `{"code", "name", "because"}`.

## A rule of your own

A rule is a module with `RULE` and `check`, registered under the entry point `foretrace.rules`:

```python
\"""Steps with more memsets than kernels.

## What it looks for
## Why it matters
## How to confirm it
## What usually helps
\"""

from foretrace.findings.facts import facts_of
from foretrace.findings.rule import Confidence, Needs, Rule

RULE = Rule(code="MY001", name="many-memsets", needs=Needs.LAUNCHES, since="1.0")


def check(trace):
    facts = facts_of(trace)
    figures = facts.timeline.per_step
    if figures.memsets.value > figures.kernels.value:
        yield RULE.finding(
            "more memsets than kernels",
            count=figures.memsets.value,
            at_stake_ns=0,
            confidence=Confidence.CERTAIN,
            evidence=facts.evidence_of(facts.counted),
            text="Each of them is a launch.",
        )
```

```toml
[project.entry-points."foretrace.rules"]
mine = "my_package.my_rules.many_memsets"
```
"""
