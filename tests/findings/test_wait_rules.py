"""Rules of waits: the CPU waits for the device, copies from pageable memory."""

import pytest
from asking import found, not_asked, one
from making import GEMM, LOADER, busy_host, item, slow_download, steps

from build import Build

NO_LAUNCHES = "no device activity is tied to its launch"
UNLINKED = Build().op("aten::mm", 0, 5).kernel("k", 0, 1).load()


# FT203


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


def test_a_wait_that_costs_less_than_a_thousandth_of_a_step_is_none():
    def step_of(step):
        step.leaf("aten::mm", GEMM, 8000)
        item(step)
        step.leaf("aten::mm", GEMM, 8000)

    # Some microseconds of 16 ms.
    assert not found(steps(step_of, period=20_000).load(), "FT203")


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
            step.host += 40
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


def test_an_index_on_the_cpu_is_told_from_a_bool_mask():
    def step_of(step):
        step.leaf("aten::mm", GEMM, 300)
        upload = lambda step: step.memcpy("Memcpy HtoD (Pageable -> Device)", 1, bytes=2808).sync()  # noqa: E731
        step.op("aten::index", lambda step: step.op("aten::to", lambda step: step.op("aten::copy_", upload)))
        step.leaf("aten::mm", GEMM, 300)
        read = lambda step: step.memcpy("Memcpy DtoH (Device -> Pageable)", 1, bytes=4).sync()  # noqa: E731
        step.op("aten::index", lambda step: step.op("aten::nonzero", read))
        step.leaf("aten::mm", GEMM, 30)

    by_title = {finding.title: finding for finding in found(steps(step_of).load(), "FT203")}
    index = by_title.pop("an index from the host makes the CPU wait for the GPU once a step")
    assert "lies on the CPU" in index.text
    assert "nonzero" not in index.text + index.change
    assert index.change.startswith("keep index tensors")
    mask = by_title.pop("index makes the CPU wait for the GPU once a step")
    assert "Indexing with a bool tensor calls nonzero." in mask.text
    assert not by_title


def small_upload(step, after=None):
    copy = lambda step: step.memcpy("Memcpy HtoD (Pageable -> Device)", 1, bytes=256).sync()  # noqa: E731
    step.op("aten::to", lambda step: step.op("aten::_to_copy", lambda step: step.op("aten::copy_", copy)))
    if after is not None:
        step.op(after)
    step.leaf("aten::mm", GEMM, 300)


@pytest.mark.parametrize("after", ["aten::lift_fresh", "detach_"])
def test_only_what_torch_tensor_makes_is_a_constant(after):
    constant = one(steps(lambda step: small_upload(step, after)).load(), "FT203")
    assert constant.title == "a constant from the host makes the CPU wait for the GPU once a step"
    assert "torch.full((), value" in constant.change
    other = one(steps(small_upload).load(), "FT203")
    assert other.title == "a blocking upload makes the CPU wait for the GPU once a step"
    assert "tensor.pin_memory()" in other.change
    assert "constant" not in other.text + other.change


def test_small_parts_of_a_loaders_batch_are_pinned_by_the_loader():
    def step_of(step):
        busy_host(step, LOADER, 20)
        small_upload(step)

    assert "loader = DataLoader(dataset, pin_memory=True)" in one(steps(step_of).load(), "FT203").change


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


def test_an_event_inside_a_convolution_is_the_librarys_timing_of_algorithms():
    def step_of(step):
        step.op("aten::cudnn_convolution", lambda step: step.kernel(GEMM, 300).sync("cudaEventSynchronize"))
        step.build.call("cudaEventElapsedTime", step.host, 2)
        step.leaf("aten::mm", GEMM, 30)

    finding = one(steps(step_of).load(), "FT203")
    assert finding.title == "timing of algorithms makes the CPU wait for the GPU once a step"
    assert "torch.backends.cudnn.benchmark=True" in finding.text
    assert "torch.backends.cudnn.benchmark = False" in finding.change


@pytest.mark.parametrize("calls", [["cudaStreamBeginCapture"], ["cudaStreamEndCapture", "cudaGraphInstantiate"]])
def test_a_synchronization_next_to_a_capture_is_its_warm_up(calls):
    def step_of(step):
        step.leaf("aten::mm", GEMM, 300)
        order = ["cudaDeviceSynchronize", *calls] if len(calls) == 1 else [*calls, "cudaDeviceSynchronize"]
        for call in order:
            step.sync(call)
        step.leaf("aten::mm", GEMM, 30)
        if len(calls) == 1:
            step.sync("cudaStreamEndCapture")
        else:
            step.build.call("cudaStreamBeginCapture", step.host, 1)
            step.build.call("cudaStreamEndCapture", step.host + 1, 1)

    finding = one(steps(step_of).load(), "FT203")
    assert finding.title == "capture of a graph makes the CPU wait for the GPU once a step"
    assert finding.change.startswith("record later")


def test_a_range_that_is_named_after_a_capture_is_one():
    def step_of(step):
        step.leaf("aten::mm", GEMM, 300)
        begin = step.host
        step.sync("hipDeviceSynchronize")
        step.build.annotation("capture_32_FULL", begin - 0.2, step.host - begin + 0.4)
        step.leaf("aten::mm", GEMM, 30)

    assert one(steps(step_of).load(), "FT203").title.startswith("capture of a graph")


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


def test_on_amd_a_large_copy_that_is_waited_for_counts_as_pageable():
    def step_of(step):
        copy = lambda step: step.memcpy("Memcpy HtoD (Host -> Device)", 1237, bytes=16_777_216).sync()  # noqa: E731
        step.op("aten::copy_", copy)
        step.leaf("aten::mm", GEMM, 30)

    trace = steps(step_of, period=3000).load()
    finding = one(trace, "FT204")
    assert finding.title == "16.8 MB a step copied to the GPU while the CPU waits"
    assert finding.confidence == "likely"
    assert "their names do not say" in finding.text
    assert not found(trace, "FT203")
    free = lambda step: step.memcpy("Memcpy HtoD (Host -> Device)", 1237, bytes=16_777_216)  # noqa: E731
    assert not found(steps(free, period=3000).load(), "FT204")


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
