from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import replace

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
    assert text.index("The view is opened.") < text.index("Right: 5.") < text.index("This is why.")
    assert "1 of 1 guess held." in text


def test_a_wrong_guess_is_answered_from_the_events():
    text = held([question()], "6")
    assert "You said 6; the trace says 5." in text
    assert "That counts the copy as well." in text
    assert '`foretrace check --expect "kernels == 6"` calls that a miss: found 5 a step.' in text
    assert "0 of 1 guess held. Worth another look: about kernels." in text


def test_nonsense_is_asked_again_with_the_reason_and_without_blame():
    text = held([question()], "lots", "3x slower", "-1", "5")
    assert text.count("That is no guess I can hold against the trace: ") == 3
    assert "trace: a count is not below zero. Type a whole number such as 3, or Enter twice for the answer." in text
    assert "Right: 5." in text


@pytest.mark.parametrize("name", LESSONS)
def test_a_wrong_count_gives_away_no_later_answer(name):
    """What is said to a guess that missed stands on the screen before the next questions are asked."""
    blocks = LESSONS[name].blocks(Shelf())
    asked = [block for block in blocks if isinstance(block, Question)]
    for at, first in enumerate(asked):
        if not first.metric:
            continue
        text = held([replace(first, look=(), because=())], "77")
        for later in asked[at + 1 :]:
            answer = later.answer
            if isinstance(answer, Choice) or answer.unit:
                assert answer.text not in text


@pytest.mark.parametrize("typed", ["7e99", "99999999999999999999", "1e14", "999999999999999"])
def test_no_number_ends_a_lesson(typed):
    text = held([question()], typed, "", "")
    assert "This is why." in text


def test_who_passes_is_asked_once_more_and_told_the_answer():
    text = held([question()], "", "")
    assert text.index("Enter again shows the answer.") < text.index("Answer: 5")
    assert "held" not in text


def test_an_empty_line_by_accident_costs_no_guess():
    text = held([question()], "", "?", "", "5")
    assert text.count("Enter again shows the answer.") == 2
    assert "Right: 5." in text


def test_what_is_typed_before_the_next_question_is_not_taken_for_a_guess():
    text = held([question(), question("other")], "5", "6", "", "5")
    assert text.count("Nothing is asked yet: the next question comes after Enter.") == 1
    assert "2 of 2 guesses held." in text


def test_a_hint_is_given_on_request():
    text = held([question()], "?", "5")
    assert "Count the lines." in text
    assert "Count the lines." not in held([question()], "5")


def test_an_option_is_chosen_by_number():
    text = held([question(answer=Choice(OPTIONS, 1))], "1")
    assert "1) aten::mul 2) aten::masked_fill" in text
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
    text = held(blocks, "5", "", "2", elsewhere=there)
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
            answer = block.answer
            if isinstance(answer, Choice):
                wrong = str((answer.right + 1) % len(answer.options) + 1)
            else:
                wrong = "99" if answer.most else "987654"
            lines += ["what?", "7e99", "3x slower", "150 % of it", "\x1b[2J", "?", "", wrong, "", ""]
    number = sum(isinstance(block, Question) for block in blocks)
    text = held(blocks, *lines)
    assert f"0 of {number} guesses held." in text
