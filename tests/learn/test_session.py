from __future__ import annotations

import io
from collections.abc import Callable, Iterable

import pytest
from rich.console import Console

from foretrace.learn.lesson import Block, Choice, Near, Number, Prose, Question, Try
from foretrace.learn.recorded import Shelf
from foretrace.learn.registry import LESSONS
from foretrace.learn.session import Elsewhere, Leave, hold, tell

OPTIONS = ("aten::mul", "aten::masked_fill")


def question(key: str = "kernels", answer: Number | Choice | None = None) -> Question:
    return Question(
        key=key,
        about=f"about {key}",
        ask="How many kernels?",
        hint="Count the lines.",
        answer=answer or Number(5),
        near=(Near(6, "That counts the copy as well."),),
        recording="attention-naive",
        metric="kernels",
        look=(Prose("The view is opened."),),
        because=(Prose("This is why."),),
    )


def console() -> Console:
    return Console(file=io.StringIO(), width=80, highlight=False, markup=False)


def typing(*lines: str) -> Callable[[str], str]:
    left = list(lines)

    def ask(_prompt: str) -> str:
        if not left:
            raise EOFError
        return left.pop(0)

    return ask


def held(blocks: Iterable[Block], *lines: str, elsewhere: Elsewhere | None = None) -> str:
    out = console()
    hold(out, list(blocks), Shelf(), typing(*lines), elsewhere)
    return " ".join(out.file.getvalue().split())


def test_a_right_guess_is_confirmed_after_the_trace_is_opened():
    text = held([question()], "5")
    assert text.index("The view is opened.") < text.index("Yes: 5.") < text.index("This is why.")
    assert "Every guess held." in text


def test_a_wrong_guess_is_answered_from_the_events():
    text = held([question()], "6")
    assert "You said 6; the trace says 5." in text
    assert "That counts the copy as well." in text
    assert '`--expect "kernels == 6"` is a miss: found 5 a step.' in text
    assert "0 of 1 guesses held. What surprised you is worth more: about kernels." in text


def test_nonsense_is_asked_again_without_blame():
    text = held([question()], "lots", "kernels!", "-1", "5")
    assert text.count("That is no guess I can hold against the trace") == 3
    assert "Enter passes." in text.split("-1")[-1]
    assert "Yes: 5." in text


def test_who_passes_is_told_the_answer():
    text = held([question()], "")
    assert "Answer: 5" in text
    assert "guesses held" not in text


def test_a_hint_is_given_on_request():
    text = held([question()], "?", "5")
    assert "Count the lines." in text
    assert "Count the lines." not in held([question()], "5")


def test_an_option_is_chosen_by_letter():
    text = held([question(answer=Choice(OPTIONS, 1))], "a")
    assert "a) aten::mul b) aten::masked_fill" in text
    assert "You said: aten::mul. The trace says: aten::masked_fill." in text
    assert "--expect" not in text


@pytest.mark.parametrize("lines", [("q",), ("5", "quit"), ()])
def test_one_may_leave_at_any_prompt_and_at_the_end_of_the_input(lines):
    with pytest.raises(Leave):
        hold(console(), [question(), question("other"), Try("do", "foretrace learn")], Shelf(), typing(*lines))


def test_told_without_asking_every_question_has_its_answer():
    out = console()
    tell(out, [question(), question("bound", Choice(OPTIONS, 1))])
    text = out.file.getvalue()
    assert "Question 2 of 2" in text
    assert text.count("Answer: ") == 2
    assert "Your guess" not in text


def test_where_another_machine_differs_is_said_at_the_question_and_at_the_end():
    there = Elsewhere("NVIDIA H200", {"kernels": "6", "bound": "aten::masked_fill", "only there": "3"})
    blocks = [question(), question("bound", Choice(OPTIONS, 1))]
    text = held(blocks, "5", "", "b", elsewhere=there)
    assert "On NVIDIA H200 the answer was: 6." in text
    assert "about kernels: 5; there 6" in text
    assert "about bound" not in text.split("Where this differs")[1].split("- no such")[0]
    assert "no such question here: only there" in text


def test_where_nothing_differs_that_is_said():
    text = held([question()], "5", elsewhere=Elsewhere("NVIDIA H200", {"kernels": "5"}))
    assert "Every answer is the same as on NVIDIA H200." in text


@pytest.mark.parametrize("name", LESSONS)
def test_every_lesson_can_be_held_with_wrong_guesses(name):
    """Whatever is typed, the lesson goes on to its end."""
    blocks = LESSONS[name].blocks(Shelf())
    lines: list[str] = []
    for block in blocks:
        if isinstance(block, Question):
            wrong = (
                "abcdefgh"[(block.answer.right + 1) % len(block.answer.options)]
                if isinstance(block.answer, Choice)
                else "987654"
            )
            lines += ["what?", wrong, ""]
    text = held(blocks, *lines)
    number = sum(isinstance(block, Question) for block in blocks)
    assert f"0 of {number} guesses held." in text
