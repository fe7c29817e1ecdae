from __future__ import annotations

from foretrace.learn.lesson import Grid
from foretrace.learn.table import grid_lines

NAMES = Grid(
    ("", "what it is", "device"),
    (("a", "triton_poi_fused_gelu_mul_0", "57.9 us"), ("b", "mm", "5.0 us")),
    text=(0, 1),
)


def test_a_table_that_fits_is_aligned_and_has_no_blanks_at_its_ends():
    head, rows = grid_lines(Grid(("op", "launches"), (("aten::t", "0"), ("aten::addmm", "1"))), 80)
    assert head == "op           launches"
    assert rows == ["aten::t             0", "aten::addmm         1"]
    assert grid_lines(Grid(("op", "by"), (("aten::t", ""),), text=(0, 1)), 80)[1] == ["aten::t"]


def test_a_name_that_does_not_fit_breaks_where_its_words_meet():
    _, rows = grid_lines(NAMES, 32)
    assert rows == ["a  triton_poi_fused_     57.9 us", "   gelu_mul_0", "b  mm                     5.0 us"]


def test_text_breaks_between_words_and_no_column_is_lost():
    row = ("did the profiler take time in a step?", "profiler-overhead", "matmul")
    head, rows = grid_lines(Grid(("ask", "code", "here"), (row,), text=(0, 1, 2)), 44)
    assert head == "ask                code               here"
    assert rows == [
        "did the profiler   profiler-overhead  matmul",
        "take time in a",
        "step?",
    ]


def test_a_word_without_joints_is_cut_where_the_column_ends():
    _, rows = grid_lines(Grid(("name",), (("x" * 25,),)), 10)
    assert rows == ["x" * 10, "x" * 10, "x" * 5]


def test_numbers_are_never_broken():
    _, rows = grid_lines(NAMES, 10)
    assert rows[0].endswith("57.9 us")
