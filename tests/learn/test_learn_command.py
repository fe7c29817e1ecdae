from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from foretrace.learn.programs import PROGRAMS
from foretrace.learn.recorded import ABOUT, SHIPPED
from foretrace.learn.registry import LESSONS


def learn(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "foretrace", "learn", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )


def content(*words: str | Path) -> dict:
    done = learn(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_list_says_what_each_teaches_and_how_long_it_takes():
    done = learn()
    assert done.returncode == 0
    for lesson in LESSONS.values():
        assert lesson.title in done.stdout
        assert f"{lesson.minutes} min" in done.stdout
    assert max(len(line.rstrip()) for line in done.stdout.splitlines()) <= 100


def test_the_list_as_json_has_stable_keys():
    found = content()
    assert found["schema"] == 1
    assert [each["name"] for each in found["lessons"]] == list(LESSONS)
    assert set(found["lessons"][0]) == {"name", "title", "minutes", "teaches", "recordings"}


def test_a_lesson_as_json_has_questions_with_answers_for_courses():
    lesson = content("attention")["lessons"][0]
    blocks = lesson["blocks"]
    assert {block["kind"] for block in blocks} >= {"prose", "code", "question", "try"}
    first = next(block for block in blocks if block["kind"] == "question")
    assert set(first) == {
        "kind",
        "key",
        "about",
        "ask",
        "hint",
        "options",
        "answer",
        "answer_text",
        "unit",
        "within",
        "near",
        "recording",
        "metric",
        "tried",
        "look",
        "because",
    }
    assert first["answer"] == 5
    assert {view["kind"] for view in first["look"]} == {"table"}
    second = next(block for block in blocks if block["kind"] == "question" and block["key"] == "copies")
    assert {view["kind"] for view in second["look"]} == {"lanes"}
    assert "▒ a copy or a memset" in second["look"][0]["legend"]
    assert {block["key"]: block["tried"] for block in blocks if block["kind"] == "question"}["autograd"]


def test_all_lessons_without_a_terminal_take_less_than_twenty_seconds():
    begin = time.perf_counter()
    done = learn("--all")
    assert time.perf_counter() - begin < 20
    assert done.returncode == 0
    assert done.stderr == ""
    for lesson in LESSONS.values():
        assert lesson.title in done.stdout
    assert done.stdout.count("Answer: ") == done.stdout.count("Question ")
    assert [line for line in done.stdout.splitlines() if line != line.rstrip()] == []
    assert "\x1b" not in done.stdout


def test_without_a_terminal_a_lesson_is_told():
    done = learn("3")
    assert done.returncode == 0
    assert "Answer: aten::masked_fill" in done.stdout
    assert "Your guess" not in done.stdout


def test_recordings_of_ones_own_are_taught_and_compared(tmp_path):
    folder = tmp_path / "mine"
    shutil.copytree(SHIPPED, folder)
    shutil.copy(SHIPPED / "attention-inplace.json.gz", folder / "attention-naive.json.gz")
    done = learn("attention", "--from", folder)
    assert done.returncode == 0
    text = " ".join(done.stdout.split())
    assert "no such question here: copies, bytes" in text
    same = learn("math", "--from", SHIPPED)
    assert same.returncode == 0
    assert "differs" not in same.stdout


def test_recordings_can_be_saved_to_look_at(tmp_path):
    done = learn("math", "--save", tmp_path / "out")
    assert done.returncode == 0
    assert "foretrace read" in done.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {ABOUT, "attention-naive.json.gz", "attention-math.json.gz"}
    assert learn("math", "--from", tmp_path / "out").returncode == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("maths",), "did you mean math?"),
        (("nothing",), "the lessons are matmul"),
        (("10",), "or 1 to 9"),
        (("math", "--all"), "--all is every lesson"),
        (("--from", "x", "--live", "math"), "--live and --from do not go together"),
        (("--live",), "which lesson?"),
        (("math", "--from", "nowhere"), "no recordings of lessons here"),
    ],
)
def test_what_makes_no_sense_gets_a_sentence(words, sentence):
    done = learn(*words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_machine_without_a_gpu_records_nothing():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    done = learn("math", "--live")
    assert done.returncode == 2
    assert done.stderr.startswith("foretrace: lessons are about what a CUDA device does")
    assert len(done.stderr.splitlines()) == 1


def test_help_names_every_option():
    text = learn("--help").stdout
    for option in ("--answers", "--all", "--live", "--from", "--save", "--record", "--json"):
        assert option in text


@pytest.mark.gpu
def test_a_gpu_records_every_lesson(tmp_path):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    folder = tmp_path / "new"
    done = learn("--record", folder)
    assert done.returncode == 0, done.stderr
    about = json.loads((folder / ABOUT).read_text())
    made = {path.name.removesuffix(".json.gz") for path in folder.glob("*.json.gz")}
    assert made | set(about["refused"]) == set(PROGRAMS)
    assert learn("--all", "--from", folder).returncode == 0
