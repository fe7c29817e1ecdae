"""Variants of one case are timed in turns; who lies within the spread of the fastest is tied with it."""

import time
from contextlib import contextmanager

import msgspec
import pytest

from foretrace.capture.recording import ShapeInfo, WallTime
from foretrace.capture.sweep_row import SweepRow, case_name
from foretrace.capture.ties import winners

torch = pytest.importorskip("torch")
from foretrace.capture.attention import chosen_variants  # noqa: E402
from foretrace.capture.device import describe_device  # noqa: E402
from foretrace.capture.failure import leaves_device_broken, status_of  # noqa: E402
from foretrace.capture.rounds import Effort, Repeated, interleaved  # noqa: E402
from foretrace.capture.shapes import AttentionShape  # noqa: E402
from foretrace.capture.sweep_case import CaseOptions, measure_case  # noqa: E402
from foretrace.errors import CaptureError  # noqa: E402

CPU = torch.device("cpu")
SHAPE = ShapeInfo(
    batch=1, heads=2, kv_heads=2, length=8, kv_length=8, head_dim=4, dtype="float32", causal=True, mask="none",
    training=False,
)  # fmt: skip


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def row(variant, median, spread=0, **more):
    time_ns = WallTime(median=median, min=median, max=median + spread, spread=spread, runs=9)
    return SweepRow(case="c", variant=variant, status="ok", shape=SHAPE, time_ns=time_ns, **more)


def names(rows):
    return [each.variant for each in winners(rows)]


def test_the_fastest_wins_when_the_others_are_outside_its_spread():
    assert names([row("flash", 1000, 10), row("cudnn", 900, 10), row("math", 5000, 10)]) == ["cudnn"]


def test_within_the_larger_spread_of_the_two_is_a_tie():
    assert names([row("flash", 1000, 10), row("cudnn", 900, 100)]) == ["cudnn", "flash"]
    assert names([row("flash", 1001, 10), row("cudnn", 900, 100)]) == ["cudnn"]


def test_a_hundredth_is_a_tie_however_small_the_spread():
    assert names([row("flash", 1010), row("cudnn", 1000)]) == ["cudnn", "flash"]
    assert names([row("flash", 1011), row("cudnn", 1000)]) == ["cudnn"]


def test_a_seldom_run_variant_does_not_tie_by_its_wide_spread():
    slow = WallTime(median=5000, min=4900, max=50000, spread=22000, runs=3)
    seldom = SweepRow(case="c", variant="math", status="ok", shape=SHAPE, time_ns=slow)
    assert names([row("cudnn", 900, 10), seldom]) == ["cudnn"]


def test_auto_never_wins_and_neither_does_a_wrong_result():
    assert names([row("auto", 500), row("cudnn", 900), row("mine", 100, reason="its output is off by 2.")]) == ["cudnn"]
    assert names([row("auto", 500)]) == []


def test_calls_take_turns_and_every_second_round_runs_backwards():
    seen = []
    calls = {name: Repeated(lambda: time.sleep(0.0005)) for name in "abc"}
    found = interleaved(calls, CPU, Effort(seconds=0.0), seen.append)
    assert "".join(seen) == "abcabccbaabc"
    assert [len(timing.times_ns) for timing in found.values()] == [3, 3, 3]


def test_rounds_go_on_until_the_spread_is_small_and_stop_for_the_hopeless():
    found = interleaved(
        {"fast": Repeated(lambda: time.sleep(0.001)), "slow": Repeated(lambda: time.sleep(0.01))},
        CPU,
        Effort(spread=10.0, seconds=60.0, rounds=7),
    )
    assert len(found["fast"].times_ns) == 7
    assert len(found["slow"].times_ns) == 3
    summary = found["fast"].summary()
    assert summary.min <= summary.median <= summary.max
    assert 1e6 < summary.median < 1e7


def test_what_a_call_raises_is_kept_and_the_others_go_on():
    def bad():
        raise ValueError("no")

    found = interleaved({"bad": Repeated(bad), "good": Repeated(lambda: None)}, CPU, Effort(seconds=0.0))
    assert isinstance(found["bad"].error, ValueError)
    assert found["bad"].summary() is None
    assert found["good"].summary() is not None


def test_a_pin_is_entered_once_around_a_block():
    entered, called = [], []

    @contextmanager
    def pin():
        entered.append(1)
        yield

    interleaved({"x": Repeated(lambda: called.append(1), pin)}, CPU, Effort(seconds=0.0))
    assert len(entered) == 4
    assert len(called) == 1 + 3 * 32


@pytest.mark.parametrize(
    ("error", "status", "broken"),
    [
        (MemoryError(), "out-of-memory", False),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "out-of-memory", False),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB."), "out-of-memory", False),
        (RuntimeError("No available kernel. Aborting execution."), "unsupported", False),
        (CaptureError("it takes no mask."), "unsupported", False),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), "raised", True),
        (ValueError("no"), "raised", False),
    ],
)
def test_failures_are_told_apart(error, status, broken):
    assert status_of(error) == status
    assert leaves_device_broken(error) is broken


def test_a_case_gives_one_row_for_each_variant(tmp_path):
    rows, turns = [], []
    shape = AttentionShape(1, 2, 2, 8, 8, 4, "float32")
    sound = measure_case(
        shape,
        chosen_variants(["auto", "math", "cudnn"]),
        CPU,
        about=describe_device(CPU),
        options=CaseOptions(seconds=0.0, traces="winners", samples=True),
        folder=tmp_path,
        turn=turns.append,
        give=rows.append,
    )
    assert sound
    assert turns[:4] == ["", "auto", "math", "cudnn"]
    cudnn, auto, math = rows
    assert (cudnn.variant, cudnn.status) == ("cudnn", "unsupported")
    assert "no cudnn kernel" in cudnn.reason
    assert (auto.backend, math.backend) == ("flash", "math")
    assert auto.case == "forward-b1-h2-l8-d4-fp32-causal"
    assert len(math.samples_ns) == math.time_ns.runs == 3
    assert auto.max_abs_error < 1e-5
    assert auto.device.type == "cpu"
    assert sorted(path.name for path in tmp_path.iterdir()) == [auto.trace, math.trace]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "forward-b1-h2-l8-d4-fp32-causal"),
        ({"kv_heads": 1, "kv_length": 16}, "forward-b1-h2kv1-l8kv16-d4-fp32-causal"),
        ({"causal": False, "mask": "bool", "training": True}, "training-b1-h2-l8-d4-fp32-full-bool"),
    ],
)
def test_the_name_of_a_case_says_its_shape(changes, name):
    assert case_name(msgspec.structs.replace(SHAPE, **changes)) == name
