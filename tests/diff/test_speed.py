"""Metrics and diffs of a trace of 100,000 events take well under a second of a processor's time."""

import time

import pytest

from build import Build
from foretrace.analysis.metrics import metrics
from foretrace.differences import diff

STEPS, KERNELS = 10, 3_000


@pytest.fixture(scope="module")
def text():
    """Ops two deep with a kernel each, 200 places, 90,000 events and more."""
    made = Build().gpu()
    for step in range(STEPS):
        at = step * 1_000_000
        made.step(step, at, 900_000)
        for number in range(KERNELS):
            begin = at + 10 + 20 * number
            made.op(f"aten::op{number % 200}", begin, 18, dims=[[8, number % 50]], types=["float"])
            made.op("aten::inner", begin + 1, 15)
            made.kernel(f"kernel_{number % 40}", at + 100_000 + 30 * number, 20, launched=begin + 3)
    return made


def seconds(function):
    began = time.process_time()  # of this process alone, however busy the machine is
    function()
    return time.process_time() - began


def test_metrics_and_diff_are_fast(text):
    before, after = text.load(), text.load()
    assert before.events > 100_000
    metrics(Build().load())  # names are decoded by modules that are imported when first used
    assert seconds(lambda: metrics(before)) < 1
    assert seconds(lambda: diff(before, after).summary) < 1
