from __future__ import annotations

import ast
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from raw_counts import mutated
from told import lines_of, questions, sentences, told

import foretrace.learn.lessons
from build import Build
from foretrace.cli import COMMANDS
from foretrace.cli import cli as main_command
from foretrace.errors import ForetraceError, MissingDataError, UsageError
from foretrace.learn.content import block_json
from foretrace.learn.lesson import Block, Choice, Code, Number, Prose, Question, Try
from foretrace.learn.pace import minutes_of
from foretrace.learn.programs import PROGRAMS, source
from foretrace.learn.recorded import ABOUT, SHIPPED, Recorded, Shelf
from foretrace.learn.registry import LESSONS, chosen_lesson

MODULES = sorted(Path(foretrace.learn.lessons.__file__).parent.glob("[a-z]*.py"))

# Names with digits in them, and numbers that state nothing: a command to type, a precision.
NOT_A_STATEMENT = re.compile(
    r"bf16|fp16|fp32|f32|f16|f64|float32|float64|float16|aten::\w+|matmul-\w+|sdpa-\w+|"
    r"foretrace (?:why|attention|run|explain|kernel)[^\"]*|\.\d[fegx]"
)
SPELLED = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|half|twice|double|dozen|"
    r"one (?:kernel|copy|launch|memset|op|step|call|GEMM|cast))\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_no_number_is_typed_into_a_sentence(module):
    """Every number must come from a recording, so that a new one cannot make a lesson lie."""
    tree = ast.parse(module.read_text())
    documents = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None
    }
    specs = {
        value
        for node in ast.walk(tree)
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None
        for value in ast.walk(node.format_spec)
    }
    comments = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            continue
        if node in documents or node in specs or node in comments:
            continue
        text = NOT_A_STATEMENT.sub("", node.value)
        assert not re.search(r"\d", text), f"line {node.lineno}: {node.value!r}"
        assert not SPELLED.search(text), f"line {node.lineno}: {node.value!r}"


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_asks_and_every_answer_can_be_given(name):
    found = questions(name)
    assert len(found) >= 2
    for question in found.values():
        assert question.ask.rstrip(".)").endswith("?") or "?" in question.ask
        assert question.hint
        assert question.because
        assert question.answer.text
        if isinstance(question.answer, Choice):
            options = question.answer.options
            assert 0 <= question.answer.right < len(options)
            assert len(set(options)) == len(options) >= 2
        else:
            assert isinstance(question.answer, Number)
            assert question.answer.value >= 0


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_ends_with_something_to_try(name):
    last = LESSONS[name].blocks(Shelf())[-1]
    assert isinstance(last, Try)
    words = last.command.split()
    assert words[0] == "foretrace"
    assert words[1] in COMMANDS


@pytest.mark.parametrize("name", LESSONS)
def test_no_sentence_was_left_empty_or_broken(name):
    for text in sentences(name):
        assert text.strip() == text
        assert text
        for broken in ("  ", " .", " ,", "None", "nan ", "()", "``", ". .", "..", "[]"):
            assert broken not in text.replace("(...)", ""), text


def test_every_recording_has_a_program_and_every_program_a_lesson():
    used = {name for lesson in LESSONS.values() for name in lesson.recordings}
    assert used == set(PROGRAMS)


def test_the_recordings_take_less_than_three_megabytes():
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 3_000_000


def test_the_package_holds_recordings_and_nothing_else():
    for path in SHIPPED.iterdir():
        assert path.name == ABOUT or path.name.removesuffix(".json.gz") in PROGRAMS


@pytest.mark.parametrize("name", LESSONS)
def test_code_that_is_shown_fits_eighty_columns(name):
    blocks = LESSONS[name].blocks(Shelf())
    shown = [block for block in blocks if isinstance(block, Code)]
    assert shown
    for line in "\n".join(block.text for block in shown).splitlines():
        assert len(line) <= 76


def test_source_is_shown_without_types_and_docstrings():
    assert source("matmul", "matmul_add") == "def matmul_add(x, y, z):\n    return torch.matmul(x, y) + z"


def before(name: str, key: str) -> str:
    """Everything that stands on the screen before a question: titles, and the blocks up to it with their answers."""
    lesson = LESSONS[name]
    found = [lesson.title, lesson.teaches]
    for block in lesson.blocks(Shelf()):
        if isinstance(block, Question) and block.key == key:
            break
        found += printed(block)
    return " ".join(" ".join(found).split())


def printed(block: Block) -> list[str]:
    """What a block shows, hints and remarks on other guesses left out: not everybody sees those."""
    shown = block_json(block)
    for key in ("hint", "near", "key", "about", "metric", "recording"):
        shown.pop(key, None)
    return list(lines_of(shown))


ASKED = [(name, key) for name in LESSONS for key in questions(name)]


@pytest.mark.parametrize(("name", "key"), ASKED)
def test_no_answer_stands_before_its_question(name, key):
    question = questions(name)[key]
    answer, seen = question.answer, before(name, key)
    if isinstance(answer, Choice):
        wrong = [option for at, option in enumerate(answer.options) if at != answer.right]
        # Where the other options stand there as well, the right one tells nothing.
        assert answer.text not in seen or all(option in seen for option in wrong)
    elif answer.unit:
        assert not re.search(rf"(?<![\d.]){re.escape(answer.text)}", seen)
    elif question.metric == "kernels":
        assert not re.search(rf"(?<![\d.]){answer.text} kernels?\b", seen)


def test_a_lesson_of_other_answers_is_caught_by_that_search():
    assert re.search(r"(?<![\d.])268 MB", before("attention", "saved"))
    assert "aten::masked_fill" in before("attention", "bytes")


@pytest.mark.parametrize("name", LESSONS)
def test_the_minutes_are_those_of_somebody_who_reads_slowly(name):
    # A new recording may move a lesson over the edge of a minute.
    assert abs(LESSONS[name].minutes - minutes_of(LESSONS[name].blocks(Shelf()))) <= 1


def test_a_longer_lesson_takes_longer():
    short = [Prose("word " * 100)]
    asked = [*short, Question("k", "a", "How many?", Number(1), (), (Prose("word " * 100),))]
    assert minutes_of(short) == 1
    assert minutes_of(asked) == 3


def test_what_is_to_be_tried_after_the_math_backend_runs_it():
    """The command shown is about calls that only the math backend takes, so it must say that, and for certain."""
    words = LESSONS["math"].blocks(Shelf())[-1].command.split()[1:]
    result = CliRunner().invoke(main_command, [*words, "--json"])
    assert result.exit_code == 0
    call = json.loads(result.output)["calls"][0]
    assert (call["backend"], call["certain"]) == ("math", True)
    shown = CliRunner().invoke(main_command, words).output
    assert "possible" not in shown


SWAPS = ("attention-flash", "mlp", "attention-inplace-training", "graph-replay", "matmul-64", "sdpa-fp32")


@pytest.mark.parametrize("other", SWAPS)
@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_stands_whatever_its_recordings_hold(name, other, tmp_path):
    """On another card, or another release, a recording may look like any other."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    shutil.copy(SHIPPED / ABOUT, folder / ABOUT)
    for recording in LESSONS[name].recordings:
        shutil.copy(SHIPPED / f"{other}.json.gz", folder / f"{recording}.json.gz")
    shelf = Shelf(folder)
    try:
        blocks = LESSONS[name].blocks(shelf)
    except MissingDataError:
        return
    for block in blocks:
        if isinstance(block, Question) and isinstance(block.answer, Choice):
            assert 0 <= block.answer.right < len(block.answer.options)
    assert told(name, shelf)


def test_a_missing_recording_is_named_with_the_reason(tmp_path):
    folder = tmp_path / "shelf"
    folder.mkdir()
    text = (SHIPPED / ABOUT).read_text().replace('"refused": {}', '"refused": {"matmul-64": "no such kernel"}')
    (folder / ABOUT).write_text(text)
    with pytest.raises(MissingDataError, match=r"the recording matmul-64 is missing, it could not be made: no such"):
        LESSONS["matmul"].blocks(Shelf(folder))


def test_a_folder_without_recordings_is_refused(tmp_path):
    with pytest.raises(MissingDataError, match="foretrace learn --record DIR"):
        Shelf(tmp_path)


def test_a_damaged_list_of_recordings_is_refused(tmp_path):
    (tmp_path / ABOUT).write_text('{"schema": "x"')
    with pytest.raises(ForetraceError, match=r"not what `foretrace learn --record` writes"):
        Shelf(tmp_path)


def test_a_trace_of_a_cpu_alone_teaches_nothing_about_gpus():
    trace = Build().step(0, 0, 100).op("aten::mm", 10, 50).load()
    with pytest.raises(MissingDataError, match="record on a machine with a CUDA device"):
        Recorded("x", trace)


def test_lessons_are_found_by_name_and_by_number():
    assert chosen_lesson("math").name == "math"
    assert chosen_lesson("4").name == "math"
    with pytest.raises(UsageError, match="did you mean graphs"):
        chosen_lesson("graph")
    for number in ("0", "10"):
        with pytest.raises(UsageError, match=r"the lessons are matmul, linear, .*, trust, or 1 to 9"):
            chosen_lesson(number)


@pytest.mark.parametrize("name", LESSONS)
def test_names_in_a_recording_cannot_move_the_cursor(name, tmp_path):
    def hostile(event: dict[str, Any]) -> dict[str, Any]:
        if event.get("ph") == "X" and not event["name"].startswith("ProfilerStep"):
            event["name"] += "\x1b[31m\r\n\x9b"
        return event

    try:
        text = told(name, mutated(tmp_path, hostile, *LESSONS[name].recordings))
    except MissingDataError:
        return
    assert not [letter for letter in text if not letter.isprintable() and letter != "\n"]


def test_the_lessons_answer_what_people_ask_after_them():
    """Why the math backend is slow, why flash's low occupancy is fine, what the trailing underscore saved."""
    assert "the trailing underscore saved a copy of" in told("attention")
    assert "Why the math backend is slow, part by part:" in told("math")
    assert "It is not slow because a kernel in it is bad".lower() in told("math").lower()
    assert "Is that bad? Occupancy counts warps that could step in while others wait." in told("fused")
    assert "Low occupancy is no fault by itself: it is what a tile in registers costs." in told("fused")
