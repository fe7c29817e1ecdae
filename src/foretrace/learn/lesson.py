"""What a lesson is made of: prose, code, views of a trace, and questions with the answer that the trace gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from foretrace.units import bytes_text, share_text, time_scale, time_text

if TYPE_CHECKING:
    from foretrace.learn.recorded import Recorded

__all__ = [
    "Answer",
    "Block",
    "Choice",
    "Code",
    "Grid",
    "Lanes",
    "Near",
    "Number",
    "Prose",
    "Question",
    "Try",
    "number_text",
    "prose",
    "times_text",
]


@dataclass(frozen=True)
class Prose:
    """A paragraph. Code stands in backticks."""

    text: str


@dataclass(frozen=True)
class Code:
    """A piece of code, or of a terminal."""

    text: str
    language: str = "python"


@dataclass(frozen=True)
class Grid:
    """Rows under headings."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text: tuple[int, ...] = (0,)
    """The columns that hold text; the others hold numbers."""


@dataclass(frozen=True)
class Lanes:
    """One step of a recording, drawn: ops over the device's streams, on one time axis."""

    recorded: Recorded
    step: int
    """Position in the trace's steps."""
    title: str
    quiet: bool = False
    """Also the ops under which nothing is launched."""
    apart: bool = False
    """Host and device each on an axis of their own."""
    lettered: bool = True
    """A letter for each piece of device work, as in the table beside it."""
    legend: Literal["", "short", "long"] = ""
    """Whether its marks are explained below it: not at all, in a line, in sentences."""


@dataclass(frozen=True)
class Try:
    """Something to do after the lesson."""

    text: str
    command: str


@dataclass(frozen=True)
class Number:
    """A number as the answer."""

    value: float
    unit: str = ""
    """``""`` (a count), ``ns``, ``bytes``, ``share`` (0 to 1), or ``times``."""
    within: float = 1.0
    """A guess counts as right up to this factor above or below; 1 is exact."""
    most: float | None = None
    """What no guess can be above, such as 1 for a share of a whole; None where there is no such limit."""

    @property
    def text(self) -> str:
        """The answer as people read it."""
        if self.unit == "ns":
            return time_text(self.value)
        if self.unit == "bytes":
            return bytes_text(self.value)
        if self.unit == "share":
            percent = round(100 * self.value, 6)
            return f"{percent:g} %" if percent == round(percent, 2) else share_text(self.value)
        if self.unit == "times":
            return times_text(self.value)
        return f"{int(self.value):,}" if self.value == int(self.value) else f"{self.value:,.1f}"

    @property
    def shown(self) -> float:
        """The number that ``text`` stands for: what people can compare a guess with."""
        if self.unit == "ns":
            scale = time_scale(self.value)
            return round(self.value / scale.divisor, scale.decimals) * scale.divisor
        if self.unit == "times":
            return float(times_text(self.value).partition(" ")[0].replace(",", ""))
        if self.unit == "share":
            said = self.text.partition(" ")[0]
            return self.value if "<" in said else float(said) / 100
        return self.value


@dataclass(frozen=True)
class Choice:
    """One of a few as the answer."""

    options: tuple[str, ...]
    right: int
    """Position of the right one."""

    @property
    def text(self) -> str:
        """The answer as people read it."""
        return self.options[self.right]


Answer = Number | Choice


@dataclass(frozen=True)
class Near:
    """A wrong guess that many make, and what is behind it."""

    guess: float
    """The number guessed; of a choice, the option's position."""
    text: str


@dataclass(frozen=True)
class Question:
    """Asked before anything is shown; then the trace is opened and the guess held against it."""

    key: str
    """A short name, the same whatever the recording holds."""
    about: str
    """What is asked for in a few words, as in a table."""
    ask: str
    answer: Answer
    look: tuple[View, ...]
    """What is opened after the guess."""
    because: tuple[View, ...]
    """Why it is so, from the events."""
    hint: str = ""
    near: tuple[Near, ...] = ()
    recording: str = ""
    """With ``metric``: the recording that the guess is held against ..."""
    metric: str = ""
    """... as a prediction of this metric."""
    tried: bool = False
    """The answer is in no trace: it was tried out when the recordings were made."""


View = Prose | Code | Grid | Lanes
Block = View | Question | Try


def prose(*sentences: str) -> Prose:
    """A paragraph of the sentences that say something."""
    return Prose(" ".join(sentence for sentence in sentences if sentence))


_BARE = 9.95
_MANY = 100


def times_text(ratio: float) -> str:
    """A ratio, e.g. ``1.2 times``, ``18 times``, ``690 times``: two digits, so that what is shown gives it as well."""
    if ratio < _BARE:
        return f"{ratio:.1f} times"
    if ratio < _MANY:
        return f"{ratio:.0f} times"
    return f"{float(f'{ratio:.2g}'):,.0f} times"


def number_text(value: float) -> str:
    """A number with all its digits, e.g. ``1,234``, ``2.5``."""
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4g}"
