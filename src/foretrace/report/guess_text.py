"""Guesses beside what was found, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from foretrace.predictions.outcome import value_texts
from foretrace.report.check_text import tally
from foretrace.report.console import Column, print_grid
from foretrace.report.escape import plain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from foretrace.predictions import Outcome

__all__ = ["print_guesses"]

_STYLES: Final = {"hit": "green", "miss": "bold red", "unresolved": "yellow"}
_NAMES: Final = {"memcpys": "copies", "device_time": "device time", "cpu_time": "CPU time"}


def print_guesses(out: Console, guesses: Mapping[str, Sequence[Outcome]]) -> None:
    """By variant: what was guessed, what was found; of a miss, where most of it comes from."""
    cells: list[list[str | Text]] = []
    for variant, outcomes in guesses.items():
        for at, outcome in enumerate(outcomes):
            name = outcome.prediction.metric.name
            written = str(outcome.prediction).removeprefix(name).strip().removeprefix("==").strip()
            cells.append(
                [
                    plain(variant) if at == 0 else "",
                    _NAMES.get(name, name),
                    plain(written),
                    value_texts(outcome.metric, exactly=outcome.hair)[0],
                    Text(outcome.outcome, style=_STYLES[outcome.outcome]),
                    Text(plain(_why(outcome)), style="dim"),
                ]
            )
    columns = [
        Column("Your guesses", text=True, most=24, least=12),
        Column("a step", text=True, most=12, least=11),
        Column("guessed"),
        Column("found"),
        Column("", text=True, most=10, least=10),
        Column("", text=True, most=60, least=8),
    ]
    out.print()
    print_grid(out, columns, cells)
    out.print(Text(f" {tally([outcome for outcomes in guesses.values() for outcome in outcomes])}", style="bold"))


def _why(outcome: Outcome) -> str:
    if outcome.outcome == "unresolved":
        return outcome.reason
    if outcome.outcome == "hit":
        return ""
    if outcome.finding is not None:
        return f"{outcome.finding.title}  {outcome.finding.code}"
    if outcome.evidence:
        first = outcome.evidence[0]
        return f"{first.label}, from {first.path[-1]}" if first.path else first.label
    return outcome.reason
