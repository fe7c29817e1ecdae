from __future__ import annotations

from dataclasses import replace

import pytest

from foretrace.learn.guess import Guess, Refused, allowed, judged, read_guess, wanted
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
        ("like 5", 5),
        ("i dunno, like 5?", 5),
        ("I'd say ~5", 5),
        ("maybe five", 5),
        ("5!", 5),
        ("1,000", 1000),
        ("5.0", 5),
    ],
)
def test_a_count_is_understood_however_it_is_written(typed, value):
    guess = read_guess(asking(Number(5)), typed)
    assert guess is not None
    assert guess.value == value


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("", "there is no number in it"),
        ("lots", "there is no number in it"),
        ("nan", "there is no number in it"),
        ("\x1b[2J", "there is no number in it"),
        ("-3", "a count is not below zero"),
        ("2.5", "a count is a whole number"),
        ("5 ms", '"ms" does not fit behind a count'),
        ("3x slower", '"x slower" does not fit behind a count'),
        ("3 times", '"times" does not fit behind a count'),
        ("5; rm", '"; rm" does not fit behind a count'),
        ("5\x1b[2J", '"\\x1b[2j" does not fit behind a count'),
        ("٣٣ x!", '"x" does not fit behind a count'),
        ("not 5", '"not" does not fit before a count'),
        ("more than 5", '"more than" does not fit before a count'),
        ("5 or 6", '"or 6" does not fit behind a count'),
        ("like a lot", "there is no number in it"),
        ("- 5", "there is no number in it"),
        ("1e999", "that is larger than anything a trace can hold"),
        ("7e99", "that is larger than anything a trace can hold"),
        ("99999999999999999999", "that is larger than anything a trace can hold"),
        ("9" * 400, "that is too long for a number"),
    ],
)
def test_what_is_no_count_is_refused_with_the_reason(typed, why):
    assert read_guess(asking(Number(5)), typed) == Refused(why)


@pytest.mark.parametrize("typed", ["5 kernels", "5 kernels a call", "5 launches", "5 copies", "5 GEMMs"])
def test_a_count_may_name_what_it_counts(typed):
    assert read_guess(asking(Number(5)), typed) == Guess(5, "5")


def test_what_no_answer_could_be_is_refused_with_the_reason():
    occupancy = asking(Number(0.125, "share", most=1))
    assert read_guess(occupancy, "150 %") == Refused("it cannot be more than 100 %")
    assert read_guess(occupancy, "100 %") == Guess(1, "100 %")
    assert read_guess(asking(Number(0.32, "share")), "150") == Guess(1.5, "150 %")
    assert read_guess(asking(Number(3, "times")), "0") == Refused("zero times as much would be nothing at all")


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


@pytest.mark.parametrize("typed", ["0.12", ".5", "about 0.12"])
def test_a_share_below_one_is_asked_for_its_sign(typed):
    found = read_guess(asking(Number(0.12, "share")), typed)
    assert isinstance(found, Refused)
    assert "type the % sign with it" in found.why


def test_a_share_with_its_sign_or_of_one_percent_or_none_is_clear():
    question = asking(Number(0.12, "share"))
    assert read_guess(question, "0.12") == Refused("it could mean 0.12 % or 12 %; type the % sign with it")
    assert read_guess(question, "0.12 %") == Guess(0.0012, "0.12 %")
    assert read_guess(question, "1") == Guess(0.01, "1 %")
    assert read_guess(question, "0") == Guess(0, "0 %")


@pytest.mark.parametrize(("unit", "typed"), [("bytes", "3 ms"), ("times", "3 MB"), ("share", "3 kernels")])
def test_a_number_in_another_unit_is_no_guess(unit, typed):
    found = read_guess(asking(Number(1, unit)), typed)
    assert isinstance(found, Refused)
    assert "does not fit behind" in found.why


@pytest.mark.parametrize(
    ("typed", "at"),
    [
        ("1", 0),
        ("3)", 2),
        ("(3)", 2),
        ("3.", 2),
        ("3) aten::masked_fill", 2),
        ("3 masked", 2),
        ("masked", 2),
        ("masked fill", 2),
        ("Masked-Fill.", 2),
        ("3 masked fill", 2),
        ("mul", 1),
        ("aten::mul", 1),
        ("ATEN::MATMUL", 0),
    ],
)
def test_an_option_is_chosen_by_number_or_by_its_text(typed, at):
    guess = read_guess(asking(Choice(OPTIONS, 2)), typed)
    assert guess == Guess(at, OPTIONS[at])


@pytest.mark.parametrize(
    ("typed", "why"),
    [
        ("7", "there is no option 7"),
        ("2048", "there is no option 2048"),
        ("1234567", "there is no option 1234567"),
        ("0", "there is no option 0"),
        ("1) masked", 'option 1 does not say "masked"'),
        ("a", "letters stand for device work here, options have numbers"),
        ("c)", "letters stand for device work here, options have numbers"),
        ("aten", 'several of the options have "aten" in it'),
        ("no idea", 'none of the options has "no idea" in it'),
    ],
)
def test_what_fits_no_option_or_several_is_refused_with_the_reason(typed, why):
    question = asking(Choice(("aten::matmul", "aten::addcdiv", "aten::masked_fill"), 2))
    assert read_guess(question, typed) == Refused(why)


@pytest.mark.parametrize("typed", ["", "-", "\ud800", "1" * 30, "1e5", "½", "²", "\x00", ")(", "?!"])
@pytest.mark.parametrize("answer", [Choice(OPTIONS, 2), Number(5), Number(5e6, "ns"), Number(0.5, "share", most=1)])
def test_nothing_that_is_typed_raises(answer, typed):
    found = read_guess(asking(answer), typed)
    if isinstance(found, Guess):
        assert judged(asking(answer), found)[1]
    else:
        assert found.why.isprintable()


def test_an_exact_answer_takes_the_exact_number_only():
    question = asking(Number(5))
    assert judged(question, read_guess(question, "5")) == ("right", "Right: 5.")
    assert judged(question, read_guess(question, "6")) == ("wrong", "You said 6; the trace says 5.")


def test_an_estimate_is_right_within_its_factor():
    question = asking(Number(2.7, "times", within=2))
    assert judged(question, read_guess(question, "5")) == (
        "near",
        "You said 5 times; the trace says 2.7 times. Close enough: within a factor of 2.",
    )


def test_how_far_off_a_guess_is_follows_from_what_is_shown():
    # 1.96 is shown as 2.0, so a thousand is 500 times as much and not 510.
    question = asking(Number(1.96, "times", within=2))
    verdict, text = judged(question, read_guess(question, "1000"))
    assert verdict == "wrong"
    assert text == "You said 1,000 times; the trace says 2.0 times. Your guess is 500 times too high."
    assert judged(question, read_guess(question, "0.5"))[1].endswith("Your guess is 4.0 times too low.")


def test_an_answer_that_was_tried_out_is_not_said_to_be_in_a_trace():
    question = replace(asking(Choice(OPTIONS, 2)), tried=True)
    assert judged(question, read_guess(question, "2"))[1] == "You said: aten::mul. It was tried: aten::masked_fill."


def test_a_guess_that_reads_like_the_answer_is_right():
    question = asking(Number(268_435_456, "bytes"))
    assert judged(question, read_guess(question, "268"))[0] == "right"


def test_a_choice_repeats_what_was_chosen():
    question = asking(Choice(OPTIONS, 2))
    assert judged(question, read_guess(question, "2"))[1] == ("You said: aten::mul. The trace says: aten::masked_fill.")


def test_the_prompt_says_what_may_be_typed():
    assert wanted(asking(Choice(OPTIONS, 2))) == "a number from 1 to 3"
    assert wanted(asking(Number(1, "share"))) == "a percentage such as 40"
    assert allowed(asking(Number(1, "times", within=1.5))) == " Within a factor of 1.5 is close enough."
    assert allowed(asking(Number(5))) == ""


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Number(20), "20"),
        (Number(0.125, "share"), "12.5 %"),
        (Number(0.1175, "share"), "11.75 %"),
        (Number(0.11746, "share"), "12 %"),
        (Number(2.68, "times"), "2.7 times"),
        (Number(17.8, "times"), "18 times"),
        (Number(689.6, "times"), "690 times"),
        (Number(126_000, "ns"), "0.126 ms"),
    ],
)
def test_answers_are_written_as_people_read_them(number, text):
    assert number.text == text
    assert Number(number.shown, number.unit).text == text
