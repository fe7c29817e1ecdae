"""Every metric on a trace small enough to count by eye, and on a recording."""

from dataclasses import replace
from pathlib import Path

import pytest

import foretrace
from build import Build
from foretrace.analysis.metrics import metrics
from foretrace.analysis.metrics.catalog import CATALOG
from foretrace.errors import UsageError
from foretrace.names.decode import decode as decoded
from foretrace.predictions.named import metrics as all_metrics

OWN = Path(__file__).parents[1] / "recordings" / "h200"
GEMM = "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn"
SGEMM = "ampere_sgemm_128x64_nn"
SOFTMAX = "void (anonymous namespace)::softmax_warp_forward<c10::BFloat16, c10::BFloat16, float, 10, false, false>()"


def two_steps():
    """Two steps alike, the second with one kernel more; a GEMM of an earlier step is still running."""
    made = Build().gpu().kernel(GEMM, ts=0, dur=7)
    for number in range(2):
        at = 1000 * number
        made.step(number, at + 10, 500)
        made.annotation("forward", at + 20, 300)
        made.op("aten::scaled_dot_product_attention", at + 30, 80)
        made.op("aten::_scaled_dot_product_attention_math", at + 31, 78)
        made.op("aten::bmm", at + 40, 20)
        made.kernel(GEMM, ts=at + 100, dur=30, launched=at + 45)
        made.op("aten::softmax", at + 70, 20)
        made.kernel(SOFTMAX, ts=at + 130, dur=20, launched=at + 75)
        made.op("aten::mm", at + 120, 20)
        made.kernel(SGEMM, ts=at + 140, dur=10, launched=at + 125, stream=8)
        made.op("aten::copy_", at + 170, 100)
        made.memcpy("Memcpy HtoD (Pageable -> Device)", at + 200, 5, at + 175, bytes=1000)
        made.memcpy("Memcpy DtoD (Device -> Device)", at + 205, 6, at + 185, bytes=4000)
        made.memcpy("Memcpy DtoH (Device -> Pinned)", at + 211, 7, at + 195, bytes=20)
        made.memcpy("Memcpy PtoP (Device -> Device)", at + 218, 8, at + 205, bytes=8)
        made.memset(at + 226, 1, at + 215)
        made.call("cudaStreamSynchronize", at + 220, 20)
        if number:
            made.kernel(GEMM, ts=at + 400, dur=30, launched=at + 300)
    made.call("cudaDeviceSynchronize", 1800)
    for ts, total in ((50, 100), (60, 5000), (70, 300)):
        fields = {"Addr": 1, "Bytes": 100, "Total Allocated": total, "Total Reserved": 0, "Device Type": 1}
        made.event(
            ph="i", cat="cpu_instant_event", name="[memory]", pid=1, tid=1, ts=ts, args={**fields, "Device Id": 0}
        )
    return made.load()


EXPECTED = {
    "steps": 2,
    "kernels": (3, 4),
    "memcpys": 4,
    "memsets": 1,
    "launches": (8, 9),
    "syncs": 1,
    "ops": 6,
    "device_time": (87_000, 117_000),
    "busy": (77_000, 107_000),
    "busy_share": 92_000 / 1_000_000,
    "cpu_time": 500_000,
    "period": 1_000_000,
    "lag": (55_000, 100_000),
    "bound": "cpu",
    "memcpys_htod": 1,
    "memcpys_dtoh": 1,
    "memcpys_dtod": 1,
    "memcpys_ptop": 1,
    "copied_bytes_htod": 1000,
    "copied_bytes_dtoh": 20,
    "copied_bytes_dtod": 4000,
    "copied_bytes_ptop": 8,
    "copied_bytes": 5028,
    "tensor_core_share": 90 / 110,
    "fp32_cuda_core_gemms": 1,
    "attention_calls": 1,
    "backend": "math",
    "peak_memory": 5000,
    "unlinked": 1,
    "kernels(role=gemm)": (2, 3),
    "kernels(role=softmax)": 1,
    "device_time(role=gemm)": (40_000, 70_000),
    "device_time(role=softmax)": 20_000,
}


def plain(metric):
    """A metric's value as it is written above: (least, most) where the steps differ."""
    value = metric.value
    if hasattr(value, "min"):
        return value.min if value.min == value.max else (value.min, value.max)
    return value


def test_every_metric_of_a_built_trace():
    found = {metric.name: plain(metric) for metric in metrics(two_steps())}
    assert found.pop("tensor_core_share") == pytest.approx(EXPECTED["tensor_core_share"], rel=1e-12)
    assert found == {name: value for name, value in EXPECTED.items() if name != "tensor_core_share"}


def test_no_metric_is_left_out():
    listed = {metric.name for metric in metrics(two_steps())}
    assert {name for name, definition in CATALOG.items() if definition.listed} <= listed


@pytest.mark.parametrize(
    ("name", "conditions", "expected"),
    [
        ("kernels", {"role": "gemm", "unit": "cuda_core"}, 1),
        ("kernels", {"pattern": "softmax_warp"}, 1),
        ("kernels", {"regex": "^ampere_(s|bf16)"}, (2, 3)),
        ("kernels", {"regex": "^sgemm"}, 0),
        ("kernels", {"dtype": "fp32"}, 1),
        ("kernels", {"launch": "cudaLaunchKernel"}, (3, 4)),
        ("kernels", {"launch": "cudaLaunch"}, 0),
        ("kernels", {"library": "cublas", "role": "gemm"}, (2, 3)),
        ("device_time", {"direction": "DtoD"}, 6_000),
        ("device_time", {"role": "copy"}, 26_000),
        ("busy", {"role": "gemm"}, (40_000, 70_000)),
        ("memcpys", {"direction": "dtoh"}, 1),
        ("launches", {"pattern": "cudaMemcpyAsync"}, 4),
        ("launches", {"pattern": "cudaMem*"}, 5),
        ("syncs", {"pattern": "cudaDeviceSynchronize"}, 0),
        ("ops", {"pattern": "aten::mm"}, 1),
        ("ops", {"pattern": "aten::*mm"}, 2),
        ("ops", {"pattern": "mm"}, 0),
    ],
)
def test_conditions_choose_events(name, conditions, expected):
    assert plain(metrics(two_steps()).measure(name, **conditions)) == expected


def test_an_op_narrows_every_metric_to_what_runs_inside_it():
    found = {m.name: plain(m) for m in metrics(two_steps(), op="aten::scaled_dot_product_attention")}
    head = "op aten::scaled_dot_product_attention "
    assert found[head + "calls"] == 1
    assert found[head + "kernels"] == 2
    assert found[head + "ops"] == 4
    assert found[head + "launches"] == 2
    assert found[head + "device_time"] == 50_000
    assert found[head + "cpu_time"] == 80_000
    assert found[head + "tensor_core_share"] == 1
    assert found[head + "syncs"] == 0
    assert found[head + "backend"] == "math"
    assert head + "period" not in found


def test_an_op_inside_another_of_its_name_counts_once_for_cpu_time():
    trace = Build().step(0, 0, 100).op("aten::mul", 10, 30).op("aten::mul", 12, 20).load()
    assert plain(metrics(trace, op="aten::mul")["cpu_time"]) == 30_000
    assert plain(metrics(trace, op="aten::mul")["calls"]) == 2


def test_an_annotation_holds_what_is_launched_inside_it():
    found = metrics(two_steps(), annotation="forward")
    assert plain(found["kernels"]) == (3, 4)
    assert plain(found["calls"]) == 1
    assert plain(found["cpu_time"]) == 300_000


def test_an_annotation_holds_the_backward_pass_that_runs_on_autograds_thread():
    made = Build().gpu().step(0, 0, 100).annotation("train", 5, 60)
    made.op("aten::mm", 10, 5, sequence=3).kernel("forward", 20, 5, launched=12)
    made.op("MmBackward0", 30, 20, tid=2, sequence=3, forward_thread=1).kernel("backward", 40, 5, launched=35, tid=2)
    made.op("aten::rand", 30, 20, tid=3).kernel("loader", 50, 5, launched=35, tid=3)
    trace = made.load()
    assert plain(metrics(trace, annotation="train")["kernels"]) == 2
    assert plain(metrics(trace)["kernels"]) == 3


def test_without_steps_the_recording_is_one_window():
    trace = Build().gpu().op("aten::mm", 10, 20).kernel(GEMM, 40, 30, launched=15).kernel(GEMM, 80, 30).load()
    found = metrics(trace)
    assert plain(found["kernels"]) == 1
    assert found["kernels"].per == "recording"
    assert plain(found["device_time"]) == 30_000
    assert plain(found["unlinked"]) == 1


def test_a_cold_first_step_is_left_out():
    made = Build().gpu()
    for number, width in enumerate((5000, 100, 100)):
        made.step(number, 10_000 * number, width)
        for launched in (10, 20) if number == 0 else (10,):
            made.kernel(GEMM, 10_000 * number + 50, 10, launched=10_000 * number + launched)
    found = metrics(made.load())
    assert found["steps"].value == 2
    assert plain(found["kernels"]) == 1


@pytest.mark.case("M01")
def test_lost_device_activity_is_no_zero():
    made = Build().gpu().step(0, 0, 100).op("aten::mm", 10, 20)
    trace = made.call("cudaLaunchKernel", 15).load()
    found = metrics(trace)
    for name in ("kernels", "memcpys", "device_time", "busy_share", "tensor_core_share"):
        assert found[name].value is None
        assert "no device activity" in found[name].missing
    assert plain(found["launches"]) == 1
    assert plain(found["ops"]) == 1


def test_activity_that_no_launch_is_known_of_is_no_zero_either():
    trace = Build().gpu().step(0, 0, 100).kernel(GEMM, 10, 5).load()
    assert "tied to its launch" in metrics(trace)["kernels"].missing


@pytest.mark.case("M06")
def test_an_empty_recording_has_no_numbers():
    found = metrics(Build().load())
    assert found["kernels"].value is None
    assert found["ops"].value is None
    assert "valid" in found["ops"].missing


def test_unknown_units_leave_room_in_the_tensor_core_share(monkeypatch):
    def decode(name):
        return replace(decoded(name), unit="unknown") if name.startswith("my_") else decoded(name)

    monkeypatch.setattr("foretrace.analysis.metrics.basis.decode", decode)
    made = Build().gpu().step(0, 0, 100)
    made.kernel(GEMM, 10, 30, launched=1).kernel("my_gemm_kernel", 40, 10, launched=2)
    figure = metrics(made.load())["tensor_core_share"].figure
    assert (figure.low, figure.high) == (0.75, 1.0)
    assert "25 %" in figure.note


def test_copies_of_unknown_size_have_no_total():
    trace = Build().gpu().step(0, 0, 100).memcpy("Memcpy DtoD (Device -> Device)", 10, 5, 1).load()
    assert "do not say how many bytes" in metrics(trace)["copied_bytes"].missing


@pytest.mark.parametrize(
    ("name", "conditions", "word"),
    [
        ("kernel", {}, "no metric"),
        ("memcpys", {"role": "gemm"}, "not role"),
        ("kernels", {"role": "gemms"}, "role is one of"),
        ("kernels", {"regex": "("}, "no regular expression"),
        ("period", {"pattern": "a"}, "takes no conditions"),
        ("kernels", {"colour": "red"}, "no condition"),
    ],
)
def test_a_metric_that_cannot_be_is_refused(name, conditions, word):
    with pytest.raises(UsageError, match=word):
        metrics(two_steps()).measure(name, **conditions)


def test_a_scope_cannot_be_an_op_and_an_annotation():
    with pytest.raises(UsageError, match="not to both"):
        metrics(two_steps(), op="a", annotation="b")


REAL = {
    "p3_naive": {
        "steps": 3,
        "kernels": 5,
        "memcpys": 1,
        "memsets": 1,
        "launches": 7,
        "syncs": 0,
        "ops": 39,
        "bound": "device",
        "memcpys_dtod": 1,
        "copied_bytes": 268_435_456,
        "tensor_core_share": 1.0,
        "fp32_cuda_core_gemms": 0,
        "attention_calls": 0,
        "backend": "op by op",
        "unlinked": 1,
        "finding(FT101)": 1,
    },
    "p3_sdpa_math": {
        "kernels": 20,
        "memcpys": 0,
        "tensor_core_share": 0.0,
        "fp32_cuda_core_gemms": 2,
        "attention_calls": 1,
        "backend": "math",
        "unlinked": 9,
        "kernels(role=softmax)": 1,
    },
    "p3_sdpa_flash": {"kernels": 1, "backend": "flash", "tensor_core_share": 1.0},
    "p3_sdpa_cudnn": {"kernels": 1, "memsets": 1, "backend": "cudnn"},
    "p3_sdpa_efficient": {"kernels": 1, "backend": "efficient"},
    "m_llama_sdpa": {"kernels": 182, "attention_calls": 4, "backend": "cudnn"},
    "m_llama_eager": {"kernels": 231, "memcpys_dtoh": 1, "memcpys_htod": 1, "attention_calls": 0},
    "x_item_sync": {"memcpys_dtoh": 1, "syncs": 1},
    "x_cudagraph_inplace": {"launches": 1},
    "x_h2d_pageable": {"memcpys_htod": 1, "copied_bytes_htod": 16_777_216},
}


@pytest.mark.parametrize("name", REAL)
def test_metrics_of_recordings(name):
    found = all_metrics(foretrace.read(OWN / f"{name}.json.gz"))
    assert {metric: plain(found[metric]) for metric in REAL[name]} == REAL[name]


def test_peak_memory_of_a_recording():
    found = metrics(foretrace.read(OWN / "p3_naive_stack_mem.json.gz"))
    assert found["peak_memory"].value == 638_582_784


def test_json_is_plain_and_stable():
    rows = [metric.to_json() for metric in metrics(two_steps())]
    assert [row["name"] for row in rows[: len(CATALOG) - 1]] == [name for name in CATALOG if name != "calls"]
    assert all(set(row) == {"name", "value", "unit", "per", "text", "note", "missing"} for row in rows)
    assert rows[1]["value"] == {"value": 3.5, "min": 3, "max": 4}
    assert all(row["text"].endswith(".") for row in rows)


def test_metrics_as_a_table():
    rows = {row["name"]: row for row in metrics(two_steps()).table}
    assert (rows["kernels"]["value"], rows["kernels"]["min"], rows["kernels"]["max"]) == (3.5, 3, 4)
    assert rows["backend"]["value"] == "math"
    assert rows["device_time"]["unit"] == "ns"
