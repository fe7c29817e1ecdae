"""`foretrace explain`: one rule with its documentation, and what it finds in a trace."""

from __future__ import annotations

from pathlib import Path

import click

from foretrace.cli.read import print_json
from foretrace.errors import UsageError
from foretrace.findings.docs import rule_row
from foretrace.findings.engine import chosen_rules, examine
from foretrace.report.data import SCHEMA
from foretrace.trace.load import load_trace

__all__ = ["command"]


@click.command(name="explain")
@click.argument("code")
@click.argument("trace", required=False, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="As JSON (schema 1).")
@click.option("--step", metavar="NAME", help="Make every annotation of this name a step.")
def command(*, code: str, trace: Path | None, as_json: bool, step: str | None) -> None:
    """Explain the rule CODE (FT101 or hidden-copy), and with TRACE what it finds there."""
    rules = chosen_rules([code])
    if len(rules) != 1:
        codes = ", ".join(check.rule.code for check in rules)
        raise UsageError(f"{code!r} stands for several rules ({codes}); name one.")
    check = rules[0]
    loaded = load_trace(trace, step=step) if trace is not None else None
    found = examine(loaded, select=[check.rule.code]) if loaded is not None else None
    if as_json:
        print_json({"schema": SCHEMA, "rule": rule_row(check), **(found.to_json() if found else {})})
        return
    from foretrace.report.console import console  # noqa: PLC0415 - rich is for people
    from foretrace.report.findings_text import print_docs, print_findings, print_rule  # noqa: PLC0415 - the same

    out = console()
    print_rule(out, rule_row(check))
    print_docs(out, check.docs)
    if found is not None and loaded is not None:
        print_findings(out, found, per_step=loaded.has_steps, everything=True)
