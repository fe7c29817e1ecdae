"""`foretrace attention` on a CPU, live: small shapes, the whole way."""

import json
import sys

import pytest
from click.testing import CliRunner

import foretrace
from foretrace.cli.attention import command
from foretrace.errors import UsageError

torch = pytest.importorskip("torch")

SMALL = ["--device", "cpu", "--batch", "2", "--heads", "2", "--length", "32", "--head-dim", "8", "--steps", "3"]
OWN = """
import torch

def own(q, k, v, is_causal):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)

def wrong(q, k, v):
    print("hello")
    return v.clone()

def broken(q, k, v):
    raise RuntimeError("not today")
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "ownattention.py").write_text(OWN)
    yield tmp_path
    sys.modules.pop("ownattention", None)


def run(*words):
    result = CliRunner().invoke(command, [*SMALL, *map(str, words)], catch_exceptions=False, standalone_mode=False)
    return result.stdout


def test_variants_and_own_ones_are_compared_and_written(here):
    own = ["--variant", "ownattention:own", "--variant", "ownattention.py:wrong", "--variant", "ownattention:broken"]
    content = json.loads(run("--json", "--variants", "naive,flash,cudnn", *own, "-o", "out"))
    found = {row["variant"]: row for row in content["variants"]}
    assert list(found) == ["naive", "flash", "cudnn", "own", "wrong", "broken"]
    assert found["own"]["max_abs_error"] < 1e-5
    assert found["own"]["backend"] == "flash"
    assert found["wrong"]["max_abs_error"] > 0.1
    assert found["broken"]["reason"] == "not today"
    assert found["cudnn"]["status"] == "unsupported"
    assert found["naive"]["speedup"] == 1
    assert found["naive"]["device_time_ns"] is None
    assert content["device"]["type"] == "cpu"
    assert content["device"]["torch"] == torch.__version__
    assert sorted(path.name for path in (here / "out").iterdir()) == [
        "attention.json",
        "flash.json.gz",
        "naive.json.gz",
        "own.json.gz",
        "report.html",
        "wrong.json.gz",
    ]
    again = json.loads(CliRunner().invoke(command, ["--replay", "out", "--json"], standalone_mode=False).stdout)
    assert again == content


def test_the_table_on_a_cpu_has_no_device_columns(here):
    text = run("--variants", "naive,auto")
    assert text.startswith("Attention forward · ")
    head = next(line for line in text.splitlines() if line.startswith(" variant"))
    assert "ran" in head
    assert "wall" in head
    for column in ("device", "busy", "memcpys", "launched by"):
        assert column not in text
    assert "Report: attention-cpu/report.html" in text
    assert "Traces and attention.json: attention-cpu" in text
    assert (here / "attention-cpu" / "naive.json.gz").is_file()
    assert "attention-cpu-2" in run("--variants", "naive")


def test_force_overwrites(here):
    run("--variants", "naive", "-o", "out")
    with pytest.raises(UsageError, match="not empty"):
        run("--variants", "naive", "-o", "out")
    run("--variants", "auto", "-o", "out", "--force")
    assert json.loads((here / "out" / "attention.json").read_bytes())["variants"][0]["variant"] == "auto"


def test_the_python_twin_takes_callables_and_leaves_nothing_behind(here):
    def mine(q, k, v, *, is_causal):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)

    found = foretrace.attention(
        batch=1, heads=2, length=16, head_dim=8, device="cpu", variants=["naive"], own=[mine], steps=3, training=True
    )
    assert [row.ok for row in found.variants] == [True, True], [row.reason for row in found.variants]
    assert found.shape["training"] is True
    assert found.trace(found.names[0]).has_steps
    assert sorted(path.name for path in here.iterdir()) == ["ownattention.py"]


def test_decoding_with_grouped_heads_and_a_mask(here):
    content = json.loads(
        run(
            "--json",
            "--length",
            "1",
            "--kv-length",
            "64",
            "--kv-heads",
            "1",
            "--mask",
            "padding",
            "--variants",
            "naive,auto",
        )
    )
    assert [row["max_abs_error"] < 1e-5 for row in content["variants"]] == [True, True]
