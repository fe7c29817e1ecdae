"""What lessons say of recordings that differ from the shipped ones."""

from __future__ import annotations

import pytest
from built_shelf import GEMM, LAUNCH, decoder, first_calls, launched_one_by_one, noting, replayed, sdpa, shelf, steps
from told import explanation, questions, told

from build import Build


def test_a_first_step_that_is_cold_is_called_cold(tmp_path):
    found = shelf(tmp_path, matmul_first=first_calls(50_000, 100))
    question = questions("matmul", found)["cold"]
    assert question.answer.value == pytest.approx(49_999 / 99)
    assert "foretrace calls such a first step cold" in explanation("matmul", "cold", found)
    trust = questions("trust", found)["cold"]
    assert trust.answer.text == "ProfilerStep#0"
    assert "cold-step" in told("trust", found)


def test_a_first_step_that_is_not_slow_is_not_called_cold(tmp_path):
    found = shelf(tmp_path, matmul_first=first_calls(120, 100))
    assert "It is not slow enough here to be called cold" in explanation("matmul", "cold", found)


def test_what_fills_a_cold_step_is_read_from_its_events(tmp_path):
    silent = shelf(tmp_path / "a", matmul_first=first_calls(50_000, 100))
    assert "Most of the first step has no name in the trace" in explanation("matmul", "cold", silent)
    assert "inside aten::matmul, with no call recorded" in told("matmul", silent)

    def one(build: Build, at: float) -> None:
        width = 50_000 if at == 0 else 100
        build.op("aten::matmul", at + 2, width - 10)
        build.call("cudaFuncSetAttribute", at + 3, width - 20)
        build.kernel(GEMM, at + width - 6, 3, launched=at + width - 12, **LAUNCH)

    in_calls = shelf(tmp_path / "b", matmul_first=steps(one, (50_000, 100, 100)))
    assert "Most of the first step lies in calls and in what they load." in explanation("matmul", "cold", in_calls)


def test_a_plan_is_looked_for_where_the_time_goes(tmp_path):
    slow_cpu = shelf(tmp_path / "a", attention_cudnn_first=first_calls(80_000, 100))
    assert questions("fused", slow_cpu)["plan"].answer.text == "to the CPU, before that call"

    def one(build: Build, at: float) -> None:
        build.op("aten::mm", at + 1, 50).kernel(GEMM, at + 30, 90_000 if at == 0 else 10, launched=at + 5, **LAUNCH)

    slow_device = shelf(tmp_path / "b", attention_cudnn_first=steps(one, (200.0, 100.0, 100.0)))
    assert questions("fused", slow_device)["plan"].answer.text.startswith("to the device")

    def slow_launch(build: Build, at: float) -> None:
        width = 50_000 if at == 0 else 100
        build.op("aten::mm", at + 1, width).call("cudaLaunchKernel", at + 2, width - 20, correlation=int(at) + 7)
        build.x("kernel", GEMM, at + width + 1, 10, correlation=int(at) + 7, **LAUNCH)

    in_call = shelf(tmp_path / "c", attention_cudnn_first=steps(slow_launch, (50_200.0, 200.0, 200.0)))
    assert "in the call that launches" in questions("fused", in_call)["plan"].answer.text


def test_what_compile_joins_is_read_from_the_kernels_name(tmp_path):
    def one(build: Build, at: float) -> None:
        build.op("Torch-Compiled Region: 0/0", at + 1, 90)
        for place in range(2):
            build.op("aten::mm", at + 5 + 20 * place, 10)
            build.kernel(GEMM, at + 40 + 30 * place, 20, launched=at + 8 + 20 * place, **LAUNCH)
        build.kernel("triton_poi_fused__unsafe_view_gelu_mul_0", at + 100, 10, launched=at + 60)

    found = shelf(tmp_path, mlp_compiled=steps(one, (200.0, 200.0, 200.0)))
    assert questions("linear", found)["mlp-compiled"].answer.value == 3
    text = explanation("linear", "mlp-compiled", found)
    assert "5 kernels before, 3 kernels now." in text
    assert "`gelu` and `mul`" in text


@pytest.mark.parametrize(
    ("recording", "backend", "q", "k", "dtype"),
    [
        ("sdpa_mask", "efficient", [4, 32, 1024, 128], [4, 32, 1024, 128], "c10::BFloat16"),
        ("sdpa_gqa", "flash", [4, 32, 1024, 128], [4, 8, 1024, 128], "c10::BFloat16"),
        ("sdpa_gqa_fp32", "math", [4, 32, 1024, 128], [4, 8, 1024, 128], "float"),
        ("sdpa_decode", "cudnn", [4, 32, 1, 128], [4, 8, 4096, 128], "c10::BFloat16"),
    ],
)
def test_the_backend_of_a_call_is_what_the_trace_shows(recording, backend, q, k, dtype, tmp_path):
    found = shelf(tmp_path, **{recording: sdpa(backend, [("some_kernel", 12.0)], q, k, dtype)})
    key = recording.replace("_", "-")
    question = questions("backends", found)[key]
    assert question.answer.text == backend
    text = explanation("backends", key, found)
    assert text.startswith(f"{backend} ran")
    assert "1 kernel, 12.0 us on the device" in text
    table = question.look[0]
    assert [row[1] for row in table.rows if row[0] == backend] == ["runs"]


def test_calls_of_one_shape_are_compared(tmp_path):
    shape = [4, 32, 1024, 128]
    found = shelf(
        tmp_path,
        sdpa_causal=sdpa("cudnn", [("k", 10.0)], shape, shape),
        sdpa_mask=sdpa("efficient", [("k", 25.0)], shape, shape),
    )
    assert "2.5 times as long as causal by flag" in explanation("backends", "sdpa-mask", found)


@pytest.mark.parametrize(
    ("attention", "linear", "rest", "part"),
    [(80, 20, 5, "attention"), (20, 60, 5, "the products"), (8, 10, 30, "the rest")],
)
def test_the_part_that_takes_the_time_is_measured(attention, linear, rest, part, tmp_path):
    found = shelf(tmp_path, decoder_eager=decoder(attention, linear, rest))
    question = questions("decoder", found)["part"]
    assert question.answer.text.startswith(part)
    total = attention + linear + rest
    assert f"Attention takes {100 * attention / total:.0f} %" in explanation("decoder", "part", found)


def test_a_step_that_follows_the_device_is_said_to(tmp_path):
    def one(length: float):
        def fill(build: Build, at: float) -> None:
            build.op("aten::mm", at + 1, 5).kernel(GEMM, at + 6, length, launched=at + 2, **LAUNCH)

        return fill

    found = shelf(
        tmp_path,
        decoder_eager=steps(one(390), (400.0, 400.0, 400.0)),
        decoder_sdpa=steps(one(190), (200.0, 200.0, 200.0)),
    )
    assert questions("decoder", found)["period"].answer.text == "yes, by about as much"
    assert "what it saves, the step saves" in explanation("decoder", "period", found)


def test_a_graph_that_helps_is_said_to_help(tmp_path):
    found = shelf(tmp_path, graph_eager=launched_one_by_one(20, 2.0, 20.0), graph_replay=replayed(20, 2.0, 50.0))
    asked = questions("graphs", found)
    assert "20 kernels in 1 call (`cudaGraphLaunch`)" in explanation("graphs", "cpu", found)
    assert "makes 20 launches" in asked["cpu"].ask
    assert asked["kernels"].answer.text.startswith("they take about as long")
    assert asked["period"].answer.value == pytest.approx(410 / 50)
    text = told("graphs", found)
    assert "The device waited for launches before." in text
    assert "It helps while the device waits for the CPU; here the device was busy 10 % of the time." in text
    assert "There are no ops in a step of this recording" in text


def test_autograds_words_are_those_that_were_recorded(tmp_path):
    found = noting(tmp_path, autograd="out of luck", gradient_difference=0.0)
    text = told("attention", found)
    assert "out of luck" in text
    assert "the gradients are the same to the last bit" in text
    silent = noting(tmp_path / "b", autograd=None, gradient_difference=0.5)
    assert "autograd" not in questions("attention", silent)
    assert "the gradients differ by 5.0e-01 at most" in told("attention", silent)


def test_another_answer_of_an_empty_row_is_told(tmp_path):
    found = noting(tmp_path, masked_rows={"naive": "nan", "math": "nan"})
    assert questions("math", found)["empty-row"].answer.text == "NaN from both"
    unknown = noting(tmp_path / "b", masked_rows={})
    assert "empty-row" not in questions("math", unknown)


def test_peak_memory_that_falls_is_said(tmp_path):
    found = noting(tmp_path, peak_memory_bytes={"attention-naive": 800_000_000, "attention-inplace": 500_000_000})
    assert "Peak memory falls from 800 MB to 500 MB." in told("attention", found)
