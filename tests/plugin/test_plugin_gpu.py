"""The plugin on a GPU: kernels, backends and a baseline of the device's class, captured live."""

import sys
from importlib.util import find_spec

import pytest
from test_plugin import QUIET

pytest_plugins = ["pytester"]

CODE = """
import pytest
import torch

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


def naive(q, k, v, mask):
    scores = (q @ k.transpose(-2, -1) * 0.125).masked_fill(mask, float("-inf"))
    return torch.softmax(scores, -1) @ v


def inplace(q, k, v, mask):
    scores = (q @ k.transpose(-2, -1) * 0.125).masked_fill_(mask, float("-inf"))
    return torch.softmax(scores, -1) @ v


def inputs():
    q = torch.rand(4, 8, 512, 64, device="cuda", dtype=torch.bfloat16)
    return q, q, q, torch.ones(512, 512, device="cuda", dtype=torch.bool).triu(1)


def test_kernels_and_the_hidden_copy(foretrace):
    found = foretrace.profile(naive, *inputs())
    foretrace.check(found, "kernels == 5", "memcpys == 1", "tensor_core_share == 1", "finding(FT101) present")


@pytest.mark.foretrace("kernels == 5", "memcpys == 0", "device_time > 0")
def test_in_place(foretrace):
    foretrace.assert_matches_baseline(foretrace.profile(inplace, *inputs()))


def test_two_recordings_of_one_program_are_the_same():
    import foretrace

    q, k, v, mask = inputs()
    traces = [foretrace.profile_callable(lambda: inplace(q, k, v, mask), steps=5).trace for _ in range(2)]
    found = foretrace.diff(*traces)
    assert found.structure == ()
    assert [time.verdict.word for time in found.step_times if time.metric == "device_time"] == ["within noise"]
"""


@pytest.mark.gpu
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_the_plugin_on_a_gpu(pytester):
    # Asked in a process of its own: pytester forgets the modules that a test imports, and torch loads only once.
    asked = pytester.run(sys.executable, "-c", "import torch; print(torch.cuda.is_available())")
    if "True" not in asked.stdout.str():
        pytest.skip("no CUDA device")
    pytester.makepyfile(test_it=CODE)
    pytester.runpytest_subprocess(*QUIET, "--foretrace-update").assert_outcomes(passed=3)
    pytester.runpytest_subprocess(*QUIET).assert_outcomes(passed=3)
    (kept,) = (pytester.path / "foretrace_baselines" / "test_it").iterdir()
    assert kept.name.startswith("test_in_place.")
    assert "  kernels: 5\n" in kept.read_text()
