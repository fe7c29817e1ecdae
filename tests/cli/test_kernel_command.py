"""`foretrace kernel` in the terminal and as JSON."""

import json

import pytest
from click.testing import CliRunner

from foretrace.cli.kernel import command
from foretrace.errors import UsageError

GEMM = "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn"
LAUNCH = ["--registers", "255", "--threads", "128", "--capability", "8.0"]


def run(*words, columns=80, **more):
    return CliRunner().invoke(command, list(words), env={"COLUMNS": str(columns)}, catch_exceptions=False, **more)


@pytest.mark.parametrize("columns", [80, 120])
def test_a_name_piece_by_piece(columns):
    result = run(GEMM, columns=columns)
    assert result.exit_code == 0
    lines = [line.rstrip() for line in result.output.splitlines()]
    assert lines[0].startswith(" A matrix multiplication in bfloat16")
    assert all(len(line) <= columns for line in lines)
    text = " ".join(" ".join(lines).split())
    assert "ampere built for compute capability 8.x (A100 family)" in text
    assert "stages_64x3 K tile 64, 3 stages in flight" in text
    assert "nn neither input transposed" in text


def test_json_of_one_name_is_flat():
    content = json.loads(run(GEMM, "--json").output)
    assert (content["schema"], content["unit"], content["instruction"]) == (1, "tensor_core", "mma 16x8x16")
    assert content["occupancy"] is None


def test_many_names_are_one_a_line():
    result = run("-", input=f"{GEMM}\n\nMemset (Device)\n")
    lines = [line.rstrip() for line in result.output.splitlines()]
    assert len(lines) == 3
    assert lines[1].split("  ")[0].strip() == "bf16 GEMM 128x256, cuBLAS"
    assert "moves data" in lines[2]


def test_json_of_many_names_is_a_list():
    content = json.loads(run("-", "--json", input=f"{GEMM}\nMemset (Device)\n").output)
    assert [kernel["role"] for kernel in content["kernels"]] == ["gemm", "memset"]


def test_occupancy_is_explained_beside_the_name():
    result = run(GEMM, *LAUNCH)
    assert "12.5 %" in result.output
    assert "255 registers a thread" in " ".join(result.output.split())
    content = json.loads(run(GEMM, *LAUNCH, "--json").output)
    assert content["occupancy"]["theoretical_pct"] == 12.5
    assert content["occupancy"]["limiter"] == "registers"


def test_a_hostile_name_cannot_write_to_the_terminal():
    result = run("\x1b[31mred\x07")
    assert "\x1b" not in result.output
    assert "\x07" not in result.output
    assert "\\x1b[31mred\\x07" in result.output
    listed = run("-", input="\x1b[31mred\n\x1b]0;title\x07x\n")
    assert "\x1b" not in listed.output


def test_markup_in_a_name_is_text():
    assert "[bold]" in run("[bold]thing[/bold]").output


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ([""], "no kernel name"),
        ([GEMM, "--registers", "255"], "all three"),
        ([GEMM, "--sms", "132"], "as well"),
        ([GEMM, *LAUNCH[:-1], "ampere"], "no compute capability"),
        ([GEMM, *LAUNCH[:-1], "3.5"], "not in the tables"),
    ],
)
def test_bad_usage_is_one_sentence(words, text):
    with pytest.raises(UsageError, match=text):
        run(*words)


def test_no_names_on_standard_input():
    with pytest.raises(UsageError, match="no kernel name"):
        run("-", input="\n\n")
