"""`foretrace run`: scripts and callables are recorded as Python would run them; failures are sentences."""

import json
import sys

import pytest
from click.testing import CliRunner

from foretrace.cli.run import command
from foretrace.errors import CaptureError, UsageError

pytest.importorskip("torch")

SCRIPT = """
import sys
import torch
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
print("arguments", sys.argv[1:], __name__)
for _ in range(8):
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
if "--fail" in sys.argv:
    raise ValueError("first line\\nsecond line")
if "--exit" in sys.argv:
    sys.exit(3)


def forward():
    return model(torch.ones(4, 8))


def made():
    torch.full((3,), 1.0)
    return forward
"""


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    yield path
    sys.modules.pop("train", None)


def run(*words):
    return CliRunner().invoke(command, [str(word) for word in words], catch_exceptions=False, standalone_mode=False)


def reading_of(result):
    return json.loads(result.stdout)


def calls(result):
    return {row["name"]: row["calls"] for row in reading_of(result)["ops"]}


def test_a_script_is_one_window_and_gets_its_arguments(script):
    result = run("--json", script, "a", "--b")
    assert "arguments ['a', '--b'] __main__" in result.stderr
    assert reading_of(result)["steps"] == []
    assert calls(result)["aten::addmm"] == 8
    assert (script.parent / "train.json.gz").is_file()


def test_with_steps_the_steps_of_the_optimizer_are_recorded(script):
    result = run("--json", "--steps", 3, "--warmup", 4, script)
    assert [step["name"] for step in reading_of(result)["steps"]] == [f"ProfilerStep#{n}" for n in (4, 5, 6)]
    assert calls(result)["aten::addmm"] == 3


def test_too_few_optimizer_steps_are_an_error(script):
    with pytest.raises(CaptureError, match="fewer than 25 ended; leave --steps out"):
        run("--steps", 5, "--warmup", 20, script)


def test_what_a_failing_script_did_is_kept(script):
    with pytest.raises(CaptureError, match=r"raised ValueError in line 12: first line; what was recorded"):
        run("-o", "part.json", script, "--fail")
    assert (script.parent / "part.json").is_file()


def test_an_exit_code_is_told(script):
    with pytest.raises(CaptureError, match="exited with 3"):
        run(script, "--exit")


def test_a_callable_is_called_once_a_step(script):
    result = run("--json", "--steps", 4, "--warmup", 2, f"{script}:forward")
    assert len(reading_of(result)["steps"]) == 4
    assert calls(result)["aten::addmm"] == 4


def test_a_callable_that_returns_one_is_set_up_outside(script):
    result = run("--json", "--steps", 3, "--warmup", 1, "train:made")
    assert calls(result)["aten::addmm"] == 3
    assert "aten::full" not in calls(result)


def test_traces_are_never_overwritten_unasked(script):
    run(f"{script}:forward")
    run(f"{script}:forward")
    assert sorted(path.name for path in script.parent.glob("*.gz")) == ["forward-2.json.gz", "forward.json.gz"]
    with pytest.raises(UsageError, match="--force to overwrite"):
        run("-o", "forward.json.gz", f"{script}:forward")
    run("-o", "forward.json.gz", "--force", f"{script}:forward")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("missing.py", "no script missing.py"),
        ("missing.py:f", "no file missing.py"),
        ("no_such_module_here:f", "no module 'no_such_module_here'"),
        ("train:nothing", "train has no 'nothing'"),
        ("train:model.weight", "Parameter, not something that can be called"),
    ],
)
def test_targets_that_do_not_exist_are_sentences(script, target, said):
    with pytest.raises(UsageError, match=said):
        run(target)


def test_a_callable_takes_no_arguments(script):
    with pytest.raises(UsageError, match="takes no arguments"):
        run(f"{script}:forward", "x")
