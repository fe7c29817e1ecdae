"""What a lesson is made of: prose, code, views of a trace, and questions with the answer that the trace gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foretrace.units import bytes_text, share_text, time_text

if TYPE_CHECKING:
    from foretrace.learn.recorded import Recorded

__all__ = ["Answer", "Block", "Choice", "Code", "Grid", "Lanes", "Near", "Number", "Prose", "Question", "Try", "prose"]


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


View = Prose | Code | Grid | Lanes
Block = View | Question | Try


def prose(*sentences: str) -> Prose:
    """A paragraph of the sentences that say something."""
    return Prose(" ".join(sentence for sentence in sentences if sentence))


_BARE = 9.95


def times_text(ratio: float) -> str:
    """A ratio, e.g. ``1.2 times``, ``18 times``."""
    return f"{ratio:.1f} times" if ratio < _BARE else f"{ratio:,.0f} times"
