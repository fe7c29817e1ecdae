"""Rules of the device: gaps, launches that vary, overlap, communication."""

import pytest
from asking import found, not_asked, one
from making import GEMM, steps

from build import Build

UNLINKED = Build().op("aten::mm", 0, 5).kernel("k", 0, 1).load()
NO_LAUNCHES = "no device activity is tied to its launch"
TWO_STEPS = "it takes two steps to compare, and the file has fewer"


# FT401


def with_gap(length, name="aten::slow_on_the_cpu"):
    def step_of(step):
        step.leaf("aten::mm", GEMM, 300)
        step.host = step.device
        step.op(name, lambda step: setattr(step, "host", step.host + length))
        for _ in range(20):
            step.leaf("aten::mm", GEMM, 18)

    return steps(step_of).load()


def test_a_long_gap_and_what_the_cpu_did_in_it():
    finding = one(with_gap(200, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"), "FT401")
    assert 200_000 <= finding.at_stake_ns <= 600_000
    assert "enumerate(DataLoader)" in finding.text
    assert "num_workers" in finding.change


def test_a_gap_that_not_every_step_has_is_counted_over_the_steps():
    def step_of(step):
        for number in range(20):
            if step.number == 2 and number == 12:
                step.host = step.device + 250
            step.leaf("aten::mm", GEMM, 30 if step.number == 2 else 44)

    assert one(steps(step_of, 5).load(), "FT401").title.endswith(" a step: 1 long gap in 5 steps")


def test_a_range_that_fills_several_gaps_is_shown_once():
    def step_of(step):
        begin = step.host
        for _ in range(4):
            for _ in range(10):
                step.leaf("aten::mm", GEMM, 20)
            step.host = step.device + 150
        step.build.annotation("masks", begin - 0.2, step.host - begin)

    finding = one(steps(step_of, period=1500).load(), "FT401")
    assert [shown.name for shown in finding.evidence] == ["masks"]


def test_launches_of_milliseconds_are_first_uses():
    build = Build()
    for at in range(6):
        launched = 10_000 * at
        build.kernel("k", launched + 3000, 350, launched=launched)
        build.events[-2]["dur"] = 2900
        for number in range(1, 20):
            build.kernel("k", launched + 3000 + 350 * number, 350, launched=launched + 2950 + 10 * number)
    finding = one(build.load(), "FT401")
    assert "the host is in calls of a millisecond and more, as the first use of a kernel" in finding.text
    assert finding.change.startswith("run a few steps before the recording")
    assert {shown.name for shown in finding.evidence} == {"cudaLaunchKernel"}


def test_short_gaps_are_the_devices_own():
    assert not found(steps(lambda step: [step.leaf("aten::mm", GEMM, 85) for _ in range(10)]).load(), "FT401")


def test_where_the_cpu_bounds_the_step_that_finding_has_it():
    def step_of(step):
        step.leaf("aten::mm", GEMM, 10)
        step.host += 500
        step.leaf("aten::mm", GEMM, 10)

    trace = steps(step_of).load()
    assert not found(trace, "FT401")
    assert found(trace, "FT201")


def test_gaps_need_launches():
    assert not_asked(UNLINKED, "FT401") == NO_LAUNCHES


# FT402


def varying(*lengths, name=GEMM):
    build = Build()
    for at, length in enumerate(lengths):
        build.step(at, at * 1000, 900).op("aten::mm", at * 1000 + 5, 20, dims=[[8, 8]])
        build.kernel(name, at * 1000 + 50, length, launched=at * 1000 + 10)
    return build.load()


def test_the_same_launch_takes_longer_in_one_step():
    finding = one(varying(100, 100, 180), "FT402")
    assert finding.title.startswith("the same launch varies 1.8x between steps")
    assert (finding.count, finding.at_stake_ns) == (1, 26_667)
    assert [item.time_ns for item in finding.evidence] == [100_000, 180_000]


def test_the_name_alone_is_not_the_same_launch():
    build = Build()
    for at in range(3):
        build.step(at, at * 1000, 900)
        for number, length in enumerate((100, 300)):
            start = at * 1000 + number * 400
            build.op("aten::mm", start + 5, 20, dims=[[8 * (number + 1), 8]])
            build.kernel(GEMM, start + 50, length, launched=start + 10)
    assert not found(build.load(), "FT402")


@pytest.mark.parametrize("lengths", [(100, 120, 110), (2, 6, 2)], ids=["a little", "tiny kernels"])
def test_small_differences_are_noise(lengths):
    assert not found(varying(*lengths), "FT402")


def test_collectives_vary_by_the_wait_for_others():
    assert not found(varying(100, 500, 100, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"), "FT402")


def test_varying_needs_two_steps():
    assert not_asked(varying(100), "FT402") == TWO_STEPS


# FT403


@pytest.mark.case("F20")
def test_a_kernel_that_viewers_hide_is_noted():
    trace = Build().kernel("a", 3, 3.776).kernel("b", 5, 2).load()
    finding = one(trace, "FT403")
    assert finding.title == "1 activity on 1 stream hidden by viewers"
    assert finding.severity == "note"


def test_what_viewers_hide_is_counted_by_the_step():
    build = Build()
    for step in (1, 2):
        build.step(step, 1000 * step, 500)
        build.kernel("a", 1000 * step + 50, 10, launched=1000 * step + 1)
        build.kernel("b", 1000 * step + 55, 10, launched=1000 * step + 20)
    finding = one(build.load(), "FT403")
    assert finding.title == "2 activities on 1 stream hidden by viewers"
    assert finding.count == 1


def test_activities_that_touch_or_run_on_two_streams_hide_nothing():
    assert not found(Build().kernel("a", 3, 2).kernel("b", 5, 2).kernel("c", 5, 2, stream=9).load(), "FT403")
    assert not_asked(Build().op("a", 0, 1).load(), "FT403") == "the file holds no device activity"


# FT404

COLLECTIVES = [
    "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
    "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
    "ncclSymDevKernel_AllReduce_AGxLL_R_sum_bf16(ncclSymDevArgs)",
    "void multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)",
]


@pytest.mark.case("T24")
@pytest.mark.parametrize("name", COLLECTIVES)
def test_every_name_form_of_a_collective_is_communication(name):
    trace = steps(lambda step: step.op("c10d::allreduce_", lambda step: step.kernel(name, 100))).load()
    assert one(trace, "FT404").at_stake_ns == 100_000


@pytest.mark.case("T24")
def test_no_communication_is_no_error():
    assert not found(steps(lambda step: step.leaf("aten::mm", GEMM, 300)).load(), "FT404")
    assert not_asked(UNLINKED, "FT404") == NO_LAUNCHES


@pytest.mark.case("T25")
def test_overlapped_and_exposed_communication_are_apart():
    build = Build().step(1, 0, 900)
    build.op("aten::mm", 5, 10).kernel(GEMM, 100, 90, launched=8)
    build.op("c10d::allreduce_", 20, 10).kernel(COLLECTIVES[1], 90, 100, launched=23, stream=20)
    build.op("aten::mm", 30, 10).kernel(GEMM, 200, 200, launched=33)
    finding = one(build.load(), "FT404")
    assert finding.at_stake_ns == 10_000
    assert "90.0 us overlap with other work, 10.0 us do not" in finding.text
    assert "not the time of the transfer" in finding.text


def communicating(*origins, backward=False):
    """Collectives with nothing beside them, as (kernel, time, ops and annotations around it, outermost first)."""
    build = Build().step(1, 0, 9000)
    if backward:
        build.op("autograd::engine::evaluate_function: MmBackward0", 5, 2)
    for number, (name, length, *around) in enumerate(origins):
        host = 10 + number * 100
        for depth, above in enumerate(around):
            add = build.annotation if above.startswith(("nccl:", "dispatch")) else build.op
            add(above, host + depth, 80 - 2 * depth)
        build.kernel(name, 1000 + number * 1000, length, launched=host + 20)
    return one(build.load(), "FT404")


ALL_REDUCE, SEND_RECEIVE = COLLECTIVES[1:3]
HOOK = "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"
DISPATCH = "void deep_ep::internode::dispatch<false, 8, true, 8>(int4*, float*, long*)"


@pytest.mark.parametrize(
    ("origins", "backward", "said", "unsaid"),
    [
        ([(ALL_REDUCE, 100, HOOK, "c10d::allreduce_", "nccl:all_reduce")], True, "bucket_cap_mb=100", "no backward"),
        ([(ALL_REDUCE, 100, "c10d::allreduce_")], True, "tensor parallel", "bucket_cap_mb="),
        ([(COLLECTIVES[4], 100, "vllm::all_reduce", "symm_mem::multimem_all_reduce_")], False, "no backward", "bucket"),
        ([(SEND_RECEIVE, 100, "c10d::alltoall_base_", "nccl:all_to_all")], True, "all-to-alls: even out", "bucket"),
        ([(SEND_RECEIVE, 100, "c10d::send")], True, "in a pipeline", "all-to-all"),
        ([(DISPATCH, 100, "dispatch(F)")], True, "all-to-alls: even out", "bucket"),
        # Old NCCL's name of a kernel that ran several collectives.
        ([(SEND_RECEIVE, 100, HOOK, "c10d::allreduce_")], True, "bucket_cap_mb=100", "all-to-all"),
        ([(COLLECTIVES[1].replace("AllReduce", "AllGather"), 100)], True, "backward_prefetch", "bucket"),
    ],
)
def test_what_hides_communication_depends_on_the_collective(origins, backward, said, unsaid):
    change = communicating(*origins, backward=backward).change
    assert said in change
    assert unsaid not in change


def test_each_kind_that_takes_a_good_part_is_told_what_hides_it():
    origins = [
        (SEND_RECEIVE, 600, "nccl:all_to_all"),
        (ALL_REDUCE, 300, HOOK, "nccl:all_reduce"),
        (SEND_RECEIVE, 100, "c10d::send"),
    ]
    finding = communicating(*origins, backward=True)
    assert [line.partition(":")[0] for line in finding.change.splitlines() if line[0] != " "] == [
        "all-to-alls",
        "gradients",
    ]
    assert finding.text.endswith(
        " Of what nothing hides 60 % is all-to-alls, 30 % is all-reduces of gradients, 10 % is sends and receives."
    )


# FT405


@pytest.mark.case("T26")
def test_a_kernel_that_runs_longer_beside_a_collective():
    build = Build()
    for at in range(3):
        start = at * 5000
        build.step(at, start, 4900)
        for number, length in enumerate((1180, 2080)):
            build.op("aten::mm", start + 5 + number * 20, 10, dims=[[64, 64]])
            build.kernel(GEMM, start + 100 + number * 1200, length, launched=start + 8 + number * 20)
        build.op("c10d::allreduce_", start + 60, 10)
        build.kernel(COLLECTIVES[1], start + 1310, 2000, launched=start + 63, stream=20)
    finding = one(build.load(), "FT405")
    assert finding.title == "kernels run up to 1.8x as long beside a collective"
    assert (finding.count, finding.at_stake_ns) == (1, 900_000)
    assert "1.180 ms alone and 2.080 ms while a collective runs" in finding.text
    assert not found(build.load(), "FT402")


def beside_and_alone(beside, alone, blocks=132, collective=COLLECTIVES[1]):
    """Kernels without an op, alike by name: some beside a collective, some alone, each under an annotation."""
    build = Build().gpu().step(1, 0, 50_000)
    spots = [(name, length, True) for name, length in beside] + [(name, length, False) for name, length in alone]
    for number, (name, length, shared) in enumerate(spots):
        host, start = 10 + number * 40, 1000 + number * 3000
        build.annotation(name, host, 30).kernel(GEMM, start, length, launched=host + 2, grid=[blocks, 1, 1])
        if shared:
            build.kernel(collective, start - 10, length + 20, launched=host + 12, stream=20)
    return build.load()


SAME = [("mlp", length) for length in (100, 102, 98)]
SLOWED = [("mlp", length) for length in (200, 210)]


def test_without_an_op_the_annotation_and_steady_times_show_that_the_work_is_the_same():
    finding = one(beside_and_alone(SLOWED, SAME), "FT405")
    assert (finding.count, finding.at_stake_ns) == (2, 210_000)


def test_a_grid_that_follows_the_work_needs_no_more_than_one_alone():
    assert one(beside_and_alone(SLOWED[:1], SAME[:1], blocks=4096), "FT405").at_stake_ns == 100_000
    assert not found(beside_and_alone(SLOWED[:1], SAME[:1], blocks=112), "FT405")


@pytest.mark.parametrize(
    ("beside", "alone"),
    [
        (SLOWED, [("attention", length) for _, length in SAME]),
        (SLOWED, [("mlp", 70), ("mlp", 136), ("mlp", 1517)]),
        (SLOWED, SAME[:2]),
        ([("mlp", 115), ("mlp", 930), ("mlp", 935)], SAME),
    ],
    ids=["another annotation", "times of several sizes", "too few alone", "several sizes beside"],
)
def test_a_persistent_kernel_at_other_sizes_is_no_contention(beside, alone):
    assert not found(beside_and_alone(beside, alone), "FT405")


@pytest.mark.parametrize(
    ("collective", "said"),
    [(DISPATCH, "set_num_sms"), (COLLECTIVES[4], "where its library has a setting"), (COLLECTIVES[2], "NCCL_MAX_CTAS")],
    ids=["DeepEP", "symmetric memory", "NCCL"],
)
def test_the_setting_is_that_of_the_library(collective, said):
    assert said in one(beside_and_alone(SLOWED, SAME, collective=collective), "FT405").change


def test_without_overlap_there_is_no_contention():
    trace = steps(
        lambda step: (step.leaf("aten::mm", GEMM, 300), step.leaf("c10d::allreduce_", COLLECTIVES[0], 100))
    ).load()
    assert not found(trace, "FT405")
    assert not_asked(UNLINKED, "FT405") == NO_LAUNCHES
