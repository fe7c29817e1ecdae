"""Ask for guesses before anything is shown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from foretrace.errors import PredictionError, UsageError
from foretrace.predictions.guess import CPU_QUESTIONS, DEVICE_QUESTIONS, NEAR, guessed
from foretrace.report.escape import plain
from foretrace.units import share_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.predictions import Prediction
    from foretrace.predictions.guess import Question
    from foretrace.report.comparison import VariantRow

__all__ = ["ask_guesses"]


def ask_guesses(rows: Sequence[VariantRow]) -> dict[str, list[Prediction]]:
    """The guesses for each variant that ran, asked on standard error and read from standard input, a line each.

    An empty line passes; the end of the input passes everything that is left.

    Raises:
        UsageError: nobody answered.
    """
    rows = [row for row in rows if row.reading is not None]
    on_device = any(row.device_step is not None for row in rows)
    questions = DEVICE_QUESTIONS if on_device else CPU_QUESTIONS
    click.echo(
        f" Guess first. Enter passes; 5, 4..6 and < 200us are answers; a time is right within {share_text(NEAR)}.",
        err=True,
    )
    width = max((len(plain(row.name)) for row in rows), default=0)
    found: dict[str, list[Prediction]] = {row.name: [] for row in rows}
    asked = 0
    try:
        for row in rows:
            for at, question in enumerate(questions):
                label = plain(row.name) if at == 0 else ""
                answer = _ask(f" {label:<{width}}  {question.words}", question)
                asked += 1
                if answer is not None:
                    found[row.name].append(answer)
    except click.Abort:
        click.echo(err=True)
        if sys.stdin.isatty():
            raise
    if not asked or not any(found.values()):
        raise UsageError("--guess asks before it shows, and there was no guess; answer, or leave it out.")
    return {name: guesses for name, guesses in found.items() if guesses}


def _ask(text: str, question: Question) -> Prediction | None:
    while True:
        answer: str = click.prompt(text, default="", show_default=False, err=True)
        try:
            return guessed(question, answer)
        except PredictionError as error:
            click.echo(
                f" {plain(str(error).partition(': ')[2] or str(error))} For example {question.example}.", err=True
            )
