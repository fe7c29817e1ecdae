"""Rules of the host: launches, waits, copies, compilation, the profiler's own work."""

import pytest
from asking import found, not_asked, one
from making import BF16, COPY, GEMM, MUL, sdpa, steps, unfused

from build import Build
from foretrace.findings.engine import examine

LOADER = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
NO_LAUNCHES = "no device activity is tied to its launch"
UNLINKED = Build().op("aten::mm", 0, 5).kernel("k", 0, 1).load()


def tiny(step, number=10):
    for _ in range(number):
        step.leaf("aten::mul", MUL, 1)


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


def busy_host(step, name, length):
    step.op(name, lambda step: setattr(step, "host", step.host + length))


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
    assert finding.at_stake_ns == 20_000_000
    assert "20.000 ms of idle time in the file fall while a graph is captured" in finding.text
    assert finding.change.startswith("record later")


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


# FT203


def item(step):
    def read(step):
        step.op(
            "aten::_local_scalar_dense", lambda step: step.memcpy("Memcpy DtoH (Device -> Pinned)", 2, bytes=4).sync()
        )

    step.op("aten::item", read)


def test_item_makes_the_host_wait_and_the_idle_time_after_it_is_what_it_costs():
    def step_of(step):
        step.leaf("aten::mm", GEMM, 300)
        item(step)
        step.host += 40
        step.leaf("aten::mm", GEMM, 300)

    finding = one(steps(step_of).load(), "FT203")
    assert finding.title == "item makes the CPU wait for the GPU once a step"
    assert finding.count == 1
    assert 40_000 <= finding.at_stake_ns <= 60_000
    assert finding.evidence[0].path == ("aten::item", "aten::_local_scalar_dense")
    assert "every N steps" in finding.change


def test_a_wait_that_is_shorter_than_the_idle_time_costs_no_more_than_itself():
    def step_of(step):
        item(step)
        step.host += 400
        step.leaf("aten::mm", GEMM, 300)

    finding = one(steps(step_of).load(), "FT203")
    assert finding.at_stake_ns < 10_000
    assert finding.confidence == "likely"
    assert "After each the device idles 0.40" in finding.text
    assert "ahead at most, so no more is at stake" in finding.text


def test_a_wait_that_ends_the_recording_has_no_idle_time_of_its_own():
    def step_of(step):
        step.leaf("aten::mm", GEMM, 300)
        item(step)

    finding = one(steps(step_of).load(), "FT203")
    assert finding.count == 1
    # The wait takes 300 us; the device idles 690 us after it, twice in the three steps.
    assert 280_000 <= finding.at_stake_ns <= 300_000
    assert "(the mean of 2)" in finding.text


def slow_download(step, length):
    start = step.device = max(step.device, step.host + 2)
    step.build.activity(
        "Memcpy DtoH (Device -> Pageable)", step.host + length, 2, step.host, "gpu_memcpy", "cudaMemcpy", bytes=64
    )
    step.build.events[-2]["dur"] = length + 4
    step.host += length + 5
    step.device = start + length + 2


def test_a_call_that_holds_the_host_while_the_device_idles_loses_all_of_it():
    def step_of(step):
        step.leaf("aten::mm", GEMM, 20)
        step.op("aten::to", lambda step: slow_download(step, 500))
        step.leaf("aten::mm", GEMM, 20)

    finding = one(steps(step_of).load(), "FT203")
    assert finding.title == "a copy to the host holds the CPU once a step while the GPU idles"
    assert 450_000 <= finding.at_stake_ns <= 510_000
    assert "until the device has done all" not in finding.text
    assert "Nothing is queued then: the call itself takes that long." in finding.text


def test_waits_that_not_every_step_has_are_counted_over_the_steps():
    def step_of(step):
        step.leaf("aten::mm", GEMM, 300)
        if step.number == 1:
            item(step)
        step.leaf("aten::mm", GEMM, 300)

    finding = one(steps(step_of, 5).load(), "FT203")
    assert finding.title == "item makes the CPU wait for the GPU once in 5 steps"
    assert finding.count == 0.2


def test_each_kind_of_cause_is_one_finding():
    def step_of(step):
        item(step)
        item(step)
        step.op("aten::nonzero", lambda step: step.memcpy("Memcpy DtoH (Device -> Pageable)", 2, bytes=8).sync())
        step.op("aten::to", lambda step: step.memcpy("Memcpy HtoD (Pageable -> Device)", 1, bytes=8).sync())
        step.op("aten::to", lambda step: step.memcpy("Memcpy DtoH (Device -> Pageable)", 1, bytes=800).sync())
        step.sync("cudaDeviceSynchronize")
        step.leaf("aten::mm", GEMM, 30)

    titles = {finding.title: finding.count for finding in found(steps(step_of).load(), "FT203")}
    assert titles == {
        "item makes the CPU wait for the GPU twice a step": 2,
        "nonzero makes the CPU wait for the GPU once a step": 1,
        "a blocking upload makes the CPU wait for the GPU once a step": 1,
        "a copy to the host makes the CPU wait for the GPU once a step": 1,
        "cudaDeviceSynchronize makes the CPU wait for the GPU once a step": 1,
    }


def test_a_copy_to_the_host_is_advised_a_pinned_buffer_there():
    def step_of(step):
        step.leaf("aten::mm", GEMM, 300)
        step.op("aten::to", lambda step: step.memcpy("Memcpy DtoH (Device -> Pageable)", 1, bytes=800).sync())
        step.leaf("aten::mm", GEMM, 300)

    change = one(steps(step_of).load(), "FT203").change
    assert 'buffer = torch.empty_like(x, device="cpu", pin_memory=True)' in change
    assert "buffer.copy_(x, non_blocking=True)" in change
    assert "copied.synchronize()  # before buffer is read" in change
    assert 'to("cuda"' not in change
    assert "DataLoader" not in change


def test_a_branch_on_a_tensor_is_no_loss_that_is_printed():
    def step_of(step):
        step.leaf("aten::mm", GEMM, 300)
        step.op("aten::is_nonzero", item)
        step.leaf("aten::mm", GEMM, 300)

    finding = one(steps(step_of).load(), "FT203")
    assert finding.title == "is_nonzero makes the CPU wait for the GPU once a step"
    assert "Python asks whether a tensor is true" in finding.text
    assert "torch.where(condition, a, b)" in finding.change
    assert "loss" not in finding.change


def test_an_event_that_is_waited_for_is_told_from_a_synchronization():
    def step_of(step):
        step.leaf("aten::mm", GEMM, 300)
        step.sync("cudaEventSynchronize")
        step.leaf("aten::mm", GEMM, 30)

    finding = one(steps(step_of).load(), "FT203")
    assert "in cudaEventSynchronize until the device has come to an event." in finding.text
    assert "elapsed_time needs that" in finding.text
    assert finding.change.startswith("read events")


def test_the_timers_of_distributed_training_are_named():
    def step_of(step):
        step.leaf("aten::mm", GEMM, 300)
        begin = step.host
        step.sync("cudaEventSynchronize")
        step.build.annotation("DistributedDataParallel.forward", begin - 0.2, step.host - begin + 0.4)
        step.leaf("aten::mm", GEMM, 30)

    finding = one(steps(step_of).load(), "FT203")
    assert "DistributedDataParallel times its first 10 iterations" in finding.text
    assert finding.change.startswith("record from the 11th iteration on")


def test_the_synchronization_that_ends_a_recording_is_none_of_the_programs():
    build = steps(lambda step: step.leaf("aten::mm", GEMM, 300))
    build.call("cudaDeviceSynchronize", 2890, 500)
    assert not found(build.load(), "FT203")


def test_asynchronous_copies_do_not_wait():
    copy = lambda step: step.memcpy("Memcpy HtoD (Pinned -> Device)", 20, bytes=1 << 20)  # noqa: E731
    assert not found(steps(copy).load(), "FT203")


def test_waits_need_runtime_calls():
    assert (
        not_asked(Build().op("aten::mm", 0, 5).kernel("k", 0, 1).load(), "FT203") == "the file holds no runtime calls"
    )


# FT204


def upload(step, name="Memcpy HtoD (Pageable -> Device)", size=16_777_216):
    step.op("aten::copy_", lambda step: step.memcpy(name, 1237, bytes=size).sync())
    step.leaf("aten::mm", GEMM, 30)


def test_a_copy_from_pageable_memory_and_its_wait_are_one_finding():
    trace = steps(upload, period=3000).load()
    finding = one(trace, "FT204")
    assert finding.title == "16.8 MB a step copied to the GPU from pageable memory"
    assert finding.at_stake_ns == 1_237_000
    assert "13.6 GB/s" in finding.text
    assert "pin_memory=True" in finding.change
    assert not found(trace, "FT203")


def test_only_a_loaders_batches_are_pinned_by_the_loader():
    own = one(steps(upload, period=3000).load(), "FT204")
    assert "DataLoader" not in own.change
    assert "buffer = torch.empty(shape, pin_memory=True)" in own.change
    loaded = one(steps(lambda step: (busy_host(step, LOADER, 100), upload(step)), period=3000).load(), "FT204")
    assert "loader = DataLoader(dataset, pin_memory=True)" in loaded.change
    assert own.confidence == loaded.confidence == "certain"


def test_copies_in_one_window_may_be_a_model_that_moves_once():
    build = Build().op("aten::to", 0, 2000)
    build.memcpy("Memcpy HtoD (Pageable -> Device)", 50, 1237, launched=5, bytes=16_777_216)
    finding = one(build.load(), "FT204")
    assert finding.confidence == "possible"
    assert "Parameters of a model move once: if these are, record later." in finding.text


@pytest.mark.parametrize(
    ("name", "size"), [("Memcpy HtoD (Pinned -> Device)", 1 << 24), ("Memcpy HtoD (Pageable -> Device)", 8)]
)
def test_pinned_and_tiny_copies_are_fine(name, size):
    assert not found(steps(lambda step: upload(step, name, size), period=3000).load(), "FT204")


def test_pageable_copies_need_launches():
    assert not_asked(UNLINKED, "FT204") == NO_LAUNCHES


# FT205, FT206, FT207


def test_a_cold_first_step_is_a_note():
    build = Build().step(1, 0, 9000).step(2, 9000, 1000).step(3, 10_000, 1000)
    finding = one(build.load(), "FT205")
    assert finding.title == "the first step is cold: 9.000 ms against 1.000 ms"
    assert finding.severity == "note"


def test_a_warm_first_step_is_none():
    assert not found(steps(tiny).load(), "FT205")
    assert "two steps" in not_asked(steps(tiny, 1).load(), "FT205")


def test_a_buffer_request_inside_a_launch_is_the_profilers_work():
    build = steps(tiny).x("overhead", "Activity Buffer Request", 20, 1.7)
    finding = one(build.load(), "FT206")
    assert finding.title == "the profiler's own work is in the window: 1.7 us"
    assert finding.severity == "note"
    assert not found(steps(tiny).load(), "FT206")


def test_loading_code_is_noted_apart_from_the_profilers_work():
    build = steps(tiny).x("overhead", "Activity Buffer Request", 20, 1.7).x("overhead", "Lazy Function Loading", 30, 2)
    assert one(build.load(), "FT206").title == (
        "the profiler's own work is in the window: 1.7 us; loading code: 2.0 us"
    )


@pytest.mark.parametrize("call", ["cudaMalloc", "cudaFree", "hipMalloc", "cudaHostAlloc", "cuMemCreate"])
def test_allocator_calls_in_steady_state(call):
    finding = one(steps(lambda step: (step.build.call(call, step.host, 300), tiny(step))).load(), "FT207")
    assert (finding.count, finding.at_stake_ns, finding.confidence) == (1, 300_000, "likely")


@pytest.mark.parametrize("call", ["cudaMallocAsync", "cudaFreeAsync", "cudaFuncGetAttributes"])
def test_pooled_memory_is_as_it_should_be(call):
    assert not found(steps(lambda step: (step.build.call(call, step.host, 3), tiny(step))).load(), "FT207")


def slow(step, name, length):
    step.build.call(name, step.host, length)
    step.host += length + 0.5


def uncached(step, vendor):
    for _ in range(10):
        step.op("aten::empty", lambda step: slow(step, f"{vendor}Malloc", 8))
        step.op("aten::mul", lambda step: step.kernel(MUL, 1))
        slow(step, f"{vendor}Free", 50)


def test_what_fills_the_idle_time_is_counted_once_and_what_follows_says_so():
    result = {finding.code: finding for finding in examine(steps(lambda step: uncached(step, "cuda")).load()).problems}
    # Ten times 8 + 50 us a step, all while the device idles but for the first calls of a step and the last kernel's us.
    assert 560_000 <= result["FT207"].at_stake_ns <= 580_000
    assert result["FT201"].because == "FT207"
    assert result["FT201"].at_stake_ns == result["FT207"].at_stake_ns
    assert result["FT201"].change == result["FT207"].change


def test_allocations_while_the_device_works_cost_nothing():
    def step_of(step):
        slow(step, "cudaMalloc", 300)
        step.leaf("aten::mm", GEMM, 995)

    assert one(steps(step_of).load(), "FT207").at_stake_ns <= 5_000


@pytest.mark.parametrize(("vendor", "more"), [("cuda", ""), ("hip", " PYTORCH_NO_HIP_MEMORY_CACHING")])
def test_an_allocator_that_keeps_nothing_is_switched_off(vendor, more):
    finding = one(steps(lambda step: uncached(step, vendor)).load(), "FT207")
    assert "30 of 30 calls of aten::empty make one" in finding.text
    assert finding.change.endswith(f"    unset PYTORCH_NO_CUDA_MEMORY_CACHING{more}")


def test_warming_up_allocates_and_frees_nothing():
    def step_of(step):
        for _ in range(10):
            step.op("aten::empty", lambda step: slow(step, "cudaMalloc", 8))
            step.op("aten::mul", lambda step: step.kernel(MUL, 1))

    assert "switched off" not in one(steps(step_of).load(), "FT207").text


def test_expandable_segments_are_none_on_amd():
    finding = one(steps(lambda step: (slow(step, "hipMalloc", 300), tiny(step))).load(), "FT207")
    assert "expandable_segments" not in finding.change


def test_the_first_call_makes_the_context():
    build = Build()
    for at in range(12):
        build.kernel("k", 10 + 20 * at, 5, launched=5 + 20 * at)
    build.call("cudaFree", 300, 600_000).call("cudaMalloc", 600_400, 200)
    build.kernel("k", 601_000, 5, launched=600_900)
    finding = one(build.load(), "FT207")
    assert finding.at_stake_ns == 600_200_000
    assert "One alone takes 600.000 ms, as a first call does that makes a context or loads a library." in finding.text
    assert finding.change.startswith("run a step before the recording")


def test_allocator_calls_need_runtime_calls():
    assert not_asked(Build().op("a", 0, 1).load(), "FT207") == "the file holds no runtime calls"


# FT208, FT209, FT210


def test_compiling_inside_a_step():
    step_of = lambda step: step.op("_compile.compile_inner (dynamo_timed)", tiny)  # noqa: E731
    finding = one(steps(step_of).load(), "FT208")
    assert "of compiling a step" in finding.title
    assert "TORCH_LOGS" in finding.change
    assert not found(steps(tiny).load(), "FT208")
    assert not_asked(Build().kernel("k", 0, 1).load(), "FT208") == "the file holds no ops"


def region(step, number="0/0"):
    step.op(
        f"Torch-Compiled Region: {number}", lambda step: step.leaf("triton_poi_fused_mul_0", "triton_poi_fused_mul_0")
    )


@pytest.mark.case("A35")
def test_regions_around_each_attention_call_are_graph_breaks():
    def step_of(step):
        for layer in range(2):
            region(step, f"{2 * layer}/0")
            sdpa(step)
            region(step, f"{2 * layer + 1}/0")
            step.host += 20

    finding = one(steps(step_of, period=2000).load(), "FT209")
    assert finding.count == 3
    assert "of the breaks are around attention" in finding.text
    assert "fullgraph=True" in finding.change


def test_one_region_a_step_or_regions_far_apart_are_no_break():
    assert not found(steps(region).load(), "FT209")
    assert not found(steps(lambda step: (region(step), tiny(step, 20), region(step))).load(), "FT209")
    assert not_asked(Build().kernel("k", 0, 1).load(), "FT209") == "the file holds no ops"


def test_compiled_code_that_costs_more_than_it_saves():
    def step_of(step):
        step.op("TorchDynamo Cache Lookup", lambda step: setattr(step, "host", step.host + 30))
        step.op(
            "Torch-Compiled Region: 4/0",
            lambda step: (setattr(step, "host", step.host + 80), step.leaf("aten::addmm", GEMM, 3)),
        )

    finding = one(steps(step_of, period=200).load(), "FT210")
    assert "saves no launches" in finding.title
    assert finding.because == "FT201"
    assert finding.change.startswith("compile more at once, or replay it as a CUDA graph:")
    on_amd = steps(step_of, period=200).call("hipGetDevice", 1, 1)
    assert one(on_amd.load(), "FT210").change.startswith("compile more at once, or replay it as a HIP graph:")


def test_compiled_code_that_fuses_much_pays():
    def step_of(step):
        name = "triton_poi_fused_" + "_".join(["add", "mul", "sin", "cos", "exp", "relu", "gelu", "div"] * 3) + "_0"
        step.op("Torch-Compiled Region: 4/0", lambda step: step.leaf(name, name, 3))

    assert not found(steps(step_of, period=200).load(), "FT210")
    assert not_asked(UNLINKED, "FT210") == NO_LAUNCHES


# FT211, FT212


def replayed(copies):
    build = Build()
    for at in range(3):
        start = at * 1000
        build.step(at, start, 900)
        for number in range(copies):
            build.op("aten::copy_", start + 10 + number * 10, 8)
            build.memcpy(
                "Memcpy DtoD (Device -> Device)", start + 100 + number * 30, 20, launched=start + 12 + number * 10
            )
        build.replay(["gemm", "softmax"], start + 300, 50, launched=start + 80)
    return build.load()


def test_copies_into_the_inputs_of_a_graph():
    finding = one(replayed(2), "FT211")
    assert finding.title == "2 copies a step feed the inputs of graph replays"
    assert finding.at_stake_ns == 40_000
    assert not found(replayed(0), "FT211")
    assert not_asked(UNLINKED, "FT211") == NO_LAUNCHES


def optimizer(kernel, number=60):
    def step_of(step):
        start = step.host
        for _ in range(number):
            step.leaf("aten::add_", kernel, 2)
        step.build.annotation("Optimizer.step#AdamW.step", start, step.host - start)

    return steps(step_of).load()


def test_an_optimizer_that_updates_one_tensor_at_a_time():
    finding = one(optimizer(MUL), "FT212")
    assert finding.title == "AdamW updates one tensor at a time: 60 kernels a step"
    assert "fused=True" in finding.change
    assert not found(optimizer(MUL), "FT202")


def test_an_optimizer_step_that_is_an_op_as_in_old_files():
    def step_of(step):
        step.leaf("aten::mm", GEMM, 20)
        step.op("Optimizer.step#SGD.step", lambda step: [step.leaf("aten::add_", MUL, 2) for _ in range(60)])

    trace = steps(step_of).load()
    finding = one(trace, "FT212")
    assert finding.title == "SGD updates one tensor at a time: 60 kernels a step"
    assert finding.evidence[0].name == "Optimizer.step#SGD.step"
    assert not found(trace, "FT202")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("SGD", "torch.optim.SGD(model.parameters(), ..., fused=True)  # or foreach=True"),
        ("NAdam", "torch.optim.NAdam(model.parameters(), ..., foreach=True)"),
        ("Lion", "use a form of it that updates many tensors at once"),
    ],
)
def test_the_optimizer_that_is_named_is_the_one_that_runs(name, change):
    def step_of(step):
        start = step.host
        tiny(step, 60)
        step.build.annotation(f"Optimizer.step#{name}.step", start, step.host - start)

    finding = one(steps(step_of, period=500).load(), "FT212")
    assert finding.change.startswith(change)
    # 60 ops with a launch of 5.5 us, 0.75 us before and after it: launches bound the step.
    assert finding.at_stake_ns == 375_000


def test_gradients_that_are_filled_with_zeros_need_no_compiler():
    def step_of(step):
        start = step.host
        tiny(step, 60)
        step.build.annotation("Optimizer.zero_grad#SGD.zero_grad", start, step.host - start)
        step.leaf("aten::mm", GEMM, 900)

    finding = one(steps(step_of, period=1400).load(), "FT202")
    assert "Most of them fill gradients with zeros." in finding.text
    assert finding.change.startswith("optimizer.zero_grad(set_to_none=True)")


def test_a_multi_tensor_optimizer_is_fine():
    assert not found(optimizer("void multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdam>(int)"), "FT212")
    assert not found(optimizer(MUL, 20), "FT212")
    assert not_asked(UNLINKED, "FT212") == NO_LAUNCHES


def test_a_healthy_step_has_no_problem():
    trace = steps(lambda step: step.leaf("aten::mm", GEMM, 900, dims=[[4096, 4096]] * 2, types=[BF16] * 2)).load()
    assert examine(trace).problems == []


def test_what_follows_from_a_finding_shares_its_change():
    def step_of(step):
        copied = {"dims": [[2, 4, 4, 1024, 64]] * 2, "types": [BF16] * 2}
        step.op("aten::reshape", lambda step: step.leaf("aten::copy_", COPY, 8, **copied))
        unfused(step, matrices=32)

    result = {finding.code: finding for finding in examine(steps(step_of).load()).findings}
    assert result["FT109"].because == "FT104"
    assert result["FT109"].change == result["FT104"].change
