"""Print a lesson's blocks for people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rich.text import Text

from foretrace.learn.command import continued
from foretrace.learn.lanes import draw_lanes
from foretrace.learn.lesson import Choice, Code, Grid, Lanes, Prose
from foretrace.learn.table import grid_lines

if TYPE_CHECKING:
    from rich.console import Console

    from foretrace.learn.lesson import Question, Try, View
    from foretrace.learn.registry import Lesson

__all__ = ["print_answer", "print_lesson_title", "print_lessons", "print_question", "print_try", "print_view", "say"]

_WIDEST: Final = 92
"""Prose wider than this is hard to read."""
_CODE: Final = re.compile(r"`([^`]*)`")
_GRID_WIDEST: Final = 100
_INDENT: Final = 1
_CODE_INDENT: Final = 4
_PROMPT: Final = "     $ "


def _width(out: Console) -> int:
    return min(out.width, _WIDEST)


def say(out: Console, text: str, *, style: str = "", indent: int = _INDENT, gap: bool = True) -> None:
    """A paragraph, wrapped at words; code in backticks has a color where there are colors."""
    shown = Text(style=style)
    at = 0
    for match in _CODE.finditer(text):
        shown.append(text[at : match.start()])
        shown.append(match[1] if out.color_system else match[0], style="cyan")
        at = match.end()
    shown.append(text[at:])
    _lines(out, shown, indent)
    if gap:
        out.print()


def _lines(out: Console, text: Text, indent: int) -> None:
    """Wrapped and indented, without blanks at the ends."""
    for line in text.wrap(out, max(20, _width(out) - indent)):
        line.rstrip()
        out.print(Text(" " * indent) + line if line.plain else line, soft_wrap=True)


def print_view(out: Console, view: View) -> None:
    """Prose, code, a table or lanes, and an empty line."""
    if isinstance(view, Prose):
        say(out, view.text)
    elif isinstance(view, Code):
        _code(out, view)
    elif isinstance(view, Grid):
        _grid(out, view)
    else:
        _lanes(out, view)


def _code(out: Console, code: Code) -> None:
    if not code.language:
        _lines(out, Text(code.text), _CODE_INDENT)
    else:
        shown = Text(code.text)
        if out.color_system:
            from rich.syntax import Syntax  # noqa: PLC0415 - Pygments, for terminals only

            shown = Syntax("", code.language, theme="ansi_dark").highlight(code.text)
            shown.rstrip()
        for line in shown.split("\n"):  # a line too wide for the terminal is left whole: it would break in a word
            out.print(Text(" " * _CODE_INDENT) + line if line.plain else line, soft_wrap=True)
    out.print()


def _grid(out: Console, grid: Grid) -> None:
    head, rows = grid_lines(grid, min(out.width, _GRID_WIDEST) - _INDENT)
    for line in (head, *rows):
        style = "bold" if line is head else ""
        out.print(Text(" " * _INDENT + line if line else "", style=style), soft_wrap=True)
    out.print()


def _lanes(out: Console, lanes: Lanes) -> None:
    if lanes.title:
        say(out, lanes.title, style="italic", gap=False)
    lines, legend = draw_lanes(lanes, min(out.width, 100))
    for line in lines:
        shown = Text(no_wrap=True)
        for span in line:
            shown.append(span.text, style=span.style)
        shown.rstrip()
        out.print(shown, soft_wrap=True)
    out.print()
    if legend:
        say(out, legend)


def print_question(out: Console, number: int, total: int, question: Question) -> None:
    """The question and its options."""
    out.print(Text(f" Question {number} of {total}", style="bold magenta"))
    say(out, question.ask, style="bold", gap=not isinstance(question.answer, Choice))
    if isinstance(question.answer, Choice):
        for at, option in enumerate(question.answer.options, 1):
            say(out, f"{at})  {option}", indent=3, gap=False)
        out.print()


def print_answer(out: Console, question: Question) -> None:
    """The answer, for who does not guess."""
    say(out, f"Answer: {question.answer.text}", style="bold green")


def print_try(out: Console, thing: Try) -> None:
    """What to do next."""
    out.print(Text(" Try", style="bold magenta"))
    say(out, thing.text)
    for at, line in enumerate(continued(thing.command, out.width - len(_PROMPT))):
        out.print(Text((" " * len(_PROMPT) if at else _PROMPT) + line, style="bold"), soft_wrap=True)
    out.print()


def print_lesson_title(out: Console, lesson: Lesson, total: int, made_with: str) -> None:
    """Which lesson, how long, and what it was recorded on."""
    out.print(Text(f" {lesson.title}", style="bold"))
    say(out, f"Lesson {lesson.number} of {total} · about {lesson.minutes} minutes · {made_with}", style="dim")


def print_lessons(out: Console, lessons: list[Lesson], made_with: str) -> None:
    """The list."""
    say(out, "Guess what a trace holds, then look. No GPU is needed: the traces were " + f"{made_with}.")
    names, titles = max(len(each.name) for each in lessons), max(len(each.title) for each in lessons)
    for lesson in lessons:
        line = Text(f"{'':<{_INDENT}}{lesson.number}  ")
        line.append(f"{lesson.name:<{names}}  ", style="cyan")
        line.append(f"{lesson.title:<{titles}}", style="bold")
        line.append(f"  {lesson.minutes:>2} min")
        out.print(line, soft_wrap=True)
        say(out, lesson.teaches, style="dim", indent=len(f"{'':<{_INDENT}}{lesson.number}  ") + names + 2, gap=False)
    out.print()
    first = lessons[0].name
    say(out, f"`foretrace learn {first}` starts the first; `--answers` prints questions and answers without asking.")
