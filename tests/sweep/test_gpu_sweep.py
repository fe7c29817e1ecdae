"""On a GPU, times are those of the device, however slowly the host hands it the work."""

import time

import pytest

from foretrace.sweep.run import sweep

torch = pytest.importorskip("torch")
from foretrace.capture.rounds import Effort, Repeated, interleaved  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
]


def test_a_slow_host_does_not_show_in_the_times():
    device = torch.device("cuda", 0)

    def spin(ticks, wait=0.0):
        def call():
            time.sleep(wait)
            torch.cuda._sleep(ticks)

        return Repeated(call)

    calls = {"one": spin(200_000), "two": spin(400_000), "slow host": spin(200_000, wait=0.0005)}
    found = {name: timing.summary() for name, timing in interleaved(calls, device, Effort(seconds=1.0)).items()}
    assert found["two"].median == pytest.approx(2 * found["one"].median, rel=0.05)
    assert found["slow host"].median == pytest.approx(found["one"].median, rel=0.1)


def test_a_small_sweep_on_the_device(tmp_path):
    found = sweep(
        tmp_path, batch=2, heads=4, length="256,512", head_dim=64, dtype="bf16", device="cuda", traces="winners"
    )
    (device,) = found.devices
    assert device.device.type == "cuda"
    assert device.device.driver
    assert len(found.rows) == 10
    for outcome in device.outcomes:
        assert outcome.winners
        assert outcome.default.backend in ("cudnn", "flash", "efficient", "math")
        assert outcome.default.host_ns > 0
        assert outcome.default.peak_memory_bytes > 0
        assert outcome.winners[0].kernels >= 1
        assert (tmp_path / "traces" / outcome.winners[0].trace).is_file()
