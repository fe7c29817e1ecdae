"""`foretrace check` and `foretrace metrics` as they are run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from foretrace.cli import main
from foretrace.errors import PredictionError, UsageError
from foretrace.predictions.files import read_predictions

OWN = Path(__file__).parents[1] / "recordings" / "h200"
NAIVE = str(OWN / "p3_naive.json.gz")


def run(capsys, *args):
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    shown = capsys.readouterr()
    return stop.value.code, shown.out, shown.err


def test_all_hits_exit_with_0(capsys):
    code, out, _ = run(capsys, "check", NAIVE, "--expect", "kernels == 5", "--expect", "memsets == 1")
    assert code == 0
    assert "2 hits." in out


def test_a_miss_exits_with_1(capsys):
    code, out, _ = run(capsys, "check", NAIVE, "--expect", "memcpys == 0")
    assert code == 1
    assert "launched by  attn_fwd > aten::masked_fill > aten::clone > aten::copy_" in out
    assert "FT101" in out
    assert "1 miss." in out


def test_unresolved_is_no_silent_pass(capsys):
    unresolved = ("check", NAIVE, "--expect", "peak_memory < 1GB")
    code, out, _ = run(capsys, *unresolved)
    assert code == 1
    assert "profile_memory=True" in out
    code, _, _ = run(capsys, *unresolved, "--allow-unresolved")
    assert code == 0
    code, _, _ = run(capsys, *unresolved, "--allow-unresolved", "--expect", "kernels == 4")
    assert code == 1


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ((NAIVE, "--expect", "kernels = 5"), "at character 9: write == to compare."),
        ((NAIVE,), "nothing to check"),
        ((NAIVE, "missing.toml"), "missing.toml: No such file or directory."),
        (("missing.json", "--expect", "kernels == 5"), "missing.json"),
    ],
)
def test_what_cannot_be_done_exits_with_2_and_one_sentence(capsys, args, sentence):
    code, out, err = run(capsys, "check", *args)
    assert code == 2
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1


def test_json(capsys):
    code, out, _ = run(capsys, "check", NAIVE, "--json", "--expect", "kernels == 5", "--expect", "memcpys == 0")
    content = json.loads(out)
    assert code == 1
    assert content["schema"] == 1
    hit, miss = content["outcomes"]
    assert set(hit) == {"prediction", "because", "outcome", "expected", "found", "evidence", "finding", "text"}
    assert (hit["prediction"], hit["outcome"], hit["found"]) == (
        "kernels == 5",
        "hit",
        {"value": 5, "min": 5, "max": 5},
    )
    assert miss["outcome"] == "miss"
    assert miss["evidence"][0]["path"] == ["attn_fwd", "aten::masked_fill", "aten::clone", "aten::copy_"]
    assert miss["finding"]["code"] == "FT101"


@pytest.mark.parametrize("width", ["80", "100"])
def test_output_fits_the_terminal(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", width)
    expect = ["kernels == 1", "memcpys == 0 because of a long story that goes on and on for longer than a line is wide"]
    words = [word for text in expect for word in ("--expect", text)]
    for name in ("p3_naive", "m_llama_eager", "p2_linear_compiled"):
        _, out, _ = run(capsys, "check", str(OWN / f"{name}.json.gz"), *words)
        assert max(map(len, out.splitlines())) <= int(width)
        _, out, _ = run(capsys, "metrics", str(OWN / f"{name}.json.gz"))
        assert max(map(len, out.splitlines())) <= int(width)


def test_predictions_in_a_file(tmp_path, capsys):
    file = tmp_path / "attention.toml"
    file.write_text(
        'expect = ["kernels == 5", { that = "memcpys == 0", because = "in place" }]\n',
    )
    assert [(str(one), one.because) for one in read_predictions(file)] == [
        ("kernels == 5", None),
        ("memcpys == 0", "in place"),
    ]
    code, out, _ = run(capsys, "check", NAIVE, str(file), "--expect", "memsets == 1")
    assert code == 1
    assert "2 hits, 1 miss." in out
    assert "you said: because in place" in out


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("expect = [", PredictionError, "no TOML"),
        ("", PredictionError, "no predictions"),
        ("expect = []", PredictionError, "no predictions"),
        ("expect = 'kernels == 5'", PredictionError, "no predictions"),
        ("expected = ['kernels == 5']", PredictionError, "the key 'expected' means nothing here"),
        ("expect = [5]", PredictionError, "prediction 1: give text"),
        ("[[expect]]\nbecause = 'x'", PredictionError, 'prediction 1: give that = "kernels == 5"'),
        ("[[expect]]\nthat = 'kernels == 5'\nwhy = 'x'", PredictionError, "the key 'why' means nothing here"),
        (
            "expect = ['kernels == 5', 'kernels = 5']",
            PredictionError,
            "prediction 2: prediction 'kernels = 5', at char",
        ),
        (None, UsageError, "No such file"),
        (b"\xff", PredictionError, "not UTF-8"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_one_sentence(tmp_path, text, error, sentence):
    file = tmp_path / "p.toml"
    if isinstance(text, bytes):
        file.write_bytes(text)
    elif text is not None:
        file.write_text(text)
    with pytest.raises(error) as raised:
        read_predictions(file)
    assert sentence in str(raised.value)
    assert str(file) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_metrics_command(capsys):
    code, out, _ = run(capsys, "metrics", NAIVE)
    assert code == 0
    assert "kernels(role=softmax)" in out
    assert "profile with profile_memory=True" in out
    code, out, _ = run(capsys, "metrics", NAIVE, "--json", "--op", "aten::masked_fill")
    content = json.loads(out)
    assert content["schema"] == 1
    values = {row["name"]: row["value"] for row in content["metrics"]}
    assert values["op aten::masked_fill memcpys"] == {"value": 1, "min": 1, "max": 1}


def test_metrics_of_an_op_that_never_ran_are_refused(capsys):
    code, _, err = run(capsys, "metrics", NAIVE, "--op", "aten::masked_fil")
    assert code == 2
    assert "Did you mean aten::masked_fill?" in err


def test_checking_imports_no_torch():
    code = (
        "import sys; from foretrace.cli import main\n"
        f"try: main(['check', {NAIVE!r}, '--expect', 'memcpys == 0'])\n"
        "except SystemExit: pass\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("width", [60, 80, 100, 120])
@pytest.mark.parametrize("more", [(), ("--op", "aten::masked_fill"), ("--annotation", "attn_fwd")])
def test_metrics_fit_any_width_uncut(capsys, monkeypatch, width, more):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = run(capsys, "metrics", NAIVE, *more)
    text = " ".join(out.split())
    assert "…" not in out
    assert "device_time(role=elementwise)" in text
    assert all(len(line) <= width for line in out.splitlines())


def test_metrics_name_what_they_are_narrowed_to_once(capsys):
    _, out, _ = run(capsys, "metrics", NAIVE, "--op", "aten::masked_fill")
    assert out.startswith("p3_naive.json.gz · op aten::masked_fill\n")
    assert out.count("aten::masked_fill") == 1


def test_a_step_named_as_an_annotation_is_told_so(capsys):
    code, _, err = run(capsys, "metrics", NAIVE, "--annotation", "ProfilerStep#2")
    assert code == 2
    assert err.endswith("It is a step, and figures are of a step already.\n")
    assert "Did you mean" not in err
