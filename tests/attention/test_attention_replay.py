"""`foretrace attention --replay`: the shipped recordings, a bare folder, and what cannot be replayed."""

import gzip
import json
import shutil
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

import foretrace
from foretrace.capture.recording import MEASUREMENTS, read_recording, recording_folder, shipped_recordings
from foretrace.cli import main
from foretrace.cli.attention import command
from foretrace.errors import MissingDataError, TraceFormatError, UsageError
from foretrace.report.comparison import comparison

H200 = recording_folder("h200")
KEYS = [
    "variant",
    "status",
    "reason",
    "backend",
    "kernels",
    "memcpys",
    "memsets",
    "device_time_ns",
    "cpu_time_ns",
    "wall_time_ns",
    "period_ns",
    "busy_share",
    "unit",
    "occupancy",
    "launch",
    "peak_memory_bytes",
    "max_abs_error",
    "masked_row",
    "masked_row_boolean",
    "speedup",
    "floor_ns",
    "over_floor",
    "trace",
    "findings",
]


def replayed(*words):
    result = CliRunner().invoke(
        command, ["--replay", *map(str, words), "--json"], catch_exceptions=False, standalone_mode=False
    )
    return json.loads(result.stdout)


def rows(content):
    return {row["variant"]: row for row in content["variants"]}


@pytest.fixture
def bare(tmp_path):
    """Three traces of the recording without ``attention.json``, one under a name of its own."""
    for name, source in (("flash", "flash"), ("naive", "naive"), ("mine", "cudnn")):
        shutil.copy(H200 / f"{source}.json.gz", tmp_path / f"{name}.json.gz")
    return tmp_path


def test_kernels_and_memcpys_a_forward():
    found = rows(replayed("h200"))
    counted = {name: row["kernels"]["value"] + row["memcpys"]["value"] for name, row in found.items()}
    assert counted == {
        "naive": 6,
        "inplace": 5,
        "math": 20,
        "efficient": 1,
        "flash": 1,
        "cudnn": 1,
        "auto": 1,
        "naive-compiled": 3,
        "flex": 1,
    }
    assert {name: row["memsets"]["value"] for name, row in found.items() if row["memsets"]["value"]} == {
        "naive": 1,
        "inplace": 1,
        "cudnn": 1,
        "auto": 1,
        "naive-compiled": 1,
    }


def test_the_json_has_the_documented_keys_and_says_where_it_was_made():
    content = replayed("h200")
    assert content["schema"] == 1
    assert list(content["variants"][0]) == KEYS
    assert content["device"]["name"] == "NVIDIA H200"
    assert content["device"]["torch"].startswith("2.11")
    assert content["device"]["driver"]
    assert content["shape"] == {
        "batch": 8,
        "heads": 16,
        "kv_heads": 16,
        "length": 1024,
        "kv_length": 1024,
        "head_dim": 64,
        "dtype": "bfloat16",
        "causal": True,
        "mask": "none",
        "training": False,
    }


def test_backends_times_and_measurements_of_the_recording():
    found = rows(replayed("h200"))
    assert {name: row["backend"] for name, row in found.items()} == {
        "naive": None,
        "inplace": None,
        "math": "math",
        "efficient": "efficient",
        "flash": "flash",
        "cudnn": "cudnn",
        "auto": "cudnn",
        "naive-compiled": None,
        "flex": None,
    }
    assert found["naive"]["speedup"] == 1
    assert 0.3 < found["math"]["speedup"] < 0.5
    assert found["flash"]["speedup"] == pytest.approx(
        found["naive"]["device_time_ns"]["median"] / found["flash"]["device_time_ns"]["median"]
    )
    assert found["naive"]["masked_row"] == "nan"
    assert found["math"]["masked_row"] == found["efficient"]["masked_row"] == "zero"
    assert found["flash"]["masked_row"] is None
    for row in found.values():
        assert row["status"] == "ok"
        assert row["reason"] is None
        assert row["max_abs_error"] < 0.03
        assert row["wall_time_ns"]["runs"] >= 10
        assert row["peak_memory_bytes"] > 16e6
    assert found["cudnn"]["launch"][0] == "cuLaunchKernelEx"
    assert "FT101" in [finding["code"] for finding in found["naive"]["findings"]]
    assert "FT101" not in [finding["code"] for finding in found["inplace"]["findings"]]


def test_units_and_occupancy():
    found = rows(replayed("h200"))
    assert {name for name, row in found.items() if row["unit"] != "tensor_core"} == {"math"}
    assert found["math"]["unit"] == "cuda_core"
    held = {
        name: (row["occupancy"]["theoretical_pct"], row["occupancy"]["limiter"])
        for name, row in found.items()
        if row["occupancy"] is not None
    }
    # Only where one kernel takes half of the time is there one occupancy to give.
    assert held == {
        "efficient": (25, "registers"),
        "flash": (12.5, "registers"),
        "cudnn": (18.75, "registers"),
        "auto": (18.75, "registers"),
        "flex": (12.5, "registers"),
    }
    assert found["flash"]["occupancy"]["kernel"].startswith("void pytorch_flash::flash_fwd_kernel")


def test_the_training_set_runs_the_backward_too():
    content = replayed("h200", "--training")
    assert content["shape"]["training"] is True
    found, forward = rows(content), rows(replayed("h200"))
    for name, row in found.items():
        assert row["kernels"]["value"] > forward[name]["kernels"]["value"], name
    assert found["flash"]["backend"] == "flash"
    assert content == replayed("h200-training")


@pytest.mark.parametrize("name", shipped_recordings())
def test_the_recordings_are_clean(name):
    """Synchronizing at the edges of the window leaves nothing unlinked, outside a step, or different by step."""
    for row in foretrace.attention(replay=name).rows:
        assert row.reading.counts["unlinked"] == 0, row.name
        assert row.reading.counts["outside_steps"] == 0, row.name
        assert row.per_step.steps >= 3, row.name
        for count in (row.per_step.kernels, row.per_step.memcpys, row.per_step.memsets):
            assert not count.varies, row.name


def test_a_bare_folder_is_compared_with_the_measurements_left_unknown(bare):
    content = replayed(bare)
    found = rows(content)
    assert list(found) == ["naive", "flash", "mine"]  # known variants in their order, then the rest
    assert found["mine"]["backend"] == "cudnn"
    assert found["naive"]["kernels"] == {"value": 5, "min": 5, "max": 5}
    for key in ("wall_time_ns", "peak_memory_bytes", "max_abs_error", "masked_row"):
        assert found["naive"][key] is None
    assert set(content["shape"].values()) == {None}
    assert content["device"]["name"] == "NVIDIA H200"
    assert content["device"]["driver"] is None
    assert found["flash"]["speedup"] > 5


def test_a_trace_that_cannot_be_read_is_a_row_with_the_reason(bare):
    (bare / "broken.json.gz").write_bytes(gzip.compress(b"not a trace"))
    found = rows(replayed(bare))
    assert found["broken"]["status"] == "unsupported"
    assert "broken.json.gz" in found["broken"]["reason"]
    assert found["broken"]["kernels"] is None
    assert found["naive"]["status"] == "ok"


def test_without_naive_there_is_no_speedup(bare):
    (bare / "naive.json.gz").unlink()
    assert {row["speedup"] for row in replayed(bare)["variants"]} == {None}


def test_a_cpu_trace_has_no_device_figures(tmp_path):
    torch = pytest.importorskip("torch")
    with foretrace.profile(steps=3, path=tmp_path / "auto.json") as recorded:
        for _ in recorded.steps():
            torch.nn.functional.scaled_dot_product_attention(*torch.ones(3, 1, 2, 8, 4))
    row = replayed(tmp_path)["variants"][0]
    assert row["backend"] == "flash"
    assert row["kernels"] is None
    assert row["device_time_ns"] is None
    assert row["busy_share"] is None
    assert row["cpu_time_ns"]["median"] > 0


def refused(capsys, *words):
    with pytest.raises(SystemExit) as stop:
        main(["attention", *map(str, words)])
    assert stop.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "Traceback" not in said
    return said


def test_bad_input_is_one_sentence_and_exit_code_2(capsys, tmp_path, bare):
    assert "no folder" in refused(capsys, "--replay", tmp_path / "missing")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "holds no traces" in refused(capsys, "--replay", empty)
    assert "is a file" in refused(capsys, "--replay", bare / "naive.json.gz")
    assert "no effect on a recording" in refused(capsys, "--replay", "h200", "--batch", "4")
    assert "--kv-heads must divide --heads" in refused(capsys, "--heads", "6", "--kv-heads", "4", "--device", "cpu")
    assert "did you mean flash" in refused(capsys, "--variants", "flahs", "--device", "cpu")
    assert "unknown dtype" in refused(capsys, "--dtype", "int3", "--device", "cpu")
    assert "no device" in refused(capsys, "--device", "tpu")


def test_the_page_of_a_recording_is_written_where_it_is_asked_for(tmp_path, capsys):
    replayed("h200", "-o", tmp_path / "new")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["report.html"]
    assert "<html" in (tmp_path / "new" / "report.html").read_text(encoding="utf-8")
    assert "--force to overwrite" in refused(capsys, "--replay", "h200", "-o", tmp_path / "new")


def test_a_folder_whose_traces_are_all_broken_is_refused(capsys, tmp_path):
    (tmp_path / "naive.json").write_text("")
    (tmp_path / "flash.json").write_text("{}")
    assert "no trace in" in refused(capsys, "--replay", tmp_path)


def test_an_existing_folder_is_not_overwritten(capsys, bare):
    before = sorted(path.name for path in bare.iterdir())
    assert "--force to overwrite" in refused(capsys, "--device", "cpu", "-o", bare)
    assert sorted(path.name for path in bare.iterdir()) == before


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda content: content | {"variants": []}, MissingDataError),
        (lambda content: content | {"schema": 2}, TraceFormatError),
        (lambda content: content | {"device": 3}, TraceFormatError),
        (lambda content: content["variants"][0].update(trace="../../etc/passwd") or content, TraceFormatError),
        (lambda content: content["variants"][0].update(masked_row="sometimes") or content, TraceFormatError),
    ],
)
def test_a_damaged_attention_json_is_refused(bare, change, error):
    content = msgspec.json.decode((H200 / MEASUREMENTS).read_bytes())
    (bare / MEASUREMENTS).write_bytes(msgspec.json.encode(change(content)))
    with pytest.raises(error):
        read_recording(bare)


def test_a_missing_trace_of_a_recording_is_a_row_with_the_reason(tmp_path):
    shutil.copytree(H200, tmp_path, dirs_exist_ok=True)
    (tmp_path / "flash.json.gz").unlink()
    found = comparison(read_recording(tmp_path), tmp_path)
    row = next(row for row in found.rows if row.name == "flash")
    assert not row.ok
    assert "flash.json.gz" in row.reason


def test_the_python_twin_gives_the_same_rows():
    found = foretrace.attention(replay="h200")
    assert found.to_json() == replayed("h200")
    assert found.trace("naive").step_names[0].startswith("ProfilerStep#")
    assert [row.name for row in found.variants] == found.names
    with pytest.raises(MissingDataError, match="no trace of 'nope'"):
        found.trace("nope")
    with pytest.raises(UsageError, match="one of the recordings h200"):
        foretrace.attention(replay="h300")


SHARED = Path(__file__).parents[2] / "../shared/traces/h200"
PAIRS = {
    "p3_naive": 6,
    "p3_inplace": 5,
    "p3_sdpa_math": 20,
    "p3_sdpa_efficient": 1,
    "p3_sdpa_flash": 1,
    "p3_sdpa_cudnn": 1,
}


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not here")
def test_a_folder_of_older_recordings_is_a_bare_folder():
    found = rows(replayed(SHARED))
    assert {name: found[name]["kernels"]["value"] + found[name]["memcpys"]["value"] for name in PAIRS} == PAIRS
