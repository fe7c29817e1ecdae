"""The roof over recordings of one H200."""

from pathlib import Path

import pytest

from build import Build
from foretrace.analysis.roofline.recorded import trace_roofline
from foretrace.trace.load import load_trace

OWN = Path(__file__).parents[1] / "recordings" / "h200"
BF16_PEAK = 989.4e12
BANDWIDTH = 4.8e12


def roof(name):
    return trace_roofline(load_trace(OWN / f"{name}.json.gz"))


def attention(name):
    (row,) = [op for op in roof(name).ops if op.name == "aten::scaled_dot_product_attention"]
    return row.bound


@pytest.mark.parametrize("name", ["p3_sdpa_cudnn", "p3_sdpa_flash", "p3_sdpa_efficient", "p3_sdpa_math"])
def test_the_floor_of_the_forward_is_the_longer_of_its_flops_and_its_bytes(name):
    bound = attention(name)
    expected = 1e9 * max(17.2e9 / BF16_PEAK, 67e6 / BANDWIDTH)
    assert bound.floor_ns == pytest.approx(expected, rel=0.02)
    assert bound.flops == 17_196_646_400
    assert bound.bytes == 67_108_864
    assert bound.bound == "compute"
    assert bound.count == "exact"


def test_cudnn_is_nearest_to_the_floor_and_math_is_far_from_it():
    over = {name: attention(f"p3_sdpa_{name}").over_floor for name in ("cudnn", "flash", "efficient", "math")}
    assert list(over) == sorted(over, key=over.get)
    assert over["cudnn"] < 4
    assert over["math"] > 30


def test_shares_and_rates_follow_from_floor_and_time():
    bound = attention("p3_sdpa_flash")
    assert bound.share_of_peak == pytest.approx(1 / bound.over_floor)
    assert bound.achieved_flops_per_s == pytest.approx(bound.share_of_peak * BF16_PEAK, rel=1e-6)
    assert bound.intensity == pytest.approx(17_196_646_400 / 67_108_864)


def test_no_op_beats_its_floor_by_more_than_timing_allows():
    for path in sorted(OWN.glob("*.json.gz")):
        for op in trace_roofline(load_trace(path)).ops:
            # What fits the cache may beat the memory; the largest of these fills it several times over.
            if op.bound.over_floor and (op.bound.bytes or 0) > 200e6:
                assert op.bound.over_floor > 0.95, (path.name, op.name, op.shapes)


def test_a_step_is_what_is_judged_and_what_is_not():
    for path in sorted(OWN.glob("*.json.gz")):
        trace = load_trace(path)
        if not len(trace.steps):
            continue
        step = trace_roofline(trace).per_step
        linked = trace.activities.step >= 0
        whole = [
            int(trace.activities.dur[linked & (trace.activities.step == at)].sum()) for at in range(len(trace.steps))
        ]
        assert min(whole) <= step.judged_ns.max + step.unknown_ns.max
        assert step.judged_ns.min + step.unknown_ns.min <= max(whole)


def test_the_naive_attention_is_judged_op_by_op():
    rows = {op.name: op for op in roof("p3_naive").ops}
    assert {"aten::matmul", "aten::masked_fill", "aten::softmax"} <= set(rows)
    # It copies before it masks: twice the traffic of its floor and more.
    assert rows["aten::masked_fill"].bound.over_floor > 3


def test_the_backward_recomputes_the_scores():
    rows = {op.name: op for op in roof("t_flash_fwdbwd").ops}
    forward, backward = (
        rows["aten::scaled_dot_product_attention"],
        rows["aten::_scaled_dot_product_flash_attention_backward"],
    )
    assert backward.bound.flops == 5 * forward.bound.flops // 2


def test_tensor_cores_under_float32_have_the_tf32_peak():
    def floor(name):
        return next(op.bound.floor_ns for op in roof(name).ops if op.name in ("aten::matmul", "aten::mm"))

    assert floor("x_fp32_matmul") > 5 * floor("x_tf32_matmul")


def test_a_float32_product_under_autocast_is_one_of_the_format_it_ran_in():
    build = Build().gpu("Tesla T4", computeMajor=7, computeMinor=5).step(1, 0, 100)
    build.op("aten::linear", 10, 20, dims=[[512, 784], [2048, 784], []], types=["float", "float", ""])
    (row,) = trace_roofline(
        build.kernel("turing_fp16_s1688gemm_fp16_256x128_ldg8_f2f_tn", ts=50, dur=180, launched=12).load()
    ).ops
    flops, moved = 2 * 512 * 784 * 2048, 2 * (512 * 784 + 2048 * 784 + 512 * 2048)
    assert (row.bound.flops, row.bound.bytes, row.bound.bound) == (flops, moved, "compute")
    assert row.bound.floor_ns == pytest.approx(flops / 65e12 * 1e9)


def test_without_shapes_nothing_is_known():
    found = roof("p3_naive_noshapes")
    assert found.ops == []
    assert found.per_step.floor_ns.median == 0
    assert found.per_step.over_floor is None
    assert found.per_step.unknown_ns.median > 0


def test_an_unknown_card_has_work_but_no_floor():
    dims, types = [[64, 32], [32, 16]], ["c10::Half", "c10::Half"]
    build = Build(deviceProperties=[{"id": 0, "name": "Card of tomorrow", "computeMajor": 99, "computeMinor": 0}])
    build.step(1, 0, 100).op("aten::mm", 10, 20, dims=dims, types=types).kernel("gemm", ts=50, dur=5, launched=12)
    found = trace_roofline(build.load())
    (row,) = found.ops
    assert found.peaks is None
    assert (row.bound.flops, row.bound.bytes) == (2 * 64 * 32 * 16, 2 * (64 * 32 + 32 * 16 + 64 * 16))
    assert (row.bound.floor_ns, row.bound.bound) == (None, "unknown")
    own = {"Card of tomorrow": {"bandwidth": 1e12, "tensor_core": {"fp16": 1e12}}}
    (row,) = trace_roofline(build.load(), own).ops
    assert row.bound.floor_ns == pytest.approx(2 * 64 * 32 * 16 / 1e12 * 1e9)


@pytest.mark.case("A05")
def test_what_flash_achieved_on_a_hopper_is_told_against_the_peak_and_nothing_is_promised():
    dims, types = [[1, 24, 4608, 128]] * 3, ["c10::BFloat16"] * 3
    took_us = 4 * 24 * 4608 * 4608 * 128 / 329e12 * 1e6
    build = Build(deviceProperties=[{"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0}])
    scalars = ["", "", "", "", "0.", "False", "", "False"]
    more = {"dims": [*dims, [], [], [], [], []], "types": [*types, "", "Scalar", "Scalar", "", "Scalar"]}
    build.step(1, 0, 100).op("aten::scaled_dot_product_attention", 10, 20, concrete=scalars, **more)
    build.kernel("pytorch_flash::flash_fwd_kernel", ts=50, dur=took_us, launched=12)
    (row,) = trace_roofline(build.load()).ops
    assert row.bound.achieved_flops_per_s == pytest.approx(329e12, rel=0.01)
    assert row.bound.share_of_peak == pytest.approx(329 / 989.4, rel=0.01)
