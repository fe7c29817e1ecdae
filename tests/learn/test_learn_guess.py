from __future__ import annotations

import pytest

from foretrace.learn.guess import judged, read_guess, wanted
from foretrace.learn.lesson import Answer, Choice, Near, Number, Question

OPTIONS = ("aten::matmul", "aten::mul", "aten::masked_fill")


def asking(answer: Answer, near: tuple[Near, ...] = ()) -> Question:
    return Question(key="k", about="about", ask="How many?", answer=answer, look=(), because=(), near=near)


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("5", 5),
        (" 5 ", 5),
        ("~5", 5),
        ("five", 5),
        ("none", 0),
        ("5 kernels", 5),
        ("about 5", 5),
        ("1,000", 1000),
        ("5.0", 5),
    ],
)
def test_a_count_is_understood_however_it_is_written(typed, value):
    guess = read_guess(asking(Number(5)), typed)
    assert guess is not None
    assert guess.value == value


@pytest.mark.parametrize(
    "typed", ["", "lots", "-3", "2.5", "5 ms", "nan", "inf", "1e999", "9" * 400, "\x1b[2J", "5; rm", "٣٣ x!"]
)
def test_nonsense_is_no_count(typed):
    assert read_guess(asking(Number(5)), typed) is None


@pytest.mark.parametrize(
    ("unit", "typed", "value"),
    [
        ("ns", "20 us", 20_000),
        ("ns", "0.2ms", 200_000),
        ("ns", "20", 20_000),
        ("bytes", "268 MB", 268e6),
        ("bytes", "268", 268e6),
        ("bytes", "256MiB", 256 * 2**20),
        ("share", "12.5", 0.125),
        ("share", "12.5 %", 0.125),
        ("times", "3", 3),
        ("times", "3x", 3),
        ("times", "2.5 times", 2.5),
    ],
)
def test_numbers_with_units_are_understood(unit, typed, value):
    guess = read_guess(asking(Number(1, unit)), typed)
    assert guess is not None
    assert guess.value == pytest.approx(value)


@pytest.mark.parametrize(("unit", "typed"), [("bytes", "3 ms"), ("times", "3 MB"), ("share", "3 kernels")])
def test_a_number_in_another_unit_is_no_guess(unit, typed):
    assert read_guess(asking(Number(1, unit)), typed) is None


@pytest.mark.parametrize(
    ("typed", "at"), [("a", 0), ("C", 2), ("c)", 2), ("masked", 2), ("aten::mul", 1), ("ATEN::MATMUL", 0)]
)
def test_an_option_is_chosen_by_letter_or_by_its_text(typed, at):
    guess = read_guess(asking(Choice(OPTIONS, 2)), typed)
    assert guess is not None
    assert guess.value == at


@pytest.mark.parametrize("typed", ["", "d", "z", "aten", "m", "7", "no idea"])
def test_what_fits_no_option_or_several_is_no_guess(typed):
    assert read_guess(asking(Choice(OPTIONS, 2)), typed) is None


def test_an_exact_answer_takes_the_exact_number_only():
    question = asking(Number(5))
    assert judged(question, read_guess(question, "5")) == ("right", "Yes: 5.")
    assert judged(question, read_guess(question, "6")) == ("wrong", "You said 6; the trace says 5.")


def test_an_estimate_is_right_within_its_factor():
    question = asking(Number(2.7, "times", within=2))
    assert judged(question, read_guess(question, "5"))[0] == "near"
    verdict, text = judged(question, read_guess(question, "1000"))
    assert verdict == "wrong"
    assert text == "You said 1,000 times; the trace says 2.7 times, 370 times less."


def test_a_guess_that_reads_like_the_answer_is_right():
    question = asking(Number(268_435_456, "bytes"))
    assert judged(question, read_guess(question, "268"))[0] == "right"


def test_a_choice_repeats_what_was_chosen():
    question = asking(Choice(OPTIONS, 2))
    assert judged(question, read_guess(question, "b"))[1] == ("You said: aten::mul. The trace says: aten::masked_fill.")


def test_the_prompt_says_what_may_be_typed():
    assert wanted(asking(Choice(OPTIONS, 2))) == "a letter from a to c"
    assert wanted(asking(Number(1, "share"))) == "a percentage such as 40"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Number(20), "20"),
        (Number(0.125, "share"), "12.5 %"),
        (Number(0.1175, "share"), "11.75 %"),
        (Number(0.11746, "share"), "12 %"),
        (Number(2.68, "times"), "2.7 times"),
        (Number(126_000, "ns"), "0.126 ms"),
    ],
)
def test_answers_are_written_as_people_read_them(number, text):
    assert number.text == text
