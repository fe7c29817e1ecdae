"""How long a lesson takes somebody who reads slowly and thinks before guessing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from foretrace.learn.lesson import Choice, Code, Prose, Question, Try

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foretrace.learn.lesson import Block, View

__all__ = ["minutes_of"]

# English prose is read at 240 words a minute; a technical one by somebody to whom it is new, at about half of that.
_WORDS_A_MINUTE: Final = 120
_QUESTION: Final = 2 / 3
"""Minutes to think about a question and to type a guess."""
_FIGURE: Final = 1 / 4
"""Minutes to look at a table, a drawing or a piece of code."""


def minutes_of(blocks: Iterable[Block]) -> int:
    """Whole minutes, rounded up: words, questions, and what there is to look at."""
    return math.ceil(sum(_minutes(block) for block in blocks))


def _minutes(block: Block) -> float:
    if isinstance(block, Question):
        options = " ".join(block.answer.options) if isinstance(block.answer, Choice) else ""
        views: tuple[View, ...] = (*block.look, *block.because)
        return _QUESTION + _reading(block.ask) + _reading(options) + sum(map(_minutes, views))
    if isinstance(block, Prose):
        return _reading(block.text)
    if isinstance(block, Try):
        return _reading(block.text) + _FIGURE
    if isinstance(block, Code) and not block.language:
        return _reading(block.text)
    return _FIGURE


def _reading(text: str) -> float:
    return len(text.split()) / _WORDS_A_MINUTE
