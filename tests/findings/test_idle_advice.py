"""What is advised about the thing that the host is in while the device idles."""

import pytest
from asking import found, one
from making import GEMM, MUL, steps

from build import Build


def wait(step):
    step.host += 250


@pytest.mark.parametrize("inside", ["aten::view", None], ids=["in an op", "outside any"])
def test_stacks_that_are_in_the_file_are_not_asked_for(inside):
    def step_of(step):
        for number in range(20):
            if number == 10:
                step.host = step.device - 5
                step.op(inside, wait) if inside else wait(step)
            step.leaf("aten::mm", GEMM, 30)

    without = one(steps(step_of).load(), "FT401")
    assert "with_stack=True" in without.change
    stacks = one(steps(step_of).frame("train.py(1): f", 0, 3000).load(), "FT401")
    assert "with_stack" not in stacks.change + stacks.text
    assert "the file holds Python stacks" in stacks.change


def held_back():
    """Work is queued 5 ms before it starts, and the host waits for it; 20 kernels before it and after it."""
    build = Build()
    for at in range(20):
        build.op("aten::mul", 4 + 20 * at, 12).kernel(MUL, 12 + 20 * at, 4, launched=5 + 20 * at)
    build.op("aten::mm", 404, 12).kernel(GEMM, 5_412, 10, launched=405)
    build.op("aten::item", 420, 5_020).op("aten::_local_scalar_dense", 421, 5_018)
    build.memcpy("Memcpy DtoH (Device -> Pageable)", 5_423, 2, launched=422, bytes=4)
    build.call("cudaStreamSynchronize", 428, 5_000)
    for at in range(20):
        build.op("aten::mul", 5_444 + 20 * at, 12).kernel(MUL, 5_452 + 20 * at, 4, launched=5_445 + 20 * at)
    return build.load()


def test_work_that_is_queued_and_does_not_start_is_no_fault_of_the_host():
    trace = held_back()
    assert not found(trace, "FT201")
    finding = one(trace, "FT401")
    # The gap begins when the 20th kernel ends, at 396 us, and ends at 5,412; its work was launched at 410 us.
    assert finding.title == "the GPU idles 5.016 ms in the file in 1 long gap"
    assert "for 5.002 ms of it what runs next was launched already and did not start" in finding.text
    assert finding.change.startswith("see what the stream waits for")
    assert finding.evidence[0].name == GEMM
    assert finding.confidence == "possible"


def test_a_wait_for_what_is_held_back_loses_what_the_device_idles_after_it():
    finding = one(held_back(), "FT203")
    # The wait ends at 5,428 us; the next kernel starts at 5,452.
    assert finding.at_stake_ns == 24_000
    assert "The host waits 5.000 ms in the file" in finding.text


def test_the_time_from_launch_to_start_is_the_hosts():
    build = Build()
    for at in range(30):
        build.op("aten::mul", 100 * at, 20).kernel(MUL, 60 + 100 * at, 4, launched=5 + 100 * at)
    assert found(build.load(), "FT201")
