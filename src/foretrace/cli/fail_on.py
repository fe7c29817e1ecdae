"""`--fail-on CODE|any`: exit with 1 when a finding is there that should not be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from foretrace.findings.engine import chosen_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.findings.engine import Examination

__all__ = ["complain_of", "failing_codes"]

_ANY = "any"


def failing_codes(words: Sequence[str]) -> frozenset[str]:
    """The codes that fail; ``any`` stands for every finding (notes fail only when they are named).

    Raises:
        UsageError: no rule has such a code or name.
    """
    if _ANY in words:
        named = [word for word in words if word != _ANY]
        codes = {check.rule.code for check in chosen_rules() if not check.rule.note}
        return frozenset(codes | (failing_codes(named) if named else frozenset()))
    return frozenset(check.rule.code for check in chosen_rules(words)) if words else frozenset()


def complain_of(found: Examination, failing: frozenset[str]) -> int:
    """Name on standard error what failed; the exit code: 1 when anything did."""
    codes = list(dict.fromkeys(finding.code for finding in found.findings if finding.code in failing))
    if codes:
        click.echo(f"foretrace: found {', '.join(codes)}, which --fail-on names.", err=True)
    return 1 if codes else 0
