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


def test_times_stand_beside_the_floor(h200):
    text = shown(h200)
    assert " vs naive  of floor  " in text
    assert [lines_of(text, name)[0][-6:-4] for name in ("cudnn", "math")] == [["18x", "3.3x"], ["0.4x", "151x"]]
    assert "of floor: device over 17.4 us, the least this card could take" in " ".join(text.split())


def renamed(folder, **of):
    """A recording in which each variant has the trace of another one, at the shape of the packaged recording."""
    source = recording_folder("h200")
    known = foretrace.attention(replay="h200").recording
    for name, other in of.items():
        shutil.copy(source / f"{other}.json.gz", folder / f"{name}.json.gz")
    variants = tuple(VariantRecord(variant=name, trace=f"{name}.json.gz") for name in of)
    return comparison(Recording(variants=variants, device=known.device, shape=known.shape), folder)


def test_a_backend_that_gains_beyond_the_spread_is_to_be_pinned(tmp_path):
    found = renamed(tmp_path, auto="efficient", flash="flash", math="math")
    text = shown(found)
    assert (
        "Fastest here by device time: flash. Pin flash at this shape on this card: it saves 84.3 us a step (47 %) over "
        "efficient, which PyTorch picks."
    ) in " ".join(text.split())
    assert "     with sdpa_kernel(SDPBackend.FLASH_ATTENTION):\n" in text
    pin = found.to_json()["pin"]
    assert (pin["variant"], pin["instead_of"]) == ("flash", "efficient")
    assert pin["gain_ns"] == pytest.approx(84_319)
    assert pin["code"].splitlines()[:2] == [
        "from torch.nn.attention import SDPBackend, sdpa_kernel",
        "with sdpa_kernel(SDPBackend.FLASH_ATTENTION):",
    ]


def test_a_gain_within_the_spread_is_nothing_to_pin(tmp_path):
    found = renamed(tmp_path, auto="cudnn", cudnn="auto", math="math")
    assert found.pin is None
    assert "nothing to pin" in shown(found)


def test_another_way_that_is_faster_is_named_and_no_backend_pinned(tmp_path):
    found = renamed(tmp_path, auto="flash", flex="flex", flash="flash")
    text = " ".join(shown(found).split())
    assert (
        "Fastest here by device time: flex. PyTorch picks flash by default at this shape, which takes 1.2x as" in text
    )
    assert "no other backend of SDPA is faster: nothing to pin." in text


@pytest.mark.parametrize("width", [60, 80, 100])
def test_why_says_what_keeps_each_backend_out(h200, width):
    out = Console(width=width, record=True, color_system=None, force_terminal=False, highlight=False)
    with out.capture() as said:
        print_comparison(out, h200, why=True)
    assert all(Text(line.rstrip()).cell_len <= width for line in said.get().splitlines())
    lines = lines_of(said.get(), "cudnn")
    assert ["cudnn", "runs", "takes", "this", "call"] in lines


def test_why_of_a_bare_folder_says_what_lacks(tmp_path):
    recording = Recording(variants=(VariantRecord(variant="naive", trace="naive.json.gz"),))
    shutil.copy(recording_folder("h200") / "naive.json.gz", tmp_path)
    found = comparison(recording, tmp_path)
    out = Console(width=100, record=True, color_system=None, force_terminal=False, highlight=False)
    with out.capture() as said:
        print_comparison(out, found, why=True)
    assert "The shape or the device was not recorded" in said.get()
    assert found.to_json()["why"] is None
    assert found.to_json()["variants"][0]["over_floor"] is None


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
