"""Predictions as people write them, e.g. ``op aten::bmm kernels(role=gemm) == 2 because q@k and p@v``.

    prediction := [("op" | "annotation") NAME] metric ["(" conditions ")"] bound ["because" any text]
    bound      := ("==" | "!=" | "<" | "<=" | ">" | ">=") VALUE | "in" VALUE ".." VALUE
                | "in" "(" WORD, ... ")" | "absent" | "present"
    conditions := "a piece of a name" | role=... | unit=... | direction=... | ..., separated by commas

Every complaint is one sentence with the position of what is wrong.
"""

from __future__ import annotations

import re
from dataclasses import fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NoReturn

from foretrace.analysis.metrics.attention import BACKENDS
from foretrace.analysis.metrics.catalog import CATALOG
from foretrace.analysis.metrics.measure import complaint
from foretrace.analysis.metrics.metric import Unit
from foretrace.analysis.metrics.quantity import EVERYTHING, FINDING, Quantity, Scope, Select
from foretrace.errors import PredictionError
from foretrace.findings.engine import chosen_rules
from foretrace.predictions.findings_counted import ANY
from foretrace.predictions.prediction import Prediction
from foretrace.predictions.values import UNIT_WORDS, exact

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["parse", "parse_quantity"]

_SPACE: Final = re.compile(r"\s*")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_NAME: Final = re.compile(r"[^\s\"']\S*")
_STRING: Final = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'")
_NUMBER: Final = re.compile(r"[+-]?(?:\d[\d_]*(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_UNIT: Final = re.compile(r"\s*(%|[A-Za-zµμ]+)")
_COMPARE: Final = re.compile(r"==|!=|<=|>=|<|>|≤|≥|≠|=")
_BECAUSE: Final = re.compile(r"\s*\bbecause\b[:,]?\s*", re.IGNORECASE)
_TEXT: Final = re.compile(r"[A-Za-z][\w.+-]*")
_BARE: Final = re.compile(r"[^,()\"']*")
_KEY: Final = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)")
_DOTS: Final = re.compile(r"\s*\.\.\s*")
_CONDITIONS: Final = tuple(field.name for field in fields(Select) if field.name != "pattern")
_ASCII: Final = {"≤": "<=", "≥": ">=", "≠": "!="}

_WORDS_OF: Final[dict[str, tuple[str, ...]]] = {"bound": ("device", "cpu", "mixed"), "backend": BACKENDS}
_MOST: Final = 2**63 - 1
"""More than any number of a trace, whose times and sizes are 64 bits."""


def parse(text: str, because: str | None = None) -> Prediction:
    """Read one prediction.

    Raises:
        PredictionError: it does not parse, or no trace can answer it; one sentence with the position.
    """
    return _Parser(text).prediction(because)


def parse_quantity(text: str) -> Quantity:
    """Read what comes before the bound: ``kernels(role=softmax)``, ``op aten::bmm device_time``.

    Raises:
        PredictionError: it does not parse, or no trace can answer it.
    """
    parser = _Parser(text)
    quantity = parser.quantity()
    parser.end()
    return quantity


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def fail(self, why: str, at: int | None = None) -> NoReturn:
        place = self.at if at is None else at
        where = "at its end" if place >= len(self.text.rstrip()) else f"at character {place + 1}"
        raise PredictionError(f"prediction {self.text!r}, {where}: {why}.")

    def skip(self) -> None:
        match = _SPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def take(self, pattern: re.Pattern[str]) -> str | None:
        self.skip()
        match = pattern.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        return match[0]

    def peek(self, literal: str) -> bool:
        self.skip()
        return self.text.startswith(literal, self.at)

    def string(self) -> str | None:
        """A quoted text."""
        self.skip()
        if self.text[self.at : self.at + 1] not in ("'", '"'):
            return None
        match = _STRING.match(self.text, self.at)
        if match is None:
            self.fail("this quote is never closed")
        self.at = match.end()
        inside = match[1] if match[1] is not None else match[2]
        return re.sub(r"\\(.)", r"\1", inside)

    def end(self) -> None:
        self.skip()
        if self.at < len(self.text):
            self.fail("nothing is expected here any more, but because and a reason")

    # What is measured.

    def quantity(self) -> Quantity:
        self.skip()
        if self.at == len(self.text):
            self.fail("a prediction begins with a metric, e.g. kernels == 5")
        scope = self.scope()
        self.skip()
        begin = self.at
        name = self.take(_WORD)
        if name is None:
            example = "kernels == 5 or kernels in 4..6"
            self.fail(f"a metric is expected, as in {example}")
        if name != FINDING and name not in CATALOG:
            close = get_close_matches(name, [*CATALOG, FINDING], n=1)
            hint = f"did you mean {close[0]}?" if close else "`foretrace metrics TRACE` lists them"
            self.fail(f"there is no metric {name!r} ({hint})", begin)
        select, places = self.conditions() if self.peek("(") else (EVERYTHING, {})
        quantity = Quantity(name, select, scope)
        if name == FINDING:
            if scope is not None:
                self.fail(f"findings are of the whole recording and cannot be narrowed to an {scope.kind}", 0)
            if set(select.given()) != {"pattern"}:
                self.fail("a finding is named by its code, as in finding(FT101)", begin)
            self.rule(select.pattern or "", places)
            return quantity
        wrong = complaint(quantity)
        if wrong is not None:
            word, why = wrong
            self.fail(why, places.get(word, begin))
        return quantity

    def rule(self, word: str, places: dict[str, int]) -> None:
        """Complain of a rule that there is not."""
        if word.lower() == ANY:
            return
        if not any(word.lower() in (check.rule.code.lower(), check.rule.name) for check in chosen_rules()):
            self.fail(f"there is no rule {word!r} (`foretrace rules` lists them)", places[word])

    def scope(self) -> Scope | None:
        before = self.at
        word = self.take(_WORD)
        if word not in ("op", "annotation") or self.at >= len(self.text) or not self.text[self.at].isspace():
            self.at = before
            return None
        self.skip()
        if _COMPARE.match(self.text, self.at):
            self.fail(f"the name of an {word} is expected")
        name = self.string() or self.take(_NAME)
        if not name:
            self.fail(f"the name of an {word} is expected")
        return Scope("op" if word == "op" else "annotation", name)

    def conditions(self) -> tuple[Select, dict[str, int]]:
        """(what is between the parentheses, where each of its words stands)."""
        opened = self.at
        self.at += 1
        given: dict[str, str] = {}
        places: dict[str, int] = {}
        while not self.peek(")"):
            if self.at >= len(self.text):
                self.fail("this parenthesis is never closed", opened)
            begin = self.at
            key = self.key()
            self.skip()
            value_at = self.at
            value = self.string()
            if value is None:
                match = _BARE.match(self.text, self.at)
                value = match[0].strip() if match else ""
                self.at = match.end() if match else self.at
            if not value:
                self.fail("a condition is expected, as in kernels(role=softmax)", value_at)
            if key in given:
                self.fail(f"{'a name' if key == 'pattern' else key} is given twice", begin)
            given[key] = value
            places[value] = value_at
            places.setdefault(key, begin)
            if self.peek(","):
                self.at += 1
            elif not self.peek(")"):
                if self.at >= len(self.text):
                    self.fail("this parenthesis is never closed", opened)
                self.fail("a comma or a closing parenthesis is expected")
        self.at += 1
        if not given:
            self.fail("a condition is expected, as in kernels(role=softmax)", opened)
        return Select(**given), places

    def key(self) -> str:
        """The name of a condition, with its ``=`` read past; ``pattern`` where there is none."""
        match = _KEY.match(self.text, self.at)
        if match is None:
            return "pattern"
        if match[1] not in _CONDITIONS:
            self.fail(f"there is no condition {match[1]!r}; they are {', '.join(_CONDITIONS)}")
        self.at = match.end()
        return match[1]

    # What is expected of it.

    def prediction(self, because: str | None) -> Prediction:
        quantity = self.quantity()
        unit = CATALOG[quantity.name].unit if quantity.name != FINDING else Unit.COUNT
        bound = self.bound(quantity.name, unit)
        written = self.text[: self.at].strip()
        match = _BECAUSE.match(self.text, self.at)
        if match is not None:
            reason = self.text[match.end() :].strip()
            if not reason:
                self.at = match.end()
                self.fail("a reason is expected after because")
            self.at = len(self.text)
            because = because or reason
        self.end()
        return Prediction(quantity, because=because, unit=unit, written=written, **bound)  # type: ignore[arg-type]

    def bound(self, name: str, unit: Unit) -> dict[str, object]:
        self.skip()
        begin = self.at
        word = self.take(_WORD)
        if word in ("absent", "present"):
            if unit is not Unit.COUNT:
                self.fail(f"only a count can be {word}", begin)
            return {"low": 0, "high": 0} if word == "absent" else {"low": 1}
        if word == "in":
            return self.words_in(name) if unit is Unit.TEXT else self.range(name, unit)
        if word is not None:
            self.fail("a comparison is expected, one of == != < <= > >= in absent present", begin)
        sign = self.take(_COMPARE)
        if sign is None:
            self.fail("a comparison is expected, one of == != < <= > >= in absent present")
        if sign == "=":
            self.fail("write == to compare", begin)
        sign = _ASCII.get(sign, sign)
        if unit is Unit.TEXT:
            if sign not in ("==", "!="):
                self.fail(f"{name} is a word, which takes == or != or in", begin)
            return {"words": (self.text_word(name),), "negated": sign == "!="}
        value = self.value(name, unit)
        return _BOUNDS[sign](value)

    def range(self, name: str, unit: Unit) -> dict[str, object]:
        self.skip()
        begin = self.at
        low = self.value(name, unit, self.unit_of_range())
        if not self.peek(".."):
            self.fail("a range is written low..high, as in kernels in 4..6")
        self.at += 2
        high = self.value(name, unit)
        if high < low:
            self.fail("this range ends before it begins", begin)
        return {"low": low, "high": high}

    def unit_of_range(self) -> str | None:
        """The unit of the second bound, which the first takes where it has none of its own: ``4..6us``."""
        at = self.at
        for pattern in (_NUMBER, _DOTS, _NUMBER):
            match = pattern.match(self.text, at)
            if match is None:
                return None
            at = match.end()
        unit = _UNIT.match(self.text, at)
        return unit[1] if unit is not None else None

    def words_in(self, name: str) -> dict[str, object]:
        if not self.peek("("):
            self.fail(f"a list is expected, as in {name} in (flash, cudnn)")
        self.at += 1
        words = [self.text_word(name)]
        while self.peek(","):
            self.at += 1
            words.append(self.text_word(name))
        if not self.peek(")"):
            self.fail("a comma or a closing parenthesis is expected")
        self.at += 1
        return {"words": tuple(words)}

    def text_word(self, name: str) -> str:
        self.skip()
        begin = self.at
        word = self.string() or self.take(_TEXT)
        if not word:
            self.fail("a word is expected")
        known = _WORDS_OF.get(name)
        if known is None:
            return word
        spelled = {one.lower(): one for one in known}
        if word.lower() not in spelled:
            close = get_close_matches(word.lower(), spelled, n=1)
            hint = f" (did you mean {_quotable(spelled[close[0]])}?)" if close else ""
            self.fail(f"{name} is one of {', '.join(map(_quotable, known))}, not {word!r}{hint}", begin)
        return spelled[word.lower()]

    def value(self, name: str, unit: Unit, shared: str | None = None) -> float:
        self.skip()
        begin = self.at
        number = self.take(_NUMBER)
        if number is None:
            self.fail(f"a number is expected{_with_unit(unit)}")
        match = _UNIT.match(self.text, self.at)
        word = match[1] if match is not None else ""
        apart = match is not None and match.start(1) > match.start()
        if word.lower() == "because" or (apart and unit is Unit.COUNT and word not in _ALL_UNITS):
            word, match = "", None
        scales = UNIT_WORDS[unit]
        written = word or shared or ""
        if written and written not in scales:
            allowed = ", ".join(name for name in scales if name and name not in ("μs", "KB"))
            self.fail(
                f"{name} is given in {allowed}, not {written}" if allowed else f"{name} is a count and takes no unit",
                match.start(1) if match is not None else begin,
            )
        if match is not None:
            self.at = match.end()
        try:
            value = exact(number.replace("_", ""), scales.get(written, UNIT_WORDS[Unit.COUNT][""]))
        except ValueError:
            self.fail(f"{name} is never so large or small a number", begin)
        if abs(value) > _MOST:
            self.fail(f"{name} is never so large a number", begin)
        if not written and unit is Unit.NS and value != 0:
            self.fail(f"{name} needs a unit: ns, us, ms or s")
        if value < 0:
            self.fail(f"{name} is never negative", begin)
        if unit is Unit.SHARE and not written and value > 1:
            self.fail(f"{name} is a share: write 0.9 or 90%", begin)
        return value


_ALL_UNITS: Final = frozenset(word for words in UNIT_WORDS.values() for word in words)


def _quotable(word: str) -> str:
    """A word as it is written in a prediction: quoted where it holds spaces."""
    return f'"{word}"' if " " in word else word


def _with_unit(unit: Unit) -> str:
    return {
        Unit.NS: " with its unit, e.g. 200us",
        Unit.BYTES: ", e.g. 268MB",
        Unit.SHARE: ", e.g. 0.9 or 90%",
    }.get(unit, "")


_BOUNDS: Final[dict[str, Callable[[float], dict[str, object]]]] = {
    "==": lambda value: {"low": value, "high": value},
    "!=": lambda value: {"low": value, "high": value, "negated": True},
    "<": lambda value: {"high": value, "high_open": True},
    "<=": lambda value: {"high": value},
    ">": lambda value: {"low": value, "low_open": True},
    ">=": lambda value: {"low": value},
}
