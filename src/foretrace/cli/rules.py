"""`foretrace rules`: the findings that exist."""

from __future__ import annotations

import click

from foretrace.cli.read import print_json
from foretrace.findings.docs import rule_rows
from foretrace.report.data import SCHEMA

__all__ = ["command"]


@click.command(name="rules")
@click.option("--json", "as_json", is_flag=True, help="As JSON (schema 1), with the documentation of each.")
def command(*, as_json: bool) -> None:
    """List the rules: what each looks for. `foretrace explain CODE` tells the rest."""
    rows = rule_rows()
    if as_json:
        print_json({"schema": SCHEMA, "rules": rows})
        return
    from foretrace.report.console import console  # noqa: PLC0415 - rich is for people
    from foretrace.report.findings_text import print_rules  # noqa: PLC0415 - the same

    print_rules(console(), rows)
