"""The rules against the PyTorch and device at hand, over random calls."""

import random

import pytest
import torch
from random_calls import random_case

from foretrace.analysis.dispatch.asked import compared
from foretrace.analysis.dispatch.call import call_from_case
from foretrace.capture.ask_dispatch import ask_pytorch


def disagreements(number, seed, longest=512):
    """The cases of ``number`` random ones about which rules and PyTorch disagree, and in what."""
    rng = random.Random(seed)  # noqa: S311 - shapes, no secrets
    found = []
    for _ in range(number):
        case = random_case(rng, longest)
        call = call_from_case(case)
        differences = compared(call, ask_pytorch(call)).differences
        if differences:
            found.append((differences, case))
    return found


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_the_rules_agree_with_the_device_at_hand():
    assert len(disagreements(200, seed=11)) <= 4


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device; the other test asks it")
def test_the_rules_agree_with_the_cpu_at_hand():
    assert disagreements(60, seed=5, longest=17) == []
