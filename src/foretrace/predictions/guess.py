"""Guesses as people answer a question: ``5``, ``4..6``, ``< 200us``, ``about 1 ms``."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from foretrace.analysis.metrics.catalog import CATALOG
from foretrace.analysis.metrics.metric import Unit
from foretrace.predictions.grammar import parse

if TYPE_CHECKING:
    from foretrace.predictions.prediction import Prediction

__all__ = ["CPU_QUESTIONS", "DEVICE_QUESTIONS", "NEAR", "Question", "guessed"]

NEAR: Final = 0.25
"""A guessed time is right within this share of itself: nobody knows a time to the nanosecond."""
_SIGNS: Final = ("==", "!=", "<", ">", "=", "≤", "≥", "≠", "in ", "absent", "present")


@dataclass(frozen=True)
class Question:
    """What is asked of each variant."""

    metric: str
    words: str
    """What it is, for people."""
    example: str


DEVICE_QUESTIONS: Final = (
    Question("kernels", "kernels a step", "5"),
    Question("memcpys", "copies a step", "0"),
    Question("device_time", "device time a step", "1ms"),
)
CPU_QUESTIONS: Final = (
    Question("ops", "ops a step", "40"),
    Question("cpu_time", "CPU time a step", "2ms"),
)


def guessed(question: Question, answer: str) -> Prediction | None:
    """The prediction that an answer makes; None where there was no answer.

    Raises:
        PredictionError: the answer is none.
    """
    text = answer.strip()
    for word in ("about", "~", "≈"):
        text = text.removeprefix(word).strip()
    if not text:
        return None
    name = question.metric
    if text.startswith(_SIGNS):
        return parse(f"{name} {text}")
    if ".." in text:
        return parse(f"{name} in {text}")
    found = parse(f"{name} == {text}")
    if CATALOG[name].unit is not Unit.NS or found.low is None:
        return found
    low, high = math.floor(found.low * (1 - NEAR)), math.ceil(found.low * (1 + NEAR))
    return replace(found, low=low, high=high, written=f"{name} about {text}")
