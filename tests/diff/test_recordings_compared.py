"""Pairs of recordings whose difference is known."""

import io
from functools import cache
from pathlib import Path

import pytest

import foretrace
from foretrace.differences import diff
from foretrace.report.console import console
from foretrace.report.diff_text import print_difference

OWN = Path(__file__).parents[1] / "recordings" / "h200"
SHIPPED = Path(foretrace.__file__).parent / "recordings" / "h200"


@cache
def compared(before, after):
    return diff(foretrace.read(OWN / f"{before}.json.gz"), foretrace.read(OWN / f"{after}.json.gz"))


def changes(found, word=None, kind=None):
    """(what, where it was, where it is, before, after) of the changes of one sort."""
    return [
        (change.label or change.name, change.ops, change.ops_after, change.before, change.after)
        for change in found.structure
        if (word is None or change.change == word) and (kind is None or change.kind == kind)
    ]


def text(found, width=100, *, everything=False):
    file = io.StringIO()
    out = console(file)
    out.width = width
    print_difference(out, found, everything=everything)
    return file.getvalue()


def test_naive_to_inplace_is_one_copy_less():
    found = compared("p3_naive", "p3_inplace")
    assert found.conditions == ()
    assert found.alike == "Same device, dtype, shapes and number of steps."
    copy = ("aten::masked_fill", "aten::clone", "aten::copy_")
    assert changes(found, "gone", "memcpy") == [("Memcpy DtoD (Device -> Device)", copy, (), 1, 0)]
    assert changes(found, "moved") == [
        ("elementwise: masked_fill", ("aten::masked_fill", "aten::masked_fill_"), ("aten::masked_fill_",), 1, 1)
    ]
    assert [(c.name, c.name_after, c.same_kernels) for c in found.ranges] == [
        ("aten::masked_fill", "aten::masked_fill_", 1)
    ]
    assert len(found.structure) == 3
    assert found.activities[0].bytes == 268_435_456
    assert found.activities[0].path == ("attn_fwd", "aten::masked_fill", "aten::clone", "aten::copy_")
    assert found.summary == (
        "One Memcpy DtoD of 268 MB a step under aten::masked_fill is gone; "
        "device time 1.065 to 0.937 ms (-12 %): all of it is the copy."
    )


def test_the_other_way_round_the_copy_is_new():
    found = compared("p3_inplace", "p3_naive")
    assert [change[0] for change in changes(found, "new", "memcpy")] == ["Memcpy DtoD (Device -> Device)"]
    assert "is new" in found.summary
    assert "0.937 to 1.065 ms (+14 %): all of it is the copy." in found.summary


def test_inplace_to_math_is_20_kernels_in_fp32_on_cuda_cores():
    found = compared("p3_inplace", "p3_sdpa_math")
    assert [(ours.value, theirs.value) for ours, theirs in (found.counts["kernels"],)] == [(5, 20)]
    gemms = [change for change in found.activities if change.role == "gemm"]
    assert [change.change for change in gemms] == ["renamed", "renamed"]
    for gemm in gemms:
        assert gemm.facts["unit"] == ("tensor_core", "cuda_core")
        assert gemm.facts["input_dtype"] == ("bf16", "fp32")
        assert gemm.launch == ("cuLaunchKernelEx", "cudaLaunchKernelExC")
        assert "tile" in gemm.facts
    (softmax,) = (change for change in found.activities if change.role == "softmax")
    assert softmax.ops == ("aten::softmax", "aten::_softmax")
    assert "aten::_safe_softmax" in softmax.ops_after
    assert softmax.facts["input_dtype"] == ("bf16", "fp32")
    assert found.summary.startswith(
        "5 kernels a step became 20, two GEMMs went from bf16 on tensor cores to fp32 on CUDA cores; "
        "device time 0.937 to 2.623 ms (+180 %)"
    )


def test_kernels_of_a_step_add_up():
    """What pairs, what is gone and what is new account for every kernel of both."""
    found = compared("p3_inplace", "p3_sdpa_math")
    gone = sum(c.before for c in found.activities if c.change == "gone" and c.kind == "kernel")
    new = sum(c.after for c in found.activities if c.change == "new" and c.kind == "kernel")
    paired = sum(c.after for c in found.activities if c.change in ("renamed", "moved") and c.kind == "kernel")
    assert (gone + paired, new + paired) == (5, 20)
    total = sum(change.time_ns for change in found.activities)
    device = found.step_times[0]
    assert total == pytest.approx(device.after.median - device.before.median, rel=0.01)


def test_a_compiled_linear_runs_the_same_kernel_from_one_op():
    found = compared("p2_linear", "p2_linear_compiled")
    (moved,) = found.activities
    assert (moved.change, moved.name, moved.name_after) == ("moved", moved.name, moved.name)
    assert moved.ops == ("aten::linear", "aten::addmm")
    assert moved.ops_after == ("aten::addmm",)
    assert tuple(count.value for count in found.counts["ops"]) == (5, 1)
    new = [change.name.partition(":")[0] for change in found.ranges if change.kind == "range"]
    assert "Torch-Compiled Region" in new
    assert all(change.change == "new" for change in found.ranges if change.kind == "range")
    times = {time.metric: time.verdict.word for time in found.step_times}
    assert times["device_time"] == "within noise"
    assert times["cpu_time"] == "slower"
    assert found.summary == (
        "The same kernel, now launched from inside a compiled region: 5 ops a step became 1; "
        "device time within noise, CPU time 0.057 to 0.147 ms (+156 %)."
    )


def test_a_compiled_matmul_add_copies_and_adds_in_the_epilogue():
    found = compared("p1_matmul_add_4096", "p1_matmul_add_4096_compiled")
    assert changes(found, "gone", "kernel") == [("elementwise: add", ("aten::add",), (), 1, 0)]
    (copy,) = (change for change in found.activities if change.change == "new")
    assert (copy.kind, copy.bytes, copy.ops) == ("memcpy", 33_554_432, ("aten::addmm",))
    (gemm,) = (change for change in found.activities if change.change == "renamed")
    assert "_bz_" in gemm.name
    assert "_badd_" in gemm.name_after
    assert found.summary.startswith(
        "The add kernel became the epilogue of the GEMM (aten::addmm) after a copy (33.6 MB) of what is added"
    )


def test_llama_with_sdpa_fuses_its_attention():
    found = compared("m_llama_eager", "m_llama_sdpa")
    (attention,) = (change for change in found.activities if change.change == "new" and change.kind == "kernel")
    assert (attention.before, attention.after, attention.role) == (0, 4, "attention_forward")
    assert {("softmax", 4), ("bf16 GEMM 64x256, nvjet", 4)} <= {
        (change[0], change[3]) for change in changes(found, "gone", "kernel")
    }
    assert found.summary.startswith("231 kernels a step became 182: four fused attention kernels")
    assert "2.875 to 1.232 ms (-57 %)" in found.summary


@pytest.mark.parametrize("path", sorted(OWN.glob("*.json.gz")), ids=lambda path: path.name)
def test_a_file_against_itself_is_the_same(path):
    found = diff(foretrace.read(path), foretrace.read(path))
    assert found.same
    assert found.structure == ()
    assert found.conditions == ()
    assert found.summary == "No change: the same structure and the same times."


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (OWN / "p3_naive.json.gz", SHIPPED / "naive.json.gz"),
        (OWN / "p3_inplace.json.gz", SHIPPED / "inplace.json.gz"),
        (OWN / "p3_sdpa_flash.json.gz", SHIPPED / "flash.json.gz"),
        (OWN / "p3_sdpa_math.json.gz", SHIPPED / "math.json.gz"),
        (OWN / "p3_sdpa_efficient.json.gz", SHIPPED / "efficient.json.gz"),
        (OWN / "p3_sdpa_cudnn.json.gz", SHIPPED / "cudnn.json.gz"),
        (OWN / "p3_naive.json.gz", OWN / "p3_cold_naive.json.gz"),
        (OWN / "n_s8192_auto.json.gz", OWN / "n_s8192_cudnn.json.gz"),
        (OWN / "n_nocausal_auto.json.gz", OWN / "n_nocausal_cudnn.json.gz"),
    ],
    ids=lambda path: path.name,
)
def test_a_second_recording_of_the_same_thing_has_no_structural_change(first, second):
    found = diff(foretrace.read(first), foretrace.read(second))
    assert found.structure == ()
    words = {time.metric: time.verdict.word for time in found.times}
    assert words["device_time"] == "within noise"
    assert found.kernel_times == ()


def test_other_shapes_are_said_first():
    found = compared("p3_sdpa_auto", "n_d128_auto")
    (shapes,) = (condition for condition in found.conditions if condition.code == "shapes")
    assert "[8,16,1024,64]" in shapes.text
    assert "128]" in shapes.text
    assert text(found).splitlines()[1].strip().startswith("Different shapes: aten::scaled_dot_product_attention")


def test_another_dtype_is_said_first():
    found = compared("p3_sdpa_efficient", "n_fp32_efficient")
    assert ("bf16", "f32") in [(c.before, c.after) for c in found.conditions if c.code == "dtype"]


def test_python_frames_on_one_side_are_said_first():
    found = compared("m_llama_sdpa", "m_llama_sdpa_stack")
    assert found.structure == ()
    assert [condition.code for condition in found.conditions] == ["stacks"]


@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("p3_naive", "p3_inplace"),
        ("p3_inplace", "p3_sdpa_math"),
        ("p2_linear", "p2_linear_compiled"),
        ("m_llama_eager", "m_llama_sdpa"),
        ("p3_naive", "t_naive_fwdbwd"),
    ],
)
def test_lines_fit(before, after, width):
    for everything in (False, True):
        lines = text(compared(before, after), width, everything=everything).splitlines()
        assert max(map(len, lines)) <= width


def test_the_naive_pair_reads_like_this():
    lines = [line.rstrip() for line in text(compared("p3_naive", "p3_inplace"), 80).splitlines()]
    assert lines[:11] == [
        "p3_naive.json.gz -> p3_inplace.json.gz",
        " Same device, dtype, shapes and number of steps.",
        "",
        " A step: kernels 5 · copies 1 -> 0 · memsets 1 · launches 7 -> 6 · ops 39 -> 30",
        "",
        " gone      Memcpy DtoD, 268 MB, 1 -> 0 a step                         -0.127 ms",
        "           under aten::masked_fill (clone, copy_)",
        " moved     elementwise: masked_fill",
        "           from aten::masked_fill (masked_fill_)",
        "           to   aten::masked_fill_",
        " renamed   aten::masked_fill (11 ops inside) -> aten::masked_fill_ (2 ops",
    ]


@pytest.mark.parametrize(
    ("before", "after", "summary"),
    [
        (
            "p3_naive",
            "p3_naive_compiled",
            (
                "5 kernels a step became 3, one copy a step is gone, three kernels fused into one by torch.compile; "
                "device time 1.065 to 0.325 ms (-69 %), CPU time 0.428 to 0.257 ms (-40 %)."
            ),
        ),
        (
            "p3_inplace",
            "x_cudagraph_inplace",
            (
                "The same six kernels, now replayed by cudaGraphLaunch; device time 0.937 to 0.997 ms (+6.4 %), "
                "CPU time 0.298 to 0.030 ms (-90 %)."
            ),
        ),
        (
            "p3_inplace",
            "x_item_sync",
            (
                "5 kernels a step became 6, one copy a step is new, one sync a step is new; device time within noise, "
                "CPU time 0.298 to 1.109 ms (x3.7)."
            ),
        ),
        (
            "x_fp32_matmul",
            "x_tf32_matmul",
            (
                "One GEMM went from fp32 on CUDA cores to tf32 on tensor cores; device time 0.339 to 0.048 ms (-86 %): "
                "all of it is tf32 GEMM 128x256, cuBLAS."
            ),
        ),
        (
            "p3_sdpa_flash",
            "p3_sdpa_cudnn",
            (
                "Flash attention forward bf16 d64 became cuDNN attention forward 16-bit d64; "
                "device time 92.4 to 57.5 us (-38 %): all of it is cuDNN attention forward 16-bit d64."
            ),
        ),
    ],
)
def test_what_it_amounts_to(before, after, summary):
    assert compared(before, after).summary == summary
