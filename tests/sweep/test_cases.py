"""Cases come from a grid on the command line, or from a file; whatever does not fit together is left out and said."""

import pytest

from foretrace.errors import UsageError
from foretrace.sweep.axes import Grid, axis_name, axis_values
from foretrace.sweep.case_file import read_case_file

DEFAULTS = {
    "batch": 1, "heads": 4, "length": 64, "head_dim": 8, "dtype": "float32", "causal": True, "mask": "none",
    "training": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("batch", "1,8", [1, 8]),
        ("batch", 4, [4]),
        ("batch", [1, "2:4:+1"], [1, 2, 3, 4]),
        ("length", "512:16384:x2", [512, 1024, 2048, 4096, 8192, 16384]),
        ("length", "100:1000:x3,1", [100, 300, 900, 1]),
        ("length", "64:256:+64", [64, 128, 192, 256]),
        ("length", "64:200:64", [64, 128, 192]),
        ("length", "1:10:x1.5", [1, 2, 3, 5, 8]),
        ("length", "7:7:x2", [7]),
        ("dtype", "bf16,half", ["bfloat16", "float16"]),
        ("causal", "yes,no", [True, False]),
        ("causal", [True, False], [True, False]),
        ("training", "forward,training", [False, True]),
        ("training", True, [True]),
        ("mask", "none,bool", ["none", "bool"]),
    ],
)
def test_what_people_write_for_values(name, value, expected):
    assert axis_values(name, value) == expected


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("length", "512:16384:x1", "does not grow"),
        ("length", "1024:512:x2", "does not grow"),
        ("length", "0:512:x2", "does not grow"),
        ("length", "1:1000000000:+1", "more than 100,000 values"),
        ("length", "5x", "'5x' is neither a number nor a range"),
        ("length", "-5", "neither a number"),
        ("length", "1,,2", "a value is missing"),
        ("length", "", "a value is missing"),
        ("length", [], "has no values"),
        ("length", "²", "neither a number"),
        ("dtype", "int3", "unknown dtype 'int3'"),
        ("causal", "maybe", "'maybe' is none of yes"),
    ],
)
def test_values_that_make_no_sense_get_a_sentence(name, value, said):
    with pytest.raises(UsageError, match=said) as caught:
        axis_values(name, value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(name)


def test_axes_have_the_words_of_the_command_line_too():
    assert [axis_name(word) for word in ("seq", "kv-heads", "mode", "Head_Dim")] == [
        "length", "kv_heads", "training", "head_dim",
    ]  # fmt: skip
    with pytest.raises(UsageError, match="there is no axis 'depth'"):
        axis_name("depth")


def test_a_grid_is_every_combination_that_fits_together():
    grid = Grid({"heads": [6, 8], "kv_heads": [2, 4], "length": [16, 32]})
    shapes, misfits = grid.shapes(DEFAULTS)
    assert grid.size == 8
    assert [(shape.heads, shape.kv_heads, shape.length) for shape in shapes] == [
        (6, 2, 16), (6, 2, 32), (8, 2, 16), (8, 2, 32), (8, 4, 16), (8, 4, 32),
    ]  # fmt: skip
    assert len(misfits) == 2
    assert "4 kv heads do not divide 6 heads" in misfits[0]


def test_sizes_that_follow_others_do_so_in_each_combination():
    shapes, _ = Grid({"heads": [2, 4], "length": [8, 16]}).shapes(DEFAULTS)
    assert all(shape.kv_heads == shape.heads and shape.kv_length == shape.length for shape in shapes)


def test_toml_holds_grids_and_cases(tmp_path):
    path = tmp_path / "cases.toml"
    path.write_text(
        """
        variants = ["auto", "flash"]
        [[grid]]
        batch = [1, 8]
        seq = "16:64:x2"
        [[case]]
        batch = 3
        length = 1
        kv-length = 128
        mode = "training"
        """
    )
    found = read_case_file(path)
    assert found.variants == ["auto", "flash"]
    assert [len(grid.shapes(DEFAULTS)[0]) for grid in found.grids] == [6, 1]
    (case,), _ = found.grids[1].shapes(DEFAULTS)
    assert (case.batch, case.length, case.kv_length, case.training) == (3, 1, 128, True)


def test_csv_holds_a_case_a_line(tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text("batch, seq, dtype, causal\n1, 16, bf16, yes\n\n8, 32, , no\n")
    shapes = [grid.shapes(DEFAULTS)[0] for grid in read_case_file(path).grids]
    assert [(shape.batch, shape.length, shape.dtype, shape.causal) for (shape,) in shapes] == [
        (1, 16, "bfloat16", True), (8, 32, "float32", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.toml", '[[grid]]\nbatch = "x"', "grid 1: batch: 'x' is neither"),
        ("a.toml", "[[case]]\nbatches = 1", "case 1: there is no axis 'batches'"),
        ("a.toml", "[grid]\nbatch = 1", "list of tables"),
        ("a.toml", "batch = 1", "there is no 'batch'"),
        ("a.toml", "[[", "no valid TOML"),
        ("a.toml", "", "holds no cases"),
        ("a.toml", "variants = 3\n[[case]]\nbatch = 1", "variants is a list of names"),
        ("a.csv", "batch\n1\nx\n", "line 3: batch: 'x' is neither"),
        ("a.csv", "batch,seq\n1\n", "line 2: it has not as many fields"),
        ("a.csv", "batch\n", "holds no cases"),
        ("a.txt", "", "a .toml or a .csv file"),
    ],
)
def test_files_that_make_no_sense_get_a_sentence_with_the_place(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(UsageError, match=said) as caught:
        read_case_file(path)
    assert name in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_case_file(tmp_path / "none.toml")
    (tmp_path / "bytes.csv").write_bytes(b"batch\n\xff\n")
    with pytest.raises(UsageError, match="not text in UTF-8"):
        read_case_file(tmp_path / "bytes.csv")
