"""What somebody typed as a guess: a number or one of the options, or nothing that can be one."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, Literal

from foretrace.learn.lesson import Choice, Number, Question, times_text

__all__ = ["LETTERS", "Guess", "judged", "read_guess", "wanted"]

LETTERS: Final = "abcdefghijklmnop"

_NUMBER: Final = re.compile(r"[-+]?(?:\d[\d,_]*(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?", re.IGNORECASE)
_WORDS: Final = {
    "no": 0,
    "none": 0,
    "zero": 0,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "twenty": 20,
}
# What may stand after a number, and how much of the answer's unit it is.
_UNITS: Final[dict[str, dict[str, float]]] = {
    "ns": {"ns": 1, "us": 1e3, "µs": 1e3, "μs": 1e3, "ms": 1e6, "s": 1e9},
    "bytes": {"b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2**10, "mib": 2**20, "gib": 2**30},
    "share": {"%": 0.01, "percent": 0.01},
    "times": {"x": 1, "times": 1},
    "": {},
}
# What a bare number means.
_BARE: Final = {"ns": 1e3, "bytes": 1e6, "share": 0.01, "times": 1.0, "": 1.0}
_ASKED: Final = {
    "ns": "a time such as 20 us (bare numbers are us)",
    "bytes": "a size such as 20 MB (bare numbers are MB)",
    "share": "a percentage such as 40",
    "times": "a factor such as 3 (that is, 3 times)",
    "": "a number such as 3",
}


@dataclass(frozen=True)
class Guess:
    """A guess that was understood."""

    value: float
    """The number, in the answer's unit; of a choice, the option's position."""
    text: str
    """As it is repeated to the person."""


def wanted(question: Question) -> str:
    """What may be typed, for somebody who typed something else."""
    answer = question.answer
    if isinstance(answer, Choice):
        return f"a letter from a to {LETTERS[len(answer.options) - 1]}"
    return _ASKED[answer.unit]


def read_guess(question: Question, typed: str) -> Guess | None:
    """The guess in what was typed; None where there is none."""
    answer = question.answer
    return _choice(answer, typed) if isinstance(answer, Choice) else _number(answer, typed)


def _number(answer: Number, typed: str) -> Guess | None:
    text = typed.strip().lower().lstrip("~≈=").removeprefix("about").removeprefix("around").strip()
    if len(text) > len("99,999,999,999,999 percent"):
        return None
    head, _, rest = text.partition(" ")
    if head in _WORDS:
        value, unit = float(_WORDS[head]), rest.strip()
    else:
        found = _NUMBER.match(text)
        if found is None:
            return None
        value, unit = float(found[0].replace(",", "").replace("_", "")), text[found.end() :].strip()
    scale = _scale(answer, unit)
    if scale is None or not math.isfinite(value) or value < 0:
        return None
    if not answer.unit and value != int(value):
        return None
    value *= scale
    return Guess(value, Number(value, answer.unit).text)


def _scale(answer: Number, unit: str) -> float | None:
    """How much of the answer's unit a number with this behind it is; None where that makes no sense."""
    if not unit:
        return _BARE[answer.unit]
    if not answer.unit:
        # "5 kernels": a count may name what it counts.
        return 1.0 if re.fullmatch(r"[a-z ]{1,20}", unit) and unit not in ("ms", "us", "ns", "s", "mb", "gb") else None
    return _UNITS[answer.unit].get(unit)


def _choice(answer: Choice, typed: str) -> Guess | None:
    text = typed.strip().lower().strip(".()")
    if not text:
        return None
    if len(text) == 1 and text in LETTERS[: len(answer.options)]:
        at = LETTERS.index(text)
        return Guess(at, answer.options[at])
    options = [option.lower() for option in answer.options]
    same = [at for at, option in enumerate(options) if option == text]
    part = same or [at for at, option in enumerate(options) if text in option and len(text) > 1]
    return Guess(part[0], answer.options[part[0]]) if len(part) == 1 else None


Verdict = Literal["right", "near", "wrong"]


def judged(question: Question, guess: Guess) -> tuple[Verdict, str]:
    """How the guess holds against the trace, and what to say first. ``near`` is right within the allowance."""
    answer = question.answer
    if isinstance(answer, Choice):
        if int(guess.value) == answer.right:
            return "right", f"Yes: {answer.text}."
        return "wrong", f"You said: {guess.text}. The trace says: {answer.text}."
    if guess.value == answer.value or guess.text == answer.text:
        return "right", f"Yes: {answer.text}."
    if answer.within > 1 and answer.value > 0 and guess.value > 0:
        off = max(guess.value / answer.value, answer.value / guess.value)
        if off <= answer.within:
            return "near", f"You said {guess.text}; the trace says {answer.text}. Close enough."
        side = "more" if answer.value > guess.value else "less"
        return "wrong", f"You said {guess.text}; the trace says {answer.text}, {times_text(off)} {side}."
    return "wrong", f"You said {guess.text}; the trace says {answer.text}."
