"""Predictions from a TOML file.

# A list of predictions, or tables that say why as well.
[[expect]]
that = "memcpys == 0"
because = "masked_fill_ works in place"

[[expect]]
that = "kernels in 4..6"
"""

from __future__ import annotations

import tomllib
from types import NoneType
from typing import TYPE_CHECKING, Any

from foretrace.errors import PredictionError, UsageError
from foretrace.predictions.grammar import parse

if TYPE_CHECKING:
    from pathlib import Path

    from foretrace.predictions.prediction import Prediction

__all__ = ["read_predictions"]


def read_predictions(path: Path) -> list[Prediction]:
    """The predictions of a TOML file, in its order.

    Raises:
        UsageError: there is no such file.
        PredictionError: it is no TOML, holds no predictions, or one of them does not parse.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise PredictionError(f"{path}: not UTF-8 at byte {error.start}, which TOML is.") from error
    except tomllib.TOMLDecodeError as error:
        raise PredictionError(f"{path}: no TOML: {str(error).rstrip('.')}.") from error
    unknown = [key for key in content if key != "expect"]
    if unknown:
        raise PredictionError(f"{path}: the key {unknown[0]!r} means nothing here; predictions stand under expect.")
    given = content.get("expect")
    if not isinstance(given, list) or not given:
        raise PredictionError(f'{path}: no predictions; give expect = ["kernels == 5"], or tables [[expect]].')
    return [_prediction(path, at, one) for at, one in enumerate(given, start=1)]


def _prediction(path: Path, at: int, given: Any) -> Prediction:
    where = f"{path}, prediction {at}"
    that: Any = given
    because: Any = None
    if isinstance(given, str):
        pass
    elif isinstance(given, dict):
        unknown = [key for key in given if key not in ("that", "because")]
        if unknown:
            raise PredictionError(f"{where}: the key {unknown[0]!r} means nothing here; give that and because.")
        that, because = given.get("that"), given.get("because")
        if not isinstance(that, str) or not isinstance(because, (str, NoneType)):
            raise PredictionError(f'{where}: give that = "kernels == 5" and, if you like, because = "...".')
    else:
        raise PredictionError(f"{where}: give text, or a table with that and because.")
    try:
        return parse(that, because)
    except PredictionError as error:
        raise PredictionError(f"{where}: {error}") from error
