"""The sweep that several tests look at, run once."""

import live
import pytest


@pytest.fixture(scope="session")
def local_sweep(tmp_path_factory):
    """The 24 cases in two local processes, one of which is killed in the middle."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("local") / "sweep"
    process = live.start(*live.GRID, "--workers", 2, "-o", folder)
    try:
        live.wait_for(lambda: len(live.lines(folder)) >= 8, process)
        victim = live.workers(process)[0]
        victim.kill()
        out, _ = process.communicate(timeout=live.PATIENCE_S)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert process.returncode == 0, out
    return folder, out, victim
