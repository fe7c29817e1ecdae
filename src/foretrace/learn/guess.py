"""What somebody typed as a guess: a number, one of the options, or nothing that can be one, and why not."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, Literal

from foretrace.learn.lesson import Choice, Number, Question, number_text, times_text
from foretrace.report.escape import ellipsis, plain

__all__ = ["Guess", "Refused", "allowed", "judged", "read_guess", "wanted"]

_LONGEST: Final = 40
_LARGEST: Final = 1e15
"""Beyond any count, size, time or factor that a trace could hold, in the answer's unit."""
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
# What may stand before a number: people think aloud.
_BEFORE: Final = re.compile(
    r"about|approx(?:imately)?|around|circa|dunno|guess|hmm?|i|i'?d|i'?m|it|it'?s|is|like|maybe|perhaps|probably|"
    r"roughly|say|so|some|think|um|well|would|"
)
# A count may name what it counts: "5 kernels", "5 kernels a call".
_COUNTED: Final = re.compile(
    r"(?:kernel|launch|launche|call|cop(?:y|ie)|memset|op|cast|transpose|gemm)s?(?: [a-z ]{1,20})?", re.IGNORECASE
)
# What a bare number means.
_BARE: Final = {"ns": 1e3, "bytes": 1e6, "share": 0.01, "times": 1.0, "": 1.0}
_ASKED: Final = {
    "ns": "a time such as 20 us (bare numbers are us)",
    "bytes": "a size such as 20 MB (bare numbers are MB)",
    "share": "a percentage such as 40",
    "times": "a factor such as 3 (that is, 3 times)",
    "": "a whole number such as 3",
}
_KIND: Final = {"ns": "a time", "bytes": "a size", "share": "a percentage", "times": "a factor", "": "a count"}
_OPTION: Final = re.compile(r"\(?\s*(\d+)\s*[).:]*\s*(.*)", re.DOTALL)
_MARKS: Final = re.compile(r"[\W_]+")


@dataclass(frozen=True)
class Guess:
    """A guess that was understood."""

    value: float
    """The number, in the answer's unit; of a choice, the option's position."""
    text: str
    """As it is repeated to the person."""


@dataclass(frozen=True)
class Refused:
    """What was typed is no guess."""

    why: str
    """A clause, e.g. ``a count is a whole number``."""


def wanted(question: Question) -> str:
    """What may be typed."""
    answer = question.answer
    return f"a number from 1 to {len(answer.options)}" if isinstance(answer, Choice) else _ASKED[answer.unit]


def allowed(question: Question) -> str:
    """How near is near enough, as a sentence; empty where only the answer itself is right."""
    within = 1.0 if isinstance(question.answer, Choice) else question.answer.within
    return f" Within a factor of {within:g} is close enough." if within > 1 else ""


def read_guess(question: Question, typed: str) -> Guess | Refused:
    """The guess in what was typed, or why there is none in it."""
    answer = question.answer
    return _choice(answer, typed) if isinstance(answer, Choice) else _number(answer, typed)


def _number(answer: Number, typed: str) -> Guess | Refused:
    text = typed.strip().lower().rstrip("?!. ")
    if len(text) > _LONGEST:
        return Refused("that is too long for a number")
    words = text.split()
    while len(words) > 1 and _BEFORE.fullmatch(words[0].strip("~≈=,.:;")):
        words.pop(0)
    text = " ".join(words).lstrip("~≈= ")
    head, _, rest = text.partition(" ")
    if head in _WORDS:
        value, unit = float(_WORDS[head]), rest.strip()
    else:
        found = _NUMBER.match(text)
        if found is None:
            return Refused(_no_number(answer, text))
        value, unit = float(found[0].replace(",", "").replace("_", "")), text[found.end() :].strip()
    scale = _scale(answer, unit)
    if scale is None:
        return Refused(f"{_quoted(unit)} does not fit behind {_KIND[answer.unit]}")
    why = _impossible(answer, value, value * scale) or _unclear(answer, value, unit)
    return Refused(why) if why else Guess(value * scale, _repeated(answer, value * scale))


def _no_number(answer: Number, text: str) -> str:
    """Why there is none, or what stands before it that could turn its meaning around."""
    found = _NUMBER.search(text)
    ahead = text[: found.start()].strip(" ,") if found is not None else ""
    worded = bool(ahead) and all(letter.isalpha() or letter in " ,'" for letter in ahead)
    return f"{_quoted(ahead)} does not fit before {_KIND[answer.unit]}" if worded else "there is no number in it"


def _unclear(answer: Number, value: float, unit: str) -> str:
    """Of a share below one nobody knows whether it is of a hundred or of one."""
    if answer.unit != "share" or unit or not 0 < value < 1:
        return ""
    return f"it could mean {number_text(value)} % or {number_text(100 * value)} %; type the % sign with it"


def _impossible(answer: Number, value: float, scaled: float) -> str:
    """Why a number cannot be the answer to anything of this kind; empty where it can."""
    if not math.isfinite(value) or scaled > _LARGEST:
        return "that is larger than anything a trace can hold"
    if value < 0:
        return f"{_KIND[answer.unit]} is not below zero"
    if not answer.unit and value != int(value):
        return "a count is a whole number"
    if answer.unit == "times" and value == 0:
        return "zero times as much would be nothing at all"
    if answer.most is not None and scaled > answer.most:
        return f"it cannot be more than {Number(answer.most, answer.unit).text}"
    return ""


def _repeated(answer: Number, value: float) -> str:
    """A guess as it is said back: with all its digits."""
    if answer.unit == "times":
        return "1 time" if value == 1 else f"{number_text(value)} times"
    return f"{number_text(100 * value)} %" if answer.unit == "share" else Number(value, answer.unit).text


def _scale(answer: Number, unit: str) -> float | None:
    """How much of the answer's unit a number with this behind it is; None where that makes no sense."""
    if not unit:
        return _BARE[answer.unit]
    if not answer.unit:
        return 1.0 if _COUNTED.fullmatch(unit) else None
    return _UNITS[answer.unit].get(unit)


def _choice(answer: Choice, typed: str) -> Guess | Refused:
    options = [option.lower() for option in answer.options]
    text = typed.strip().lower()
    numbered = _OPTION.fullmatch(text)
    if numbered is not None and text not in options:
        return _numbered(answer, numbered[1], numbered[2].strip(" .)"))
    text = text.strip(".()?! ")
    part = _meant(options, text)
    if len(part) == 1:
        return Guess(part[0], answer.options[part[0]])
    if len(text) == 1 and text.isalpha():
        return Refused("letters stand for device work here, options have numbers")
    many = "several of the options have" if part else "none of the options has"
    return Refused(f"{many} {_quoted(text)} in it")


def _meant(options: list[str], text: str) -> list[int]:
    """The options that a text may mean: the same one, or those that hold it as words, or those that hold it at all."""
    plainly = _plainly(text)
    if len(plainly) < 2:  # noqa: PLR2004 - a letter is in every option
        return [at for at, option in enumerate(options) if option == text]
    held = [_plainly(option) for option in options]
    tests = (
        [option == text for option in options],
        [option == plainly for option in held],
        [f" {plainly} " in f" {option} " for option in held],
        [plainly in option for option in held],
    )
    return next(([at for at, fits in enumerate(test) if fits] for test in tests if any(test)), [])


def _plainly(text: str) -> str:
    """Its words, without what joins them: ``masked_fill`` is ``masked fill``."""
    return _MARKS.sub(" ", text.lower()).strip()


def _numbered(answer: Choice, digits: str, rest: str) -> Guess | Refused:
    """An option by its number; what stands behind the number must not contradict it."""
    number = int(digits) if len(digits) <= _LONGEST else 0
    if not 1 <= number <= len(answer.options):
        return Refused(f"there is no option {ellipsis(digits, _LONGEST)}")
    option = answer.options[number - 1]
    if rest and _plainly(rest) not in _plainly(option):
        return Refused(f"option {number} does not say {_quoted(rest)}")
    return Guess(number - 1, option)


def _quoted(text: str) -> str:
    return f'"{ellipsis(plain(text), _LONGEST)}"'


Verdict = Literal["right", "near", "wrong"]


def judged(question: Question, guess: Guess) -> tuple[Verdict, str]:
    """How the guess holds against the trace, and what to say first. ``near`` is right within the allowance."""
    answer = question.answer
    says = "it was tried" if question.tried else "the trace says"
    if isinstance(answer, Choice):
        if int(guess.value) == answer.right:
            return "right", f"Right: {answer.text}."
        return "wrong", f"You said: {guess.text}. {says.capitalize()}: {answer.text}."
    if guess.value == answer.value or Number(guess.value, answer.unit).text == answer.text:
        return "right", f"Right: {answer.text}."
    told = f"You said {guess.text}; {says}{':' if question.tried else ''} {answer.text}"
    if answer.within > 1 and answer.shown > 0 and guess.value > 0:
        off = max(guess.value / answer.shown, answer.shown / guess.value)
        if off <= answer.within:
            return "near", f"{told}. Close enough: within a factor of {answer.within:g}."
        side = "high" if guess.value > answer.shown else "low"
        return "wrong", f"{told}. Your guess is {times_text(off)} too {side}."
    return "wrong", f"{told}."
