"""`foretrace why`, as a person runs it."""

import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from foretrace.cli import main

OWN = Path(__file__).parents[1] / "recordings" / "h200"


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def why(monkeypatch, capsys):
    """Run the command in this process: words, standard input's lines, the terminal's width."""

    def run(*words, lines="", width=80):
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode()), encoding="utf-8"))
        with pytest.raises(SystemExit) as stop:
            main(["why", *map(str, words)])
        shown = capsys.readouterr()
        return Done(stop.value.code or 0, shown.out, shown.err)

    return run


def fits(text, width):
    return all(len(line) <= width for line in text.splitlines())


def test_a_call_from_its_arguments(why):
    done = why("--q", "8,16,1024,64", "--dtype", "bf16", "--mask", "float", "--gpu", "H200", "--torch", "2.11")
    assert done.returncode == 0
    assert done.stderr == ""
    assert fits(done.stdout, 80)
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["cudnn", "runs"] in [words[:2] for words in lines]
    assert ["flash", "cannot", "attn_mask:"] in [words[:3] for words in lines]


def test_cases_on_standard_input_come_back_as_json_in_order(why):
    case = {"dtype": "bf16", "b": 2, "h": 8, "hk": 8, "lq": 256, "lk": 256, "d": 64, "dv": 64, "mask": "none",
            "causal": False, "dropout": 0.0, "grad": False, "gqa": False, "layout": "contig"}  # fmt: skip
    lines = "\n".join(
        json.dumps(each) for each in (case, {**case, "dtype": "fp64"}, {"case": {**case, "mask": "bool"}})
    )
    done = why("--cases", "-", "--gpu", "H200", "--torch", "2.11", lines=lines + "\n\n")
    assert done.returncode == 0
    content = json.loads(done.stdout)
    assert content["schema"] == 1
    assert [call["backend"] for call in content["calls"]] == ["cudnn", "math", "cudnn"]
    flash = content["calls"][2]["backends"]["flash"]
    assert {"eligible": False, "reason": "attn_mask", "certain": True}.items() <= flash.items()
    assert flash["text"]


@pytest.mark.parametrize("name", ["p3_sdpa_auto", "p3_sdpa_math", "m_llama_sdpa"])
@pytest.mark.parametrize("width", [80, 100])
def test_a_trace_fits_the_terminal(why, name, width):
    done = why(OWN / f"{name}.json.gz", width=width)
    assert done.returncode == 0
    assert fits(done.stdout, width)
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("name", "ran"),
    [
        ("p3_sdpa_auto", "cudnn"),
        ("p3_sdpa_flash", "flash"),
        ("p3_sdpa_efficient", "efficient"),
        ("p3_sdpa_math", "math"),
    ],
)
def test_the_backend_that_ran_in_a_recording(why, name, ran):
    content = json.loads(why(OWN / f"{name}.json.gz", "--torch", "2.11", "--json").stdout)
    (call,) = content["calls"]
    assert (call["backend"], call["count"], call["picks"]) == (ran, 3, "cudnn")
    assert {name: verdict["eligible"] for name, verdict in call["backends"].items()} == {
        "cudnn": True, "flash": True, "efficient": True, "math": True,
    }  # fmt: skip


def test_grouped_heads_of_a_model_keep_efficient_out(why):
    content = json.loads(why(OWN / "m_llama_sdpa.json.gz", "--torch", "2.11", "--json").stdout)
    (call,) = content["calls"]
    assert call["count"] == 12
    assert call["backends"]["efficient"]["reason"] == "num_heads"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--q", "2,8,64,64"], "on which device"),
        (["--q", "2,8,x", "--gpu", "H200"], "no list like"),
        (["--q", "2,8,64,64", "--gpu", "H9000"], "no device known here"),
        (["--q", "2,8,64,64", "--gpu", "H200", "--torch", "1.13"], "oldest known"),
        (["--q", "2,8,64,64", "--gpu", "H200", "--torch", "new"], "no PyTorch release"),
        (["--q", "2,8,64,64", "--gpu", "H200", "--dtype", "int3"], "no dtype"),
        (["--q", "2,8,64,64", "--strides", "1,2", "--gpu", "H200"], "4 sizes and 2 strides"),
        (["--q", "64", "--gpu", "H200"], "two sizes"),
        (["--gpu", "H200"], "give one of a trace"),
        (["nowhere.json", "--q", "2,8,64,64"], "not TRACE and --q"),
        (["nowhere.json"], "nowhere.json"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_sentence(why, words, says):
    done = why(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "line 2 of the cases is no JSON"),
        ("[1]", "line 2 of the cases is no JSON object"),
        ('{"dtype": "bf16", "b": 1}', "lacks 'h'"),
        ('{"dtype": "bf16", "b": -1, "h": 1, "lq": 1, "d": 1}', "'b' is -1"),
        ('{"dtype": "bf16", "b": 1, "h": 1, "lq": 1, "d": 1, "mask": "odd"}', "no kind of mask"),
        ('{"dtype": "bf16", "b": 1, "h": 1, "lq": 1, "d": 1, "size": 3}', "no key 'size'"),
    ],
)
def test_a_broken_case_is_named_by_its_line(why, line, says):
    good = '{"dtype": "bf16", "b": 1, "h": 1, "lq": 1, "d": 8}'
    done = why("--cases", "-", "--gpu", "H200", lines=f"{good}\n{line}\n")
    assert done.returncode == 2
    assert done.stdout == ""
    assert says in done.stderr


def test_as_a_process():
    done = subprocess.run(
        [sys.executable, "-m", "foretrace", "why", "--cases", "-", "--gpu", "H200", "--torch", "2.11"],
        input='{"dtype": "fp32", "b": 1, "h": 2, "lq": 64, "d": 64}\n',
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0
    assert [call["backend"] for call in json.loads(done.stdout)["calls"]] == ["efficient"]


def test_live_agrees_with_the_pytorch_at_hand(why):
    pytest.importorskip("torch")
    done = why("--q", "2,4,64,32", "--k", "2,2,64,32", "--gqa", "--mask", "bool", "--live", "--json")
    (call,) = json.loads(done.stdout)["calls"]
    assert call["live"]["differences"] == []
    assert call["live"]["backends"]["math"] == {"ran": True, "words": ""}
    assert "The rules agree." in why("--q", "2,4,64,32", "--live").stdout


def words_of(done):
    return " ".join(done.stdout.split())


@pytest.mark.parametrize("dtype", ["int8", "int64", "fp8_e4m3", "complex64"])
def test_no_backend_computes_in_such_dtypes(why, dtype):
    (call,) = json.loads(why("--q", "8,16,64,64", "--dtype", dtype, "--gpu", "H200", "--json").stdout)["calls"]
    assert (call["backend"], call["certain"]) == ("error", True)
    assert {verdict["reason"] for verdict in call["backends"].values()} == {"dtype"}


def test_the_math_backend_at_hand_raises_for_integers():
    torch = pytest.importorskip("torch")
    ones = torch.ones(1, 2, 4, 8, dtype=torch.int8)
    with pytest.raises(RuntimeError):
        torch.nn.functional.scaled_dot_product_attention(ones, ones, ones)


def test_the_release_is_told_as_it_is(why):
    call = ("--q", "8,16,1024,64", "--gpu", "H200")
    assert "H200 (sm90) · torch 2.11 " in words_of(why(*call, "--torch", "2.11.0+cu130"))
    newer = words_of(why(*call, "--torch", "9.9"))
    assert "torch 9.9 is newer than the rules known: those of 2.15 stand in" in newer
    assert "cudnn runs (possible, not certain)" in newer
    assert json.loads(why(*call, "--torch", "9.9", "--json").stdout)["calls"][0]["torch_known"] is False
    assert "torch not given: 2.6 to 2.15 tried, 2.15's answer first where they differ" in words_of(why(*call))
    recorded = OWN / "p3_sdpa_auto.json.gz"
    assert "of torch: 2.6 to 2.15 tried" in words_of(why(recorded))
    assert "those of 2.15 stand in" in words_of(why(recorded, "--torch", "9.9"))
    assert json.loads(why(recorded, "--torch", "9.9", "--json").stdout)["calls"][0]["torch_known"] is False


def test_cudnn_releases_are_told_in_order(why):
    done = words_of(why("--q", "8,16,1024,64", "--gpu", "H200"))
    assert "with cuDNN 9.1.0, 9.5.1, 9.7.1, 9.10.2, 9.13.0: flash runs" in done


def test_a_trace_without_attention_is_no_failure(why):
    path = OWN / "p1_matmul_add_64.json.gz"
    done = why(path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "has no call of scaled_dot_product_attention" in done.stdout
    content = why(path, "--json")
    assert content.returncode == 0
    assert json.loads(content.stdout)["calls"] == []
