"""The roofline as people see it."""

import io
from pathlib import Path

import pytest

from build import Build
from foretrace.analysis.roofline.recorded import trace_roofline
from foretrace.report.console import console
from foretrace.report.roofline_text import over_floor_text, print_roofline, rate_text
from foretrace.trace.load import load_trace

OWN = Path(__file__).parents[1] / "recordings" / "h200"


def shown(trace, monkeypatch, width=100):
    monkeypatch.setenv("COLUMNS", str(width))
    file = io.StringIO()
    print_roofline(console(file), trace_roofline(trace))
    return file.getvalue()


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("name", ["p3_sdpa_math", "p3_naive", "m_llama_sdpa", "p3_naive_noshapes"])
def test_it_fits(name, width, monkeypatch):
    text = shown(load_trace(OWN / f"{name}.json.gz"), monkeypatch, width)
    assert all(len(line) <= width for line in text.splitlines())


def test_the_row_says_time_floor_and_how_far(monkeypatch):
    text = shown(load_trace(OWN / "p3_sdpa_math.json.gz"), monkeypatch)
    (row,) = [line for line in text.splitlines() if "scaled_dot_product" in line]
    assert "2.624 ms" in row
    assert "17.4 us" in row
    assert "151x" in row
    assert "NVIDIA H200 Tensor Core GPU datasheet" in " ".join(text.split())


def test_without_a_row_it_says_what_one_takes(monkeypatch):
    text = shown(load_trace(OWN / "p3_naive_noshapes.json.gz"), monkeypatch)
    assert "record_shapes=True" in text
    assert "a call" not in text


def test_more_than_the_peak_is_put_down_to_the_cache(monkeypatch):
    build = Build().gpu().step(1, 0, 100).op("aten::relu", 10, 20, dims=[[16, 128, 2048]], types=["float"])
    text = shown(build.kernel("relu_kernel", ts=50, dur=4, launched=12).load(), monkeypatch)
    assert "still in the L2 cache" in text


def test_names_from_the_file_are_made_safe(monkeypatch):
    hostile = {"id": 0, "name": "Card\x1b[31m", "computeMajor": 9, "computeMinor": 0}
    build = Build(deviceProperties=[hostile]).step(1, 0, 100)
    build.op("aten::mm", 10, 20, dims=[[4, 4], [4, 4]], types=["float", "te\x1bxt"]).kernel(
        "k", ts=50, dur=5, launched=12
    )
    text = shown(build.load(), monkeypatch)
    assert "\x1b" not in text
    assert "Peak rates are not known" in text


def test_words():
    assert rate_text(298e12, "FLOP") == "298 TFLOP/s"
    assert rate_text(1.16e12, "B") == "1.16 TB/s"
    assert [over_floor_text(over) for over in (None, 1.04, 9.94, 9.96, 151, 5000)] == [
        "-",
        "1.0x",
        "9.9x",
        "10x",
        "151x",
        ">999x",
    ]
