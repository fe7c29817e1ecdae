"""Launches, owners, steps, graph replay and backward ties, on traces small enough to read."""

from dataclasses import replace

import numpy as np
import pytest

from build import Build
from foretrace.trace.kineto import Category
from foretrace.trace.link import link
from foretrace.trace.model import TimeFault


def owners(trace):
    return [trace.op_name(op) if op >= 0 else None for op in trace.activities.owner]


def steps(trace):
    return [trace.step_names[step] if step >= 0 else None for step in trace.activities.step]


def test_the_step_is_where_the_launch_was_not_where_the_gpu_ran():
    trace = Build().step(1, 0, 100).kernel("late", ts=500, dur=10, launched=50).step(2, 450, 100).load()
    assert steps(trace) == ["ProfilerStep#1"]


@pytest.mark.case("T12")
def test_work_launched_on_the_backward_thread_belongs_to_the_step():
    trace = (
        Build()
        .step(1, 0, 100)
        .kernel("forward", ts=20, dur=5, launched=10)
        .op("MmBackward0", 50, 30, tid=2)
        .kernel("backward", ts=70, dur=5, launched=60, tid=2)
        .x("gpu_user_annotation", "ProfilerStep#1", 20, 5, tid=7, pid=0)
        .load()
    )
    assert steps(trace) == ["ProfilerStep#1", "ProfilerStep#1"]
    assert owners(trace) == [None, "MmBackward0"]


def test_intervals_are_half_open():
    trace = Build().step(1, 0, 100).step(2, 100, 100).kernel("k", ts=300, dur=1, launched=100).load()
    assert steps(trace) == ["ProfilerStep#2"]


def test_an_activity_without_a_recorded_launch_belongs_to_nothing():
    trace = Build().step(1, 0, 100).op("aten::mm", 0, 50).kernel("k", ts=10, dur=5).load()
    assert not trace.activities.linked[0]
    assert steps(trace) == [None]
    assert owners(trace) == [None]


def test_correlation_zero_links_nothing():
    trace = Build().call("cudaLaunchKernel", 0, correlation=0).kernel("k", ts=10, dur=5, correlation=0).load()
    assert not trace.activities.linked[0]


@pytest.mark.case("T04")
@pytest.mark.parametrize(
    "name",
    ["cudaLaunchKernelExC", "cuLaunchKernelEx", "cudaLaunchCooperativeKernel", "hipExtModuleLaunchKernel", "invented"],
)
def test_a_call_is_a_launch_because_activity_points_to_it(name):
    trace = Build().op("aten::mm", 0, 50).kernel("k", ts=60, dur=5, launched=10, launch=name).load()
    assert owners(trace) == ["aten::mm"]
    assert len(trace.launches) == 1


@pytest.mark.case("T16")
def test_the_owner_is_the_innermost_op():
    trace = (
        Build()
        .op("aten::conv2d", 0, 100)
        .op("aten::convolution", 10, 80)
        .op("aten::_convolution", 20, 60)
        .op("aten::cudnn_convolution", 30, 40)
        .kernel("implicit_gemm", ts=200, dur=50, launched=40)
        .load()
    )
    assert owners(trace) == ["aten::cudnn_convolution"]
    assert [trace.op_name(op) for op in trace.op_path(int(trace.activities.owner[0]))] == [
        "aten::conv2d",
        "aten::convolution",
        "aten::_convolution",
        "aten::cudnn_convolution",
    ]


@pytest.mark.case("F18")
def test_crossing_ranges_are_placed_by_their_start_and_none_is_lost():
    trace = (
        Build()
        .op("A", 0, 100)
        .op("B", 50, 70)
        .kernel("in both", ts=200, dur=1, launched=60)
        .kernel("in B only", ts=210, dur=1, launched=110)
        .kernel("in A only", ts=220, dur=1, launched=20)
        .load()
    )
    assert owners(trace) == ["B", "B", "A"]
    assert trace.ops.parent.tolist() == [-1, 0]


@pytest.mark.case("F19")
def test_a_step_is_found_by_name_though_frames_cross_it():
    trace = (
        Build()
        .frame("train", -5, 65)
        .frame("eval", 60, 45)
        .step(1, 0, 100)
        .kernel("k", ts=200, dur=1, launched=80)
        .load()
    )
    assert steps(trace) == ["ProfilerStep#1"]


@pytest.mark.case("T14")
def test_equal_and_empty_ranges_have_an_order():
    trace = (
        Build()
        .op("first", 0, 100)
        .op("second, equal", 0, 100)
        .op("empty, at the end", 100, 0)
        .op("next", 100, 50)
        .kernel("k", ts=200, dur=1, launched=10)
        .kernel("l", ts=210, dur=1, launched=100)
        .load()
    )
    assert owners(trace) == ["second, equal", "next"]
    assert trace.ops.parent.tolist() == [-1, 0, 3, -1]


@pytest.mark.case("T05")
def test_a_launch_outside_ops_falls_to_the_frame_around_it():
    trace = (
        Build()
        .frame("triton_launcher", 0, 100)
        .kernel("triton_kernel", ts=200, dur=5, launched=10, launch="cuLaunchKernel")
        .load()
    )
    assert owners(trace) == [None]
    assert trace.name(int(trace.activities.outer[0])) == "triton_launcher"


@pytest.mark.case("T09")
def test_a_compiled_region_owns_the_graph_launched_in_it():
    trace = Build().annotation("Torch-Compiled Region: 0/0", 0, 100).replay(["a", "b"], 200, 5, launched=50).load()
    assert owners(trace) == [None, None]
    assert {trace.name(int(row)) for row in trace.activities.outer} == {"Torch-Compiled Region: 0/0"}


@pytest.mark.case("T06")
def test_all_activity_of_a_graph_replay_shares_its_step_and_is_marked():
    names = [f"k{at}" for at in range(40)]
    trace = (
        Build().step(1, 0, 100).op("replay", 10, 50).replay(names, 200, 2, launched=20, launch="hipGraphLaunch").load()
    )
    assert trace.activities.graph.all()
    assert steps(trace) == ["ProfilerStep#1"] * 40
    assert set(owners(trace)) == {"replay"}


@pytest.mark.case("T10")
def test_graph_nodes_keep_their_identity_across_replays():
    build = Build()
    for replay in range(2):
        build.call("cudaGraphLaunch", 100 * replay)
        for node in range(1, 6):
            build.kernel(f"k{node}", 100 * replay + 10 * node, 5, correlation=replay + 1, **{"graph node id": node})
    trace = build.load()
    assert trace.activities.graph_node.tolist() == [1, 2, 3, 4, 5] * 2
    assert trace.activities.graph.all()


@pytest.mark.case("T15")
def test_gpu_times_come_from_the_gpu():
    trace = (
        Build()
        .kernel("ncclDevKernel_AllReduce", ts=100, dur=50, launched=0)
        .kernel("ncclDevKernel_AllReduce", ts=150, dur=50, launched=5)
        .load()
    )
    assert trace.activities.ts.tolist() == [100_000, 150_000]
    assert trace.activities.end.tolist() == [150_000, 200_000]


@pytest.mark.case("T02")
def test_external_ids_are_judged_by_file():
    agree, repeat = Build(), Build()
    for at in range(3):
        for build, external in ((agree, at + 1), (repeat, 101 + at)):
            build.op(f"op{at}", 100 * at, 50).call("cudaLaunchKernel", 100 * at + 10, correlation=101 + at)
            build.kernel("k", 1000 + at, 1, correlation=101 + at, **{"External id": external})
    assert agree.load().external_ids == "agrees"
    trace = repeat.load()
    assert trace.external_ids == "correlation"
    assert owners(trace) == ["op0", "op1", "op2"]


def test_old_step_ranges_are_ops_but_own_nothing():
    trace = Build().x("Operator", "ProfilerStep#4", 0, 100).kernel("k", ts=200, dur=1, launched=50).load()
    assert trace.step_names == ["ProfilerStep#4"]
    assert len(trace.ops) == 0
    assert owners(trace) == [None]


def test_any_annotation_can_be_made_a_step():
    build = Build().annotation("batch", 0, 10).annotation("batch", 10, 10).kernel("k", ts=50, dur=1, launched=12)
    assert build.load().step_names == []
    trace = build.load(step="batch")
    assert trace.step_names == ["batch", "batch"]
    assert trace.activities.step.tolist() == [1]


def test_a_backward_op_is_tied_to_the_last_forward_op_with_its_number():
    trace = (
        Build()
        .op("aten::linear", 0, 50, sequence=7)
        .op("aten::addmm", 10, 20, sequence=7)
        .op("AddmmBackward0", 100, 20, tid=2, sequence=7, forward_thread=1)
        .load()
    )
    assert trace.ops.forward.tolist() == [-1, -1, 1]


def test_a_backward_op_is_tied_by_its_flow_where_it_has_no_number():
    trace = (
        Build()
        .op("aten::mul", 0, 50)
        .op("MulBackward0", 100, 20, tid=2)
        .event(ph="s", id=3, pid=1, tid=1, ts=0, cat="fwdbwd", name="fwdbwd")
        .event(ph="f", id=3, pid=1, tid=2, ts=100, cat="fwdbwd", name="fwdbwd", bp="e")
        .load()
    )
    assert trace.ops.forward.tolist() == [-1, 0]


def test_a_repeated_correlation_leads_to_the_call_that_had_begun():
    trace = (
        Build()
        .op("one", 0, 10)
        .call("cudaLaunchKernel", 5, correlation=9)
        .kernel("k", ts=20, dur=1, correlation=9)
        .op("two", 100, 10)
        .call("cudaLaunchKernel", 105, correlation=9)
        .kernel("k", ts=120, dur=1, correlation=9)
        .load()
    )
    assert owners(trace) == ["one", "two"]


@pytest.mark.parametrize("far", [2**63 - 1, 1 - 2**63, 2**62 + 1, -(2**60) - 1])
@pytest.mark.parametrize("many", [1, 9])
def test_starts_near_the_ends_of_int64_are_impossible_however_many_they_are(far, many, recwarn):
    build = Build().op("aten::mm", 10, 30).kernel("k", ts=50, dur=20, launched=15)
    trace = build.load()
    raw = trace.raw
    rows = {name: getattr(raw.rows, name) for name in type(raw.rows).__annotations__}
    rows = {name: np.concatenate((column, np.repeat(column[-1:], many))) for name, column in rows.items()}
    rows["ts"][-many:] = far
    rows["category"][-many:] = Category.PYTHON
    found = link(replace(raw, rows=type(raw.rows)(**rows)), path="x", file="x", size=1)
    assert found.rows.fault.tolist() == [TimeFault.NONE] * len(trace.rows) + [TimeFault.ABSURD] * many
    assert found.span_ns == trace.span_ns
    assert not recwarn.list


def test_a_duration_of_centuries_is_impossible():
    trace = Build().op("aten::mm", 10, 30).op("aten::add", 20, 5e12).op("aten::mul", 50, 1).load()
    longer = Build().op("aten::mm", 10, 30).op("aten::add", 20, 1e13).op("aten::mul", 50, 1).load()
    assert trace.rows.fault.tolist() == [TimeFault.NONE] * 3
    assert longer.rows.fault.tolist() == [TimeFault.NONE, TimeFault.ABSURD, TimeFault.NONE]
