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
    return "\n".join(lines) + "\n"
