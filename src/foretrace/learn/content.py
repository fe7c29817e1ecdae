"""A lesson as plain values, for courses, and as a page of the documentation."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, Final

from foretrace.learn.guess import allowed
from foretrace.learn.lanes import draw_lanes, drawn_text
from foretrace.learn.lesson import Choice, Code, Grid, Lanes, Prose, Question, Try

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.learn.lesson import Block, View
    from foretrace.learn.registry import Lesson

__all__ = ["block_json", "lesson_page", "lessons_index"]

_WIDTH: Final = 80
_BEFORE: Final = (
    "Guess what a trace holds, then look. `foretrace learn` lists the lessons; `foretrace learn NAME` asks and shows "
    "in the terminal. No GPU is needed. These pages are made from the same source."
)
_AFTER: Final = (
    "`foretrace learn NAME --live` records a lesson on your own GPU and says where it differs. `--save DIR` copies a "
    "lesson's recordings, so that you can open them with any other command."
)


def block_json(block: Block) -> dict[str, Any]:
    """One block: ``kind`` says which keys it has."""
    if isinstance(block, Prose):
        return {"kind": "prose", "text": block.text}
    if isinstance(block, Code):
        return {"kind": "code", "language": block.language or None, "text": block.text}
    if isinstance(block, Grid):
        return {"kind": "table", "headings": list(block.headings), "rows": [list(row) for row in block.rows]}
    if isinstance(block, Lanes):
        drawn, legend = draw_lanes(block, _WIDTH)
        return {
            "kind": "lanes",
            "recording": block.recorded.name,
            "title": block.title,
            "text": drawn_text(drawn),
            "legend": legend or None,
        }
    if isinstance(block, Try):
        return {"kind": "try", "text": block.text, "command": block.command}
    return _question_json(block)


def _question_json(question: Question) -> dict[str, Any]:
    answer = question.answer
    number = None if isinstance(answer, Choice) else answer
    return {
        "kind": "question",
        "key": question.key,
        "about": question.about,
        "ask": question.ask,
        "hint": question.hint or None,
        "options": list(answer.options) if isinstance(answer, Choice) else None,
        "answer": answer.right if isinstance(answer, Choice) else answer.value,
        "answer_text": answer.text,
        "unit": None if number is None else number.unit or "count",
        "within": None if number is None else number.within,
        "near": [{"guess": near.guess, "text": near.text} for near in question.near],
        "recording": question.recording or None,
        "metric": question.metric or None,
        "tried": question.tried,
        "look": [block_json(view) for view in question.look],
        "because": [block_json(view) for view in question.because],
    }


# Markdown.

_CODE: Final = re.compile(r"(`[^`]*`)")
_SPECIAL: Final = re.compile(r"([\\*_\[\]|#~^$])")


def _marked(text: str) -> str:
    """Text as Markdown: code in backticks stays, everything else that could be markup is escaped."""
    parts = _CODE.split(text)
    return "".join(
        part if at % 2 else _SPECIAL.sub(r"\\\1", html.escape(part, quote=False)) for at, part in enumerate(parts)
    )


def _cell(text: str) -> str:
    return _marked(text).replace("\n", " ")


def _fenced(text: str, language: str = "text") -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def _view(view: View) -> str:
    if isinstance(view, Prose):
        return _marked(view.text)
    if isinstance(view, Code):
        return _fenced(view.text, view.language or "text")
    if isinstance(view, Grid):
        rule = ["---" if at in view.text else "---:" for at in range(len(view.headings))]
        head = [_cell(text) or " " for text in view.headings]
        lines = [head, rule, *([_cell(text) or " " for text in row] for row in view.rows)]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    drawn, legend = draw_lanes(view, _WIDTH)
    parts = [f"*{_marked(view.title)}*"] * bool(view.title) + [_fenced(drawn_text(drawn))]
    return "\n\n".join(parts + [_marked(legend)] * bool(legend))


def _folded(title: str, body: str) -> str:
    """A block that the reader opens, on the site and where Markdown is shown as it lies."""
    return f"<details markdown>\n<summary>{title}</summary>\n\n{body}\n\n</details>"


def _asked(number: int, question: Question) -> list[str]:
    parts = [f"## Question {number}", f"**{_marked(question.ask)}**"]
    if isinstance(question.answer, Choice):
        options = enumerate(question.answer.options, 1)
        parts.append("\n".join(f"{at}. {_marked(option)}" for at, option in options))
    if allowed(question):
        parts.append(_marked(allowed(question).strip()))
    if question.hint:
        parts.append(_folded("A hint", _marked(question.hint)))
    body = [f"**{_marked(question.answer.text)}**", *(_view(view) for view in (*question.look, *question.because))]
    where = "came out when it was tried" if question.tried else "the trace says"
    parts.append(_folded(f"Guess first; then open what {where}", "\n\n".join(body)))
    return parts


def lesson_page(lesson: Lesson, blocks: Sequence[Block], made_with: str) -> str:
    """The lesson as a page."""
    opening = (
        f"Lesson {lesson.number}, about {lesson.minutes} minutes: {_marked(lesson.teaches)}. The traces were "
        f"{_marked(made_with)}; every number here is computed from them. In a terminal, `foretrace learn "
        f"{lesson.name}` asks you first."
    )
    parts = [f"# {_marked(lesson.title)}", opening]
    number = 0
    for block in blocks:
        if isinstance(block, Question):
            number += 1
            parts += _asked(number, block)
        elif isinstance(block, Try):
            parts += ["## Try", _marked(block.text), _fenced(f"$ {block.command}", "console")]
        else:
            parts.append(_view(block))
    return "\n\n".join(parts) + "\n"


def lessons_index(lessons: Sequence[Lesson]) -> str:
    """The list of lessons as a page."""
    rows = [
        f"| {lesson.number} | [{_cell(lesson.title)}]({lesson.name}.md) | {_cell(lesson.teaches)} | {lesson.minutes} |"
        for lesson in lessons
    ]
    table = ["| | lesson | teaches | minutes |", "|---:|---|---|---:|", *rows]
    return "\n\n".join(("# Lessons", _BEFORE, "\n".join(table), _AFTER)) + "\n"
