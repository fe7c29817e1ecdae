"""Sweeps on this machine survive what happens to them: workers and drivers that die, variants that misbehave."""

import signal
from pathlib import Path

import live
import psutil
import pytest

import foretrace
from foretrace.errors import UsageError
from foretrace.sweep.results import load_sweep

pytest.importorskip("torch")

HOSTILE = Path(__file__).with_name("hostile.py")
SMALL = (
    "--batch", 1, "--heads", 2, "--head-dim", 8, "--device", "cpu", "--threads", 1, "--seconds", 0.02,
)  # fmt: skip


def test_killing_a_worker_in_the_middle_loses_nothing(local_sweep):
    folder, out, victim = local_sweep
    assert not victim.is_running()
    found = live.rows(folder)
    assert len(found) == len({row.key for row in found}) == live.ROWS
    assert {row.status for row in found} == {"ok"}
    assert all(row.time_ns.median > 0 and row.time_ns.runs >= 3 for row in found)
    assert f"{live.CASES} cases · 2 variants" in out
    assert (folder / "rows.parquet").stat().st_size > 0


def test_killing_the_driver_and_starting_again_finishes_without_repeating(tmp_path):
    folder = tmp_path / "sweep"
    process = live.start(*live.GRID, "--workers", 2, "-o", folder)
    try:
        live.wait_for(lambda: len(live.lines(folder)) >= 8, process)
        left_behind = live.workers(process)
        assert len(left_behind) == 2
        process.send_signal(signal.SIGKILL)
        process.wait()
    finally:
        process.kill()
        process.stdout.close()
    # Its workers go with it, whatever they were doing.
    _, alive = psutil.wait_procs(left_behind, timeout=30)
    assert not alive
    before = live.lines(folder)
    assert 8 <= len(before) < live.ROWS
    # As if it had been killed in the middle of a line.
    (folder / "rows.jsonl").write_bytes(b"\n".join(before) + b'\n{"case":"forward-b1')
    done = live.run("-o", folder, "--workers", 2)
    after = live.lines(folder)
    assert after[: len(before)] == before
    found = load_sweep(folder)
    assert found.damaged == 1
    assert len(after) == live.ROWS + 1
    assert len({row.key for row in found.rows}) == len(found.rows) == live.ROWS
    assert "cases are done already" in done.stderr
    assert "1 line of the rows could not be read" in str(found)


def test_a_variant_that_raises_hangs_or_exhausts_memory_becomes_a_row(tmp_path):
    folder = tmp_path / "sweep"
    named = ("good", "raises", "hangs", "exhausts", "crashes", "wrong")
    own = [word for name in named for word in ("--variant", f"{HOSTILE}:{name}")]
    live.run(*SMALL, "--seq", 16, "--variants", "auto", *own, "--limit", 6, "-o", folder)
    found = {row.variant: row for row in live.rows(folder)}
    assert {name: row.status for name, row in found.items()} == {
        "auto": "ok",
        "good": "ok",
        "raises": "raised",
        "hangs": "timed-out",
        "exhausts": "out-of-memory",
        "crashes": "crashed",
        "wrong": "ok",
    }
    assert found["raises"].reason == "ValueError: this one always raises"
    assert found["hangs"].reason == "it took longer than the limit of 6 s."
    assert "allocate memory" in found["exhausts"].reason
    assert "SIGSEGV" in found["crashes"].reason
    assert "off by" in found["wrong"].reason
    assert all(row.device.type == "cpu" for row in found.values())
    (device,) = load_sweep(folder).devices
    assert device.outcomes[0].winner_names == ("good",)

    # Nothing is done twice, and what failed only where that is asked for.
    live.run("-o", folder)
    assert len(live.rows(folder)) == 7


def test_a_budget_stops_and_the_twin_goes_on(tmp_path):
    folder = tmp_path / "sweep"
    seen = []
    words = {"batch": 1, "heads": 2, "head_dim": 8, "device": "cpu", "threads": 1, "seconds": 0.02}
    first = foretrace.sweep(folder, variants=["auto", "flash"], budget=1e-9, cases=[{"seq": 4}], **words)
    assert not first.finished
    assert first.rows == ()
    assert "holds no rows yet" in str(first)
    second = foretrace.sweep(folder, traces="winners", progress=seen.append)
    assert second.finished
    assert sorted(row.variant for row in second.rows) == ["auto", "flash"]
    assert [row.shape.length for row in second.rows] == [4, 4]
    assert (seen[-1].cases, seen[-1].done, seen[-1].rows, seen[-1].left_s) == (1, 1, 2, 0.0)
    assert "B 1 H 2 L 4 D 8 fp32 causal forward" in str(second) or second.devices[0].failures == ()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "where should the rows go"),
        (("-o", "x"), "holds no sweep to go on with"),
        (("-o", "x", "--seq", "5y"), "'5y' is neither a number nor a range"),
        (("-o", "x", "--seq", "8", "--variants", "flush"), "did you mean flash?"),
        (("-o", "x", "--seq", "8", "--spread", "little"), "--spread is 'little'"),
        (("-o", "x", "--seq", "8", "--workers", "0"), "--workers is 0"),
        (("-o", "x", "--seq", "8", "--ray", "auto", "--workers", "2"), "--workers is for this machine"),
        (("-o", "x", "--cases", "none.toml"), "cannot be read"),
        (("-o", "x", "--seq", "8", "--device", "tpu"), "no device 'tpu'"),
        (("show", "x"), "x holds no rows of a sweep"),
    ],
)
def test_what_makes_no_sense_gets_one_sentence(tmp_path, monkeypatch, capsys, arguments, said):
    from foretrace.cli import main  # noqa: PLC0415

    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["sweep", *arguments])
    assert stop.value.code == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_a_callable_cannot_be_sent_to_a_worker(tmp_path):
    with pytest.raises(UsageError, match="MODULE:CALLABLE"):
        foretrace.sweep(tmp_path / "x", length=8, own=[print], device="cpu")
