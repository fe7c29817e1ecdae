"""Rules of launches: the device waits for the CPU, chains of tiny kernels."""

import pytest
from asking import found, not_asked, one
from making import GEMM, MUL, busy_host, item, slow_download, steps, tiny

from build import Build
from foretrace.findings.engine import examine

NO_LAUNCHES = "no device activity is tied to its launch"
UNLINKED = Build().op("aten::mm", 0, 5).kernel("k", 0, 1).load()


# FT201


def test_a_device_that_waits_for_launches():
    finding = one(steps(tiny, period=150).load(), "FT201")
    assert finding.title == "the GPU waits for the CPU: 10.0 us of work every 0.150 ms"
    assert (finding.at_stake_ns, finding.confidence) == (140_000, "certain")
    assert "waits for 10 launches a step" in finding.text
    assert finding.change.startswith("replay the launches as a CUDA graph")


def test_the_longest_gap_is_named_with_what_the_cpu_did():
    def step_of(step):
        tiny(step)
        step.op("enumerate(DataLoader)", lambda step: setattr(step, "host", step.host + 700))
        tiny(step)

    finding = one(steps(step_of).load(), "FT201")
    # 20 kernels of 1 us in a period of 1 ms, of which the loader takes 700.5 us, rounded up.
    assert "0.701 ms of idle time a step fall while the host waits for the next batch of the DataLoader" in finding.text
    assert finding.change.startswith("let the loader work ahead")
    assert 690_000 <= finding.at_stake_ns <= 701_000
    assert finding.confidence == "likely"
    assert finding.evidence[0].name == "enumerate(DataLoader)"
    assert not found(steps(step_of).load(), "FT202")[0].because


def test_one_launch_a_step_gains_nothing_from_a_graph_of_its_own():
    finding = one(steps(lambda step: step.leaf("aten::mm", GEMM, 20), period=100).load(), "FT201")
    assert (finding.at_stake_ns, finding.confidence) == (80_000, "likely")
    assert finding.change == (
        "give each launch more work, as a larger batch does, or replay several steps as one CUDA graph"
    )


def test_an_op_on_the_cpu_is_what_the_device_waits_for():
    def step_of(step):
        busy_host(step, "aten::randn", 8000)
        step.leaf("aten::square", MUL, 20)
        step.leaf("aten::mul", MUL, 20)

    finding = one(steps(step_of, period=10_000).load(), "FT201")
    assert (
        "8.001 ms of idle time a step fall while the CPU computes aten::randn, which launches nothing" in finding.text
    )
    assert "Launches explain 0.106 ms of it at most" in finding.text
    assert 7_990_000 <= finding.at_stake_ns <= 8_010_000
    assert "device=" in finding.change
    assert "graph" not in finding.change


def test_an_op_on_the_cpu_that_makes_no_tensor_is_named():
    def step_of(step):
        busy_host(step, "aten::sort", 8000)
        tiny(step, 2)

    assert one(steps(step_of, period=10_000).load(), "FT201").change.startswith("let aten::sort work on the device")


def test_a_launch_that_takes_milliseconds_loads_code():
    build = Build()
    for at in range(4):
        build.kernel("k", 10_000 + 10_000 * at, 5, launched=1 + 10_000 * at)
        build.events[-2]["dur"] = 9_990
    for at in range(20):
        build.kernel("k", 40_020 + 20 * at, 5, launched=40_010 + 20 * at)
    finding = one(build.load(), "FT201")
    # Three gaps of 9,995 us between the first kernels, in which the launch calls take 9,986 us each.
    assert "of idle time in the file fall while the host is in calls of a millisecond and more" in finding.text
    assert 29_900_000 <= finding.at_stake_ns <= 30_000_000
    assert finding.change.startswith("run a few steps before the recording")
    assert finding.evidence[0].time_ns == 9_990_000


def test_entering_compiled_code_is_what_costs_where_it_launches_little():
    def step_of(step):
        for number in range(2):
            busy_host(step, "TorchDynamo Cache Lookup", 100)
            step.op(
                f"Torch-Compiled Region: {number}/0",
                lambda step: (setattr(step, "host", step.host + 300), step.leaf("aten::addmm", GEMM, 3)),
            )

    result = {finding.code: finding for finding in examine(steps(step_of, period=950).load()).problems}
    assert "fall while the host looks up and enters compiled code" in result["FT201"].text
    assert result["FT201"].change.startswith("replay the launches as a CUDA graph")
    assert result["FT201"].confidence == "likely"
    assert result["FT210"].because == "FT201"


def test_a_capture_belongs_to_the_warm_up():
    build = Build()
    for at in range(10):
        build.kernel("k", 10 + 20 * at, 5, launched=5 + 20 * at)
    build.call("hipStreamBeginCapture", 300, 2).call("hipStreamEndCapture", 20_290, 10)
    for at in range(10):
        build.kernel("k", 20_310 + 20 * at, 5, launched=20_305 + 20 * at)
    finding = one(build.load(), "FT201")
    # Up to the first launch after it, which replays what was captured.
    assert finding.at_stake_ns == 20_005_000
    assert "20.005 ms of idle time in the file fall while a graph is captured" in finding.text
    assert finding.change.startswith("record later")


def test_what_is_done_before_a_capture_is_part_of_it():
    build = Build()
    for at in range(10):
        build.kernel("k", 10 + 20 * at, 5, launched=5 + 20 * at)
    build.call("cudaDeviceSynchronize", 250, 2).memset(15_010, 2, launched=15_000)
    build.call("cudaStreamBeginCapture", 20_000, 2).call("cudaStreamEndCapture", 20_290, 10)
    build.kernel("k", 20_310, 5, launched=20_305)
    finding = one(build.load(), "FT201")
    # From the wait on, but for the memset.
    assert finding.at_stake_ns == 20_053_000
    assert finding.change.startswith("record later")


@pytest.mark.parametrize(
    ("op", "doing", "change"),
    [
        ("aten::split_with_sizes", "aten::split_with_sizes, which makes views only", "make fewer views"),
        ("aten::randn", "aten::randn, which launches nothing", "make tensors on the device"),
        ("aten::sort", "aten::sort, which launches nothing", "let aten::sort work on the device"),
    ],
)
def test_an_op_that_launches_nothing_computes_or_makes_views(op, doing, change):
    finding = one(steps(lambda step: (busy_host(step, op, 8000), tiny(step, 2)), period=10_000).load(), "FT201")
    assert doing in finding.text
    assert finding.change.startswith(change)


@pytest.mark.parametrize(("major", "code"), [(6, "make_graphed_callables"), (7, "torch.compile"), (9, "torch.compile")])
def test_only_a_device_that_triton_knows_is_told_to_compile(major, code):
    build = steps(tiny, period=150)
    build.header["deviceProperties"][0]["computeMajor"] = major
    assert code in one(build.load(), "FT201").change


def test_less_than_one_launch_a_step_is_said_so():
    build = Build().step(1, 0, 1000).kernel("k", 10, 1, launched=5).step(2, 1000, 1000).step(3, 2000, 1000)
    finding = one(build.kernel("k", 2010, 1, launched=2005).step(4, 3000, 1000).load(), "FT201")
    assert "waits for less than one launch a step." in finding.text


@pytest.mark.parametrize(
    ("stacks", "change"), [(False, "record Python stacks"), (True, "see what runs in it: the file")]
)
def test_what_no_event_explains_takes_python_stacks(stacks, change):
    build = steps(tiny, period=2000)
    if stacks:
        build.frame("train.py(1): f", 0, 6000)
    finding = one(build.load(), "FT201")
    assert finding.change.startswith(change)
    assert "Its longest gaps, " in finding.text
    assert finding.confidence == "likely"
    # The gap of 1.93 ms less the little of it that a launch explains.
    assert 1_700_000 <= finding.at_stake_ns <= 1_900_000


def test_a_graph_on_amd_is_no_cuda_graph():
    def step_of(step):
        for _ in range(10):
            step.op("aten::mul", lambda step: step.kernel(MUL, 1, launch="hipLaunchKernel"))

    assert one(steps(step_of, period=150).load(), "FT201").change.startswith("replay the launches as a HIP graph")


def test_no_graph_holds_the_waits_between_launches():
    def step_of(step):
        for _ in range(10):
            tiny(step, 3)
            item(step)
        busy_host(step, "aten::view", 200)

    finding = one(steps(step_of, period=700).load(), "FT201")
    assert "A graph holds no waits for the device: there are 10 a step." in finding.text
    assert finding.change.startswith("take out the waits between the launches first")


def test_a_busy_device_does_not_wait():
    assert not found(steps(lambda step: step.leaf("aten::mm", GEMM, 900)).load(), "FT201")


def test_one_window_is_possible_only_and_its_stacks_are_mentioned():
    build = Build().frame("train.py(1): f", 0, 2000)
    for at in range(12):
        build.kernel("k", 100 + at * 100, 1, launched=90 + at * 100)
    finding = one(build.load(), "FT201")
    assert finding.confidence == "possible"
    assert "Python stacks were recorded" in finding.text


def test_the_bound_needs_launches():
    assert not_asked(UNLINKED, "FT201") == NO_LAUNCHES


def test_waiting_in_a_call_and_not_for_launches_bounds_the_step():
    def step_of(step):
        tiny(step, 12)
        step.op("aten::to", lambda step: slow_download(step, 700))
        tiny(step, 12)

    result = {finding.code: finding for finding in examine(steps(step_of).load()).problems}
    assert result["FT201"].because == "FT203"
    assert result["FT201"].change == result["FT203"].change
    assert "Not launches but calls in which the host waits" in result["FT201"].text
    assert result["FT202"].because is None


def test_steps_without_device_work_wait_for_nothing():
    def step_of(step):
        if step.number == 2:
            tiny(step, 12)

    trace = steps(step_of, 5).load()
    assert not found(trace, "FT201")


def test_launches_that_graphs_replay_get_no_advice_to_use_graphs():
    build = Build()
    for at in range(3):
        build.step(at, at * 1000, 900).replay(["gemm", "softmax"], at * 1000 + 300, 50, launched=at * 1000 + 80)
    finding = one(build.load(), "FT201")
    assert "CUDA graph" not in finding.change
    assert "Graph replays launch 100 % of the device time already" in finding.text


# FT202


def test_where_the_cpu_bounds_the_step_a_chain_follows_from_that():
    result = {finding.code: finding for finding in examine(steps(tiny, period=150).load()).problems}
    assert result["FT202"].because == "FT201"


def test_chains_that_not_every_step_has_are_counted_over_the_steps():
    def step_of(step):
        tiny(step, 20)
        if step.number == 1:
            step.leaf("aten::mm", GEMM, 20)
            tiny(step, 20)

    title = one(steps(step_of).load(), "FT202").title
    assert title == "80 tiny kernels in 3 steps would fuse: 4 chains in 3 steps"


def test_a_chain_of_tiny_kernels():
    finding = one(steps(lambda step: tiny(step, 100), period=1500).load(), "FT202")
    assert finding.title == "100 tiny kernels a step would fuse: one chain"
    assert finding.count == 1
    assert "torch.compile" in finding.change


@pytest.mark.parametrize(
    "make",
    [
        lambda step: tiny(step, 5),
        lambda step: [(tiny(step, 4), step.leaf("aten::mm", GEMM, 20)) for _ in range(5)],
        lambda step: [step.leaf("aten::mul", MUL, 50) for _ in range(10)],
        lambda step: [step.leaf("triton_poi_fused_mul_0", "triton_poi_fused_mul_0", 2) for _ in range(10)],
    ],
    ids=["short", "between products", "long kernels", "fused already"],
)
def test_other_runs_of_kernels_are_no_chain(make):
    assert not found(steps(make).load(), "FT202")


def test_chains_need_launches():
    assert not_asked(UNLINKED, "FT202") == NO_LAUNCHES
