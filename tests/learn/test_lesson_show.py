"""How code and commands stand on a terminal that is narrow."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from foretrace.learn.command import continued
from foretrace.learn.lesson import Code, Try
from foretrace.learn.recorded import Shelf
from foretrace.learn.registry import LESSONS
from foretrace.learn.show import print_try, print_view

WHY = "foretrace why --q 2,32,1024,128 --k 2,8,1024,128 --gqa --causal --dtype fp32 --gpu H200 --torch 2.11"


def shown(view: Code | Try, width: int, *, color: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, markup=False, force_terminal=color, color_system=None)
    if color:
        console = Console(file=out, width=width, highlight=False, markup=False, force_terminal=True)
    print_try(console, view) if isinstance(view, Try) else print_view(console, view)
    return out.getvalue()


def test_a_long_command_goes_on_behind_a_backslash_and_an_option_keeps_its_value():
    assert continued(WHY, 73) == [
        "foretrace why --q 2,32,1024,128 --k 2,8,1024,128 --gqa --causal \\",
        "    --dtype fp32 --gpu H200 --torch 2.11",
    ]
    assert continued("foretrace learn matmul --live", 73) == ["foretrace learn matmul --live"]


@pytest.mark.parametrize("width", [30, 40, 60, 80])
def test_a_broken_command_is_the_same_to_a_shell(width):
    lines = continued(WHY, width)
    assert " ".join(line.removesuffix("\\").strip() for line in lines) == WHY
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("name", LESSONS)
def test_what_is_to_be_tried_fits_eighty_columns(name):
    last = LESSONS[name].blocks(Shelf())[-1]
    assert isinstance(last, Try)
    assert max(map(len, shown(last, 80, color=False).splitlines())) <= 80


@pytest.mark.parametrize("color", [False, True])
def test_no_code_is_lost_on_a_narrow_terminal(color):
    line = "weights = torch.softmax(torch.matmul(q, k.transpose(-2, -1)), dim=-1)"
    text = shown(Code(f"def f(q, k):\n    {line}"), 40, color=color)
    plain = "".join(text.split("\x1b[")[0:1] + [part.partition("m")[2] for part in text.split("\x1b[")[1:]])
    assert f"        {line}" in plain
