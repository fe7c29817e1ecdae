"""`foretrace check`: hold predictions against a trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from foretrace._version import __version__
from foretrace.cli.opening import open_trace, opening_options
from foretrace.errors import UsageError
from foretrace.predictions import Prediction, check
from foretrace.predictions.files import read_predictions
from foretrace.predictions.grammar import parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.predictions import Outcome

__all__ = ["command"]

_EPILOG = """
\b
Predictions:
  kernels == 5                          device_time < 200us
  memcpys == 0                          tensor_core_share >= 90%
  kernels in 4..6                       backend == flash
  kernels(role=softmax) == 1            backend in (flash, cudnn)
  kernels("pytorch_flash") == 1         finding(FT101) absent
  op aten::masked_fill_ kernels == 1    annotation attn_fwd busy < 1ms
  memcpys == 0 because masked_fill_ works in place

`foretrace metrics TRACE` lists what can be predicted. A count must hold in every step; a time is the median over the
steps. Exit codes: 0 every prediction is a hit; 1 one missed, or is unresolved because the trace holds no data for it
(--allow-unresolved lets those pass); 2 it could not be done.
"""


@click.command(name="check", epilog=_EPILOG)
@click.argument("trace", type=click.Path(path_type=Path))
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[PREDICTIONS.toml]...")
@click.option("--expect", "expected", multiple=True, metavar="PREDICTION", help="A prediction; may be given again.")
@click.option("--allow-unresolved", is_flag=True, help="Do not fail for predictions the trace holds no data for.")
@click.option("--all", "everything", is_flag=True, help="All events behind a miss, none folded.")
@opening_options
@click.option("--json", "as_json", is_flag=True, help="Everything as JSON (schema 1).")
def command(
    *,
    trace: Path,
    expected: Sequence[str],
    files: Sequence[Path],
    allow_unresolved: bool,
    everything: bool,
    as_json: bool,
    **opening: Any,
) -> int:
    """Hold predictions against TRACE: hit, miss, or unresolved. A miss says where it comes from.

    Predictions are given by --expect and in TOML files: tables [[expect]] with that = "kernels == 5" and, if you like,
    because = "...".
    """
    predictions: list[Prediction] = [parse(text) for text in expected]
    for file in files:
        predictions += read_predictions(file)
    if not predictions:
        raise UsageError("nothing to check; give --expect PREDICTION or a TOML file of predictions.")
    found = open_trace(trace, **opening)
    outcomes = check(found, *predictions)
    if as_json:
        from foretrace.cli.read import print_json  # noqa: PLC0415 - only where JSON is asked for

        print_json(
            {
                "schema": 1,
                "foretrace": __version__,
                "file": found.file,
                "outcomes": [outcome.to_json() for outcome in outcomes],
            }
        )
    else:
        from foretrace.report.check_text import print_outcomes  # noqa: PLC0415 - rich is for people
        from foretrace.report.console import console  # noqa: PLC0415 - the same

        print_outcomes(console(), outcomes, everything=everything)
    return _exit_code(outcomes, allow_unresolved=allow_unresolved)


def _exit_code(outcomes: Sequence[Outcome], *, allow_unresolved: bool) -> int:
    failing = {"miss"} if allow_unresolved else {"miss", "unresolved"}
    return 1 if any(outcome.outcome in failing for outcome in outcomes) else 0
