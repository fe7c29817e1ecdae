"""What docs/ci.md shows works as it stands there."""

import re
import shutil
from pathlib import Path

from test_plugin import QUIET, needs_torch

import foretrace
from foretrace.predictions.files import read_predictions
from foretrace.predictions.grammar import parse

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
OWN = ROOT / "tests" / "recordings" / "h200"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_every_prediction_of_the_table_parses():
    rows = [line.split("|")[1] for line in PAGE.partition("## In pytest")[0].splitlines() if line.startswith("| `")]
    predictions = [text for row in rows for text in re.findall(r"`([^`]+)`", row)]
    assert len(predictions) > 20
    for text in predictions:
        parse(text)


def test_the_toml_file_holds_for_the_recording(tmp_path):
    (text,) = blocks("toml")
    file = tmp_path / "attention.toml"
    file.write_text(text)
    trace = foretrace.read(OWN / "p3_inplace.json.gz")
    assert [outcome.outcome for outcome in foretrace.check(trace, *read_predictions(file))] == ["hit", "hit"]


@needs_torch
def test_the_example_tests_pass(pytester):
    (code,) = blocks("python")
    pytester.makepyfile(test_it=code)
    (pytester.path / "traces").mkdir()
    shutil.copy(OWN / "p3_inplace.json.gz", pytester.path / "traces" / "inplace.json.gz")
    pytester.runpytest_subprocess(*QUIET, "--foretrace-update").assert_outcomes(passed=2)
    kept = pytester.path / "foretrace_baselines" / "test_it" / "test_attention.cpu.txt"
    assert "  flash: 1\n" in kept.read_text()


@needs_torch
def test_the_readmes_example_makes_its_baseline_and_holds(pytester):
    examples = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (code,) = (example for example in examples if "def test_attention(foretrace)" in example)
    pytester.makepyfile(test_attention=code)
    pytester.runpytest_subprocess(*QUIET).assert_outcomes(failed=1)
    pytester.runpytest_subprocess(*QUIET, "--foretrace-update").assert_outcomes(passed=1)
    pytester.runpytest_subprocess(*QUIET).assert_outcomes(passed=1)


def test_the_failure_reads_as_shown():
    (shown,) = blocks("text")
    assert "Memcpy DtoD (Device -> Device), 1 a step, from attn_fwd > aten::masked_fill > aten::clone" in shown


def test_the_keys_of_the_json_are_documented():
    trace = foretrace.read(OWN / "p3_naive.json.gz")
    (miss,) = foretrace.check(trace, "memcpys == 0")
    found = foretrace.diff(trace, foretrace.read(OWN / "p3_inplace.json.gz")).to_json()
    keys = {*next(iter(foretrace.metrics(trace))).to_json(), *miss.to_json(), *miss.to_json()["expected"]}
    keys |= {*miss.to_json()["evidence"][0], *found["structure"][0], *found["times"][0]}
    keys |= {key for key in found if key not in ("schema", "foretrace")}
    assert [key for key in keys if f"`{key}`" not in PAGE and f"`{key}[]`" not in PAGE] == []
