"""A lesson as text, to look for sentences in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.learn.content import block_json
from foretrace.learn.lesson import Choice, Prose, Question, Try
from foretrace.learn.recorded import Shelf
from foretrace.learn.registry import LESSONS

if TYPE_CHECKING:
    from collections.abc import Iterator


def told(name: str, shelf: Shelf | None = None) -> str:
    """Everything a lesson says, line by line."""
    return "\n".join(line for block in LESSONS[name].blocks(shelf or Shelf()) for line in lines_of(block_json(block)))


def lines_of(value: object) -> Iterator[str]:
    """Every text in some JSON of a lesson."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            if key not in ("kind", "language", "unit"):
                yield from lines_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from lines_of(each)


def sentences(name: str) -> list[str]:
    """Its prose, questions, hints and options, without code, tables and drawings."""
    found: list[str] = []
    stack: list[object] = [*LESSONS[name].blocks(Shelf())]
    while stack:
        block = stack.pop()
        if isinstance(block, Prose | Try):
            found.append(block.text)
        elif isinstance(block, Question):
            found += [block.ask, block.hint, *(near.text for near in block.near)]
            found += block.answer.options if isinstance(block.answer, Choice) else ()
            stack += [*block.look, *block.because]
    return found


def questions(name: str, shelf: Shelf | None = None) -> dict[str, Question]:
    """A lesson's questions by key."""
    return {block.key: block for block in LESSONS[name].blocks(shelf or Shelf()) if isinstance(block, Question)}


def explanation(name: str, key: str, shelf: Shelf | None = None) -> str:
    """What is said after a question."""
    question = questions(name, shelf)[key]
    return " ".join(line for view in question.because for line in lines_of(block_json(view)))
