"""The comparison in the terminal: what a person sees, and that it fits."""

import re
import shutil

import pytest
from rich.console import Console
from rich.text import Text

import foretrace
from foretrace.capture.recording import Recording, VariantRecord, recording_folder
from foretrace.report.comparison import comparison
from foretrace.report.comparison_text import print_comparison


def shown(found, width=100):
    out = Console(width=width, record=True, color_system=None, force_terminal=False, highlight=False)
    with out.capture() as said:
        print_comparison(out, found)
    return said.get()


def lines_of(text, name):
    return [line.split() for line in text.splitlines() if line.split()[:1] == [name]]


@pytest.fixture(scope="module")
def h200():
    return foretrace.attention(replay="h200")


@pytest.mark.parametrize("width", [60, 80, 100, 120])
@pytest.mark.parametrize("name", ["h200", "h200-training"])
def test_every_line_fits_the_width(name, width):
    for line in shown(foretrace.attention(replay=name), width).splitlines():
        assert Text(line.rstrip()).cell_len <= width


def test_the_first_table_answers_what_ran_and_how_long(h200):
    text = shown(h200)
    assert text.startswith("Attention forward · NVIDIA H200 · B 8 · H 16 · L 1024 · D 64 · bfloat16 · causal")
    assert "recorded, torch 2.11" in text
    naive, math = lines_of(text, "naive")[0], lines_of(text, "math")[0]
    assert naive[:7] == ["naive", "op", "by", "op", "5", "1", "1"]
    assert math[:5] == ["math", "math", "20", "0", "0"]
    assert re.search(r"found in.*(\n.*)* a hidden copy.*FT101", text)
    assert "Fastest here by device time: cudnn. PyTorch picks it by default at this shape; nothing to pin." in text


def test_printing_the_comparison_prints_the_table(h200):
    assert str(h200) == shown(h200)
    assert "\x1b" not in str(h200)


def test_variants_that_cannot_run_stand_below_with_the_reason(tmp_path):
    shutil.copy(recording_folder("h200") / "naive.json.gz", tmp_path)
    recording = Recording(
        variants=(
            VariantRecord(variant="naive", trace="naive.json.gz"),
            VariantRecord(variant="flash", status="unsupported", reason="Flash does not \x1b[31mlike [bold]this[/]."),
        )
    )
    text = shown(comparison(recording, tmp_path))
    assert " flash  cannot run here: Flash does not \\x1b[31mlike [bold]this[/]." in text
    assert "\x1b" not in text


def test_nothing_that_runs_leaves_the_reasons(tmp_path):
    recording = Recording(variants=(VariantRecord(variant="flash", status="unsupported", reason="no."),))
    assert "cannot run here: no." in shown(comparison(recording, tmp_path))


def test_the_error_over_some_heads_says_so(h200, tmp_path):
    recording = Recording(variants=h200.recording.variants[:1], error_heads=2, error_of_heads=64)
    shutil.copy(recording_folder("h200") / "naive.json.gz", tmp_path)
    assert "The error is over the first 2 of 64 heads of the batch." in shown(comparison(recording, tmp_path))
