"""Recording, as far as a machine without a GPU can try it."""

from __future__ import annotations

import importlib
import json

import pytest

from foretrace.errors import CaptureError, UsageError
from foretrace.learn import record as recording
from foretrace.learn.programs import PROGRAMS, Program
from foretrace.learn.recorded import ABOUT
from foretrace.trace.load import load_trace

torch = pytest.importorskip("torch")
attention = importlib.import_module("foretrace.learn.programs.attention")

CPU = torch.device("cpu")


def test_a_program_is_recorded_warm_with_three_steps(tmp_path):
    path = tmp_path / "linear.json.gz"
    recording._record(PROGRAMS["linear"], path, CPU)
    trace = load_trace(path)
    assert len(trace.steps) == 3
    names = {trace.op_name(op) for op in range(len(trace.ops))}
    assert {"aten::linear", "aten::addmm"} <= names
    assert "linear_fwd" in trace.strings
    assert trace.has_shapes


def test_a_first_call_is_recorded_from_its_first_step(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr("foretrace.learn.programs.matmul.small", lambda _device: lambda: calls.append(1))
    recording._record(PROGRAMS["matmul-first"], tmp_path / "first.json.gz", CPU)
    assert len(calls) == 3


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_plain_recording_is_made_by_torchs_profiler_alone(tmp_path, monkeypatch):
    def tiny(_device):
        return lambda: torch.zeros(3) + 1

    monkeypatch.setattr("foretrace.learn.programs.fused.math_backend", tiny)
    path = tmp_path / "stranger.json.gz"
    recording._record(PROGRAMS["stranger"], path, CPU)
    assert len(load_trace(path).steps) == 3


def test_every_program_names_a_maker_that_exists():
    for program in PROGRAMS.values():
        module = importlib.import_module(f"foretrace.learn.programs.{program.module}")
        assert callable(getattr(module, program.maker))


def test_a_program_that_fails_leaves_its_reason_and_no_trace(tmp_path, monkeypatch):
    def refuse(_device):
        raise RuntimeError("no such kernel here\nmore")

    monkeypatch.setattr("foretrace.learn.programs.matmul.small", refuse)
    monkeypatch.setattr("foretrace.capture.device.choose_device", lambda _name: CPU)
    monkeypatch.setattr(recording, "_needs_gpu", lambda _device: None)
    monkeypatch.setattr(recording, "_notes", lambda _device, memory: recording.Notes(peak_memory_bytes=memory))
    about = recording.record(tmp_path / "out", ["matmul-64", "linear"])
    assert about.refused == {"matmul-64": "RuntimeError: no such kernel here"}
    assert not (tmp_path / "out" / "matmul-64.json.gz").exists()
    assert (tmp_path / "out" / "linear.json.gz").exists()
    assert json.loads((tmp_path / "out" / ABOUT).read_text())["refused"] == about.refused


def test_an_unknown_recording_is_refused(tmp_path):
    with pytest.raises(UsageError, match="there is no recording nothing"):
        recording.record(tmp_path, ["nothing"])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_nothing_is_recorded(tmp_path):
    with pytest.raises(CaptureError, match="leave --live out"):
        recording.record(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_autograd_objects_to_what_the_lesson_says_it_objects_to():
    said = attention.what_autograd_says(CPU)
    assert said is not None
    assert "modified by an inplace operation" in said
    assert "Hint" not in said
    assert attention.gradient_difference(CPU) == 0


def test_what_a_row_without_a_key_gives_is_tried():
    found = recording._masked_rows(CPU)
    assert found["naive"] == "nan"
    assert found["math"] == "zero"


def test_programs_are_told_apart_by_how_they_are_recorded():
    assert PROGRAMS["matmul-first"] == Program("matmul-first", "matmul", "small", how="first")
    assert next(iter(PROGRAMS)) == "matmul-first"
