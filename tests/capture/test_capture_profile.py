"""`foretrace.profile` records whole steps and hands back a trace that agrees with PyTorch's own table."""

import gc

import pytest

from agreement import assert_agrees_with_key_averages
from foretrace.analysis.operators import op_table
from foretrace.capture.profile import profile, profile_callable
from foretrace.errors import CaptureError, UsageError
from foretrace.trace.kineto import Category

torch = pytest.importorskip("torch")


def model_step():
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.LayerNorm(64))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = torch.randn(16, 32)

    def step():
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def test_op_counts_and_cpu_times_agree_with_key_averages():
    step = model_step()
    with profile(steps=3) as recorded:
        for _ in range(6):
            step()
            recorded.step()
    assert len(recorded.trace.steps) == 3
    assert recorded.trace.has_shapes
    assert_agrees_with_key_averages(recorded)


def test_steps_iterates_until_all_are_recorded():
    step = model_step()
    with profile(steps=2, wait=0, warmup=1) as recorded:
        numbers = []
        for number in recorded.steps():
            numbers.append(number)
            step()
    assert numbers == [0, 1, 2]
    assert recorded.trace.step_names == ["ProfilerStep#1", "ProfilerStep#2"]
    with pytest.raises(UsageError, match="give it a number"), profile(steps=None) as whole:
        next(whole.steps())


def test_a_callable_is_warmed_up_and_recorded_step_by_step(tmp_path):
    calls = []
    step = model_step()
    recorded = profile_callable(lambda: (calls.append(1), step()), steps=4, warmup=2, path=tmp_path / "a.json")
    assert len(calls) >= 2 + 1 + 2 + 4
    assert recorded.trace.step_names == [f"ProfilerStep#{number}" for number in (3, 4, 5, 6)]
    assert (tmp_path / "a.json").is_file()
    assert_agrees_with_key_averages(recorded)


def test_a_block_without_steps_is_one_window():
    with profile(steps=None) as recorded:
        torch.ones(8).sum()
    assert not recorded.trace.has_steps
    assert "aten::ones" in [row.name for row in op_table(recorded.trace)]


def test_stacks_and_memory_are_recorded_on_request():
    with profile(steps=None, with_stack=True, profile_memory=True) as recorded:
        torch.ones(8).sum()
    assert recorded.trace.has_stacks
    assert len(recorded.trace.memory.ts)


def test_never_stepping_is_an_error_that_says_how_often_to_step():
    with profile(steps=2) as recorded:
        torch.ones(8).sum()
    with pytest.raises(CaptureError, match=r"step\(\) was called 0 times.*at least 5 times"):
        _ = recorded.trace


def step_four_times(recorded):
    with recorded:
        for _ in range(4):
            torch.ones(8).sum()
            recorded.step()


def test_stepping_too_seldom_warns():
    recorded = profile(steps=3)
    with pytest.warns(UserWarning, match="call it 6 times"):
        step_four_times(recorded)
    assert recorded.trace.count(Category.CPU_OP)


@pytest.mark.parametrize("read", [True, False])
def test_a_trace_without_a_path_leaves_no_file_behind(read):
    with profile(steps=None) as recorded:
        torch.ones(2)
    place = recorded.written
    assert place.is_file()
    if read:
        assert recorded.trace.events
    else:
        del recorded
        gc.collect()
    assert not place.parent.exists()


def test_an_error_in_the_block_passes_through():
    with pytest.raises(ZeroDivisionError), profile(steps=1):
        _ = 1 / 0
    with profile(steps=None) as again:
        torch.ones(2)
    assert again.trace.events


@pytest.mark.parametrize(
    ("words", "said"),
    [({"steps": 0}, "at least one step"), ({"warmup": -1}, "negative"), ({"path": "a.txt"}, ".json or .json.gz")],
)
def test_arguments_that_make_no_sense_are_refused(words, said):
    with pytest.raises(UsageError, match=said):
        profile(**words)


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(CaptureError, match="could not be written"),
        profile(steps=None, path=tmp_path / "file" / "a.json"),
    ):
        torch.ones(2)
