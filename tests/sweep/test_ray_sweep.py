"""On a Ray cluster a sweep gives the rows that it gives in local processes, also when a node dies on the way."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import live
import pytest

from foretrace.errors import UsageError
from foretrace.sweep.run import sweep

pytest.importorskip("torch")
needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed here (pip install 'foretrace[ray]')"
)


@pytest.fixture
def cluster():
    script = Path(__file__).with_name("ray_cluster.py")
    environment = os.environ | {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    yield process
    process.stdin.close()
    process.stdout.close()
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@needs_ray
def test_a_ray_cluster_gives_the_same_rows_and_outlives_a_node(cluster, local_sweep, tmp_path):
    address = cluster.stdout.readline().strip()
    assert address
    folder = tmp_path / "sweep"
    process = live.start(*live.GRID, "--ray", address, "-o", folder)
    try:
        live.wait_for(lambda: len(live.lines(folder)) >= 8, process)
        cluster.stdin.write("\n")
        cluster.stdin.flush()
        assert cluster.stdout.readline() == "lost\n"
        assert len(live.lines(folder)) < live.ROWS
        out, _ = process.communicate(timeout=live.PATIENCE_S)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert process.returncode == 0, out
    found = live.rows(folder)
    assert len(found) == live.ROWS
    assert live.without_times(found) == live.without_times(live.rows(local_sweep[0]))


@needs_ray
@pytest.mark.parametrize("address", ["127.0.0.1:1", "auto"])
def test_no_cluster_at_the_address_gets_one_sentence(tmp_path, address):
    done = live.run("--seq", 8, "--ray", address, "-o", tmp_path / "x", code=2)
    assert "no Ray cluster at" in done.stderr


def test_ray_chooses_the_gpu(tmp_path):
    pytest.importorskip("ray")
    with pytest.raises(UsageError, match="Ray chooses among its GPUs"):
        sweep(tmp_path / "x", length=8, ray="auto", device="cuda:1")
