"""What is advised about the thing that the host is in while the device idles."""

import pytest
from asking import one
from making import GEMM, steps


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
