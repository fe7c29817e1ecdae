"""Guesses: answers people give, and `foretrace attention --guess`."""

import io
import json

import pytest

from foretrace.cli import main
from foretrace.errors import PredictionError
from foretrace.predictions.guess import CPU_QUESTIONS, DEVICE_QUESTIONS, guessed

KERNELS, COPIES, TIME = DEVICE_QUESTIONS


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        (KERNELS, "5", "kernels == 5"),
        (KERNELS, " 5 ", "kernels == 5"),
        (KERNELS, "4..6", "kernels in 4..6"),
        (KERNELS, "< 10", "kernels < 10"),
        (KERNELS, "in 4..6", "kernels in 4..6"),
        (COPIES, "absent", "memcpys absent"),
        (TIME, "1ms", "device_time about 1ms"),
        (TIME, "about 1 ms", "device_time about 1 ms"),
        (TIME, "~1ms", "device_time about 1ms"),
        (TIME, "< 200us", "device_time < 200us"),
        (TIME, "0.5..2ms", "device_time in 0.5..2ms"),
        (CPU_QUESTIONS[0], "40", "ops == 40"),
    ],
)
def test_answers(question, answer, expected):
    assert str(guessed(question, answer)) == expected


@pytest.mark.parametrize("answer", ["", "  ", "~"])
def test_no_answer_is_no_guess(answer):
    assert guessed(KERNELS, answer) is None


@pytest.mark.parametrize(("question", "answer"), [(KERNELS, "five"), (KERNELS, "5us"), (TIME, "5"), (KERNELS, "5 6")])
def test_what_is_no_answer_is_refused(question, answer):
    with pytest.raises(PredictionError):
        guessed(question, answer)


def test_a_guessed_time_is_right_within_a_quarter():
    found = guessed(TIME, "1ms")
    assert (found.low, found.high) == (750_000, 1_250_000)
    assert found.admits(750_000)
    assert not found.admits(749_999)


def run(capsys, monkeypatch, answers, *args):
    monkeypatch.setattr("sys.stdin", io.StringIO(answers))
    with pytest.raises(SystemExit) as stop:
        main(["attention", "--replay", "h200", "--guess", *args])
    shown = capsys.readouterr()
    return stop.value.code, shown.out, shown.err


def test_it_asks_first_and_shows_the_table_against_the_guesses(capsys, monkeypatch):
    code, out, err = run(capsys, monkeypatch, "5\n0\nnonsense\n1ms\n5\n0\n")
    assert code == 0
    assert "Guess first." in err
    assert "naive" in err
    assert "kernels a step" in err
    assert "a number is expected" in err
    table, _, guesses = out.partition("Your guesses")
    assert "Attention forward" in table
    lines = [line.split() for line in guesses.splitlines() if line]
    assert lines[1][:5] == ["naive", "kernels", "5", "5", "hit"]
    assert lines[2][:4] == ["copies", "0", "1", "miss"]
    assert "a hidden copy" in guesses
    assert "4 hits, 1 miss." in guesses


def test_nothing_is_shown_where_nobody_guesses(capsys, monkeypatch):
    code, out, err = run(capsys, monkeypatch, "")
    assert (code, out) == (2, "")
    assert "there was no guess" in err


def test_json_has_the_outcomes(capsys, monkeypatch):
    code, out, _ = run(capsys, monkeypatch, "5\n0\n", "--json")
    content = json.loads(out)
    assert code == 0
    assert content["variants"]
    assert [outcome["outcome"] for outcome in content["guesses"]["naive"]] == ["hit", "miss"]
