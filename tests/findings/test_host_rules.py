"""Rules of the host: compilation, allocation, cold starts, the profiler's own work."""

import pytest
from asking import found, not_asked, one
from making import BF16, COPY, GEMM, MUL, sdpa, steps, tiny, unfused

from build import Build
from foretrace.findings.engine import examine

NO_LAUNCHES = "no device activity is tied to its launch"
UNLINKED = Build().op("aten::mm", 0, 5).kernel("k", 0, 1).load()


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


def test_what_a_first_run_allocates_is_no_steady_state():
    build = Build()
    for at in range(12):
        build.call("cudaMalloc", 6000 * at, 100)
        build.kernel("k", 5900 + 6000 * at, 5, launched=200 + 6000 * at)
        build.events[-2]["dur"] = 5600
    finding = one(build.load(), "FT207")
    assert "They are of a first run" in finding.text
    assert "no telling" not in finding.text
    assert finding.change.startswith("run a step before the recording")


def test_one_call_is_one_call():
    finding = one(steps(lambda step: (slow(step, "hipMalloc", 300), tiny(step)), 1).load(), "FT207")
    assert finding.text.startswith("1 call a step (hipMalloc).")


def test_allocations_that_cost_less_than_a_thousandth_of_a_step_are_none():
    def step_of(step):
        slow(step, "cudaMalloc", 3)
        step.leaf("aten::mm", GEMM, 9990)

    assert not found(steps(step_of, period=10_000).load(), "FT207")


def test_a_capture_allocates_once():
    def named(step):
        begin = step.host
        slow(step, "hipFree", 300)
        step.build.annotation("capture_32_DECODE", begin - 0.2, step.host - begin + 0.3)
        tiny(step)

    def called(step):
        step.sync("cudaStreamBeginCapture")
        slow(step, "cudaMalloc", 300)
        step.sync("cudaStreamEndCapture")
        tiny(step)

    assert not found(steps(named).load(), "FT207")
    assert not found(steps(called).load(), "FT207")


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
    assert "fusion saved no launches. The CPU bounds" in finding.text
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
