"""`foretrace read`, as a person runs it."""

import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner

from build import Build
from foretrace.cli import cli
from foretrace.report import data
from foretrace.report.data import reading
from foretrace.trace.beside import Beside
from foretrace.trace.load import load_trace

OWN = Path(__file__).parents[1] / "recordings" / "h200"


def run(*words, width=100, **environment):
    return subprocess.run(
        [sys.executable, "-m", "foretrace", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "COLUMNS": str(width), **environment},
    )


def fits(text, width):
    return all(len(line) <= width for line in text.splitlines())


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("name", ["p3_sdpa_math", "p3_naive", "m_llama_sdpa_stack", "x_cudagraph_inplace"])
def test_the_first_screen_fits(name, width):
    done = run("read", OWN / f"{name}.json.gz", width=width)
    assert done.returncode == 0
    assert done.stderr == ""
    assert fits(done.stdout, width)
    assert len(done.stdout.splitlines()) <= (30 if width >= 100 else 36)
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("view", ["--kernels", "--ops", "--steps", "--tree", "--modules", "--roofline"])
def test_every_view_fits(view, width):
    done = run("read", OWN / "m_llama_sdpa_stack.json.gz", view, width=width)
    assert done.returncode == 0
    assert fits(done.stdout, width)
    assert len(done.stdout.splitlines()) > 5


def test_the_math_backend_runs_20_kernels_and_the_header_says_why_others_say_23():
    text = " ".join(run("read", OWN / "p3_sdpa_math.json.gz").stdout.split())
    assert "20 kernels · no copies · 2.623 ms" in text
    assert "A step has 20 kernels in 2.624 ms; PyTorch's table adds them: 23 in 3.276 ms." in text


def test_json_is_whole_and_has_no_nan():
    done = run("read", OWN / "p3_naive.json.gz", "--json")

    def refuse(word):
        raise AssertionError(word)

    content = json.loads(done.stdout, parse_constant=refuse)
    assert content["schema"] == 1
    assert content["per_step"]["kernels"] == {"value": 5, "min": 5, "max": 5}
    assert content["counts"]["launches"] == 21
    assert content["counts"]["unlinked_time_ns"] == 84832
    assert content["trace"]["devices"][0]["compute_capability"] == "9.0"
    assert [row["name"] for row in content["kernels"] if row["unlinked"]] == [
        "nvjet_sm90_tst_64x512_64x2_1x2_h_bz_coopB_NNT"
    ]


def test_json_has_the_tree_and_the_modules_when_asked():
    content = json.loads(run("read", OWN / "m_llama_sdpa_stack.json.gz", "--json", "--tree", "--modules").stdout)
    assert content["modules"][0]["path"] == ["LlamaForCausalLM_0"]
    assert content["tree"][0]["kind"] == "thread"


def test_the_roofline_holds_ops_against_peaks_that_may_be_given(tmp_path):
    peaks = tmp_path / "peaks.toml"
    peaks.write_text('["NVIDIA H200"]\nbandwidth = 4.8e12\ntensor_core = {bf16 = 1e15}\n')
    path = OWN / "p3_sdpa_cudnn.json.gz"
    usual = json.loads(run("read", path, "--json", "--roofline").stdout)["roofline"]
    given = json.loads(run("read", path, "--json", "--roofline", "--peaks", peaks).stdout)["roofline"]
    assert usual["ops"][0]["name"] == "aten::scaled_dot_product_attention"
    assert usual["ops"][0]["floor_ns"] / given["ops"][0]["floor_ns"] == pytest.approx(1e15 / 989e12, rel=0.01)


def test_csv_holds_every_row(tmp_path):
    done = run("read", OWN / "p3_naive.json.gz", "--csv", tmp_path / "out")
    assert done.returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["kernels.csv", "ops.csv", "steps.csv"]
    assert len((tmp_path / "out" / "steps.csv").read_text().splitlines()) == 4


@pytest.mark.case("F05")
def test_a_hostile_name_cannot_move_the_cursor(tmp_path):
    name = "evil\x1b[2J\x07\r\n[bold]x[/bold] \u202e"
    path = (
        Build()
        .gpu(name)
        .step(1, 0, 100)
        .annotation(name, 0, 90)
        .frame("nn.Module: " + name, 0, 90)
        .op(name, 5, 50)
        .kernel(name, ts=200, dur=5, launched=10)
        .kernel(name, ts=210, dur=5)
        .write(tmp_path / "evil.json")
    )
    for view in ([], ["--kernels"], ["--ops"], ["--tree"], ["--modules"]):
        done = run("read", path, *view)
        assert done.returncode == 0, done.stderr
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", done.stdout)
    assert "evil\\x1b[2J" in run("read", path, "--ops").stdout


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda _path: None, "No such file"),
        (lambda path: path.write_bytes(b""), "empty"),
        (lambda path: path.write_text("hello"), "JSON"),
        (lambda path: path.mkdir(), "without traces"),
        (lambda path: path.write_text('{"a": 1}'), "trace.json"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, make, words):
    path = tmp_path / "trace.json"
    make(path)
    done = run("read", path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("foretrace: ")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_trace_without_device_activity_is_stated_not_refused(tmp_path):
    path = Build().op("aten::mm", 0.5, 100).write(tmp_path / "cpu.json")
    done = run("read", path)
    assert done.returncode == 0
    assert "no device activity" in done.stdout


def test_modules_without_stacks_say_how_to_get_them():
    done = run("read", OWN / "p3_naive.json.gz", "--modules")
    assert done.returncode == 2
    assert "with_stack=True" in done.stderr
    assert done.stdout == ""


@pytest.mark.case("M11")
def test_a_folder_lists_the_ranks_found_and_missing(tmp_path):
    for rank in (0, 2):
        build = Build(distributedInfo={"rank": rank, "world_size": 4}).step(1, 0, 100)
        build.kernel("k", ts=200, dur=5, launched=10).write(tmp_path / f"rank{rank}.json")
    content = json.loads(run("read", tmp_path, "--json").stdout)
    assert [rank["rank"] for rank in content["ranks"]] == [0, 2]
    assert content["missing"] == [1, 3]
    text = run("read", tmp_path).stdout
    assert "No trace of 2 of 4 ranks: 1, 3." in text


@pytest.mark.case("M11")
def test_two_sessions_in_a_folder_are_not_mixed(tmp_path):
    for name in ("a", "b"):
        build = Build(distributedInfo={"rank": 0, "world_size": 1}).step(1, 0, 100)
        build.kernel("k", ts=200, dur=5, launched=10).write(tmp_path / f"{name}.json")
    content = json.loads(run("read", tmp_path, "--json").stdout)
    assert len(content["ranks"]) == 2
    assert "Rank 0 occurs 2 times" in content["notes"][0]


def test_version_and_small_reads_are_quick_and_import_no_torch():
    probe = (
        "import sys; from foretrace.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print([name for name in ('torch', 'ray', 'bokeh', 'pandas') if name in sys.modules], file=sys.stderr)"
    )
    for words in (["--version"], ["read", str(OWN / "p3_naive.json.gz"), "--json"]):
        done = subprocess.run([sys.executable, "-c", probe, *words], capture_output=True, text=True, check=True)
        assert done.stderr.strip() == "[]"


def test_a_step_that_does_not_exist_is_refused_with_the_names_that_do():
    done = run("read", OWN / "p3_naive.json.gz", "--step", "nosuch")
    assert done.returncode == 2
    assert "'nosuch'" in done.stderr
    assert "'attn_fwd'" in done.stderr
    assert "3 steps, each attn_fwd" in run("read", OWN / "p3_naive.json.gz", "--step", "attn_fwd").stdout


def test_tables_are_not_written_into_a_file(tmp_path):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    done = run("read", OWN / "p3_naive.json.gz", "--csv", taken)
    assert done.returncode == 2
    assert "taken: no folder to write tables to" in done.stderr
    assert taken.read_text() == "mine"


def test_output_that_nobody_reads_is_no_error():
    done = subprocess.run(
        f"set -o pipefail; {sys.executable} -m foretrace read {OWN / 'm_llama_eager.json.gz'} --json | head -1",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "{"
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.parametrize("name", ["p3_sdpa_math", "m_llama_sdpa_stack"])
def test_working_tables_and_findings_out_side_by_side_changes_nothing(name, monkeypatch):
    trace = load_trace(OWN / f"{name}.json.gz")
    alone = reading(trace).to_json()
    monkeypatch.setattr(data, "_LARGE", 0)
    begun = []
    monkeypatch.setattr(data, "Beside", lambda call: begun.append(call) or Beside(call))
    both = reading(load_trace(OWN / f"{name}.json.gz"))
    both.prepare()
    assert len(begun) == 1
    assert both.to_json() == alone


def test_reading_leaves_the_interpreter_as_it_was():
    before = gc.isenabled(), sys.getswitchinterval(), dict(os.environ)
    done = CliRunner().invoke(cli, ["read", str(OWN / "p3_naive.json.gz"), "--json"])
    assert done.exit_code == 0
    assert CliRunner().invoke(cli, ["read", "no such file"]).exit_code != 0
    assert (gc.isenabled(), sys.getswitchinterval(), dict(os.environ)) == before


def test_a_rule_that_does_not_exist_is_refused_before_the_file_is_read():
    done = run("read", OWN / "p3_naive.json.gz", "--select", "FT999")
    assert done.returncode == 2
    assert done.stderr == "foretrace: no rule is called 'FT999'; `foretrace rules` lists them all.\n"


def test_a_reader_that_goes_away_is_no_missed_prediction():
    shell = (
        f"{sys.executable} -m foretrace read {OWN / 'p3_naive.json.gz'} --findings | head -c 1; echo ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.endswith("0\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_one_sentence():
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, "-m", "foretrace", "read", str(OWN / "p3_naive.json.gz"), "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "foretrace: No space left on device.\n"


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_streams_may_be_closed(closed):
    trace = "-" if closed == "<&-" else OWN / "p3_naive.json.gz"
    shell = f"{sys.executable} -m foretrace read {trace} {closed}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=60, check=False)
    if closed == "<&-":
        assert done.returncode == 2
        assert done.stderr.startswith("foretrace: standard input is closed")
    else:
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", [["read", "-", "--select", "NOPE"], ["read", "-"], ["metrics", "-"]])
def test_a_producer_that_says_nothing_does_not_keep_the_program(words):
    process = subprocess.Popen(
        [sys.executable, "-m", "foretrace", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        if "NOPE" not in words:
            process.stdin.write(b'{"traceEvents": [' + b" " * 3_000_000)
            process.stdin.flush()
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
        code = process.wait(10)
        said = process.stderr.read().decode()
    finally:
        process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(BrokenPipeError):
                pipe.close()
    assert code == (2 if "NOPE" in words else 130)
    assert len(said.splitlines()) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the signal is Linux's")
def test_a_file_that_becomes_shorter_is_one_sentence(tmp_path):
    pytest.importorskip("foretrace.trace._scan", reason="the scanner was not built: no C compiler here")
    path = tmp_path / "shrinks.json"
    path.write_bytes(b'{"traceEvents": [')
    code = (
        "import mmap, os, sys\n"
        "from foretrace.cli.opening import _brisk\n"
        "file = open(sys.argv[1], 'r+b')\n"
        "file.truncate(1 << 20)\n"
        "text = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\n"
        "with _brisk():\n"
        "    os.truncate(sys.argv[1], 0)\n"
        "    text[500_000]\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("foretrace: the file became shorter while it was read")


def test_no_view_shows_what_a_terminal_would_obey():
    evil = "\x1b[31mEVIL\x1b]0;t\x07\x00\u202e"
    build = (
        Build().x("cpu_op", evil, 0, 20, **{"Input Dims": [[4]], "Input type": [evil]}).kernel(evil, 5, 9, launched=4)
    )
    with TemporaryDirectory() as folder:
        path = Path(folder) / "evil.json"
        path.write_text(json.dumps({"traceEvents": build.events}))
        for view in ("--tree", "--kernels", "--ops", "--findings", "--all", "--roofline"):
            done = run("read", path, view)
            assert done.returncode == 0
            assert all(letter.isprintable() or letter == "\n" for letter in done.stdout), view
