"""The page of a sweep: heat maps, curves, and the tables that say the same."""

import msgspec
import pytest
from test_page_access import faults

from foretrace.cli import main
from foretrace.report.html import report
from foretrace.report.page.sweep_charts import CURVES, MAPS, sweep_charts, variant_colors
from foretrace.report.sweep_data import Sweep
from sweep.build_sweep import case, shape


def times(length):
    """Flash for short sequences, cuDNN (the default) for long ones."""
    flash, cudnn = 3000 + 20 * length, 12_000 + 10 * length
    return {"auto": cudnn, "cudnn": cudnn, "flash": flash, "efficient": 2 * flash, "mine": 3 * flash}


ROWS = [
    row
    for head_dim in (64, 128)
    for length in (256, 512, 1024, 2048)
    for row in case(
        times(length), shape(length=length, head_dim=head_dim), math=("out-of-memory", "CUDA out of memory.")
    )
]
SWEEP = Sweep(rows=tuple(ROWS), place="some/where/mine")


def test_a_device_has_two_maps_and_a_curve_for_each_line():
    (device,) = SWEEP.devices
    charts = sweep_charts(device, 0)
    assert [chart.id for chart in charts] == ["sweep-0-winners", "sweep-0-loss", "sweep-0-curve-0", "sweep-0-curve-1"]
    assert [chart.title for chart in charts[2:]] == ["D 64", "D 128"]
    assert all(set(chart.items) == {"light", "dark"} for chart in charts)


def test_many_lines_are_cut_and_one_length_draws_nothing():
    rows = [row for batch in range(1, MAPS + 3) for size in (1, 2, 3) for row in case(
        {"auto": 100_000, "flash": 100_000 * batch}, shape(batch=batch, length=256 * size))]  # fmt: skip
    (device,) = Sweep(rows=tuple(rows), place="x").devices
    charts = sweep_charts(device, 0)
    assert f"The first {MAPS} of {MAPS + 2} lines." in charts[0].caption
    assert len(charts) == 2 + CURVES
    (single,) = Sweep(rows=tuple(case({"flash": 1000})), place="x").devices
    assert sweep_charts(single, 0) == []


def test_every_variant_has_a_color_of_its_own():
    names = ["auto", "flash", "cudnn", *(f"own{number}" for number in range(6))]
    colors = variant_colors(names)
    assert list(colors) == names
    assert len(set(colors.values())) == len(names)


def test_the_page_answers_and_holds_the_tables(tmp_path):
    text = report(SWEEP, tmp_path / "sweep.html").read_text(encoding="utf-8")
    plain = text.replace('<span class="figure">', "").replace("</span>", "")
    assert "Sweep mine" in text
    assert "flash is as fast as any in 4 of 8 cases; what PyTorch picks by itself is in 4" in plain
    assert "In all cases: B 8 H 16 bf16 causal forward." in text
    assert "math ran out of memory" in text
    assert text.count('<th scope="row" class="name">L ') == 8
    assert "Busy share" not in text
    assert len(report(SWEEP, tmp_path / "bare.html", charts=False).read_bytes()) < 150_000


def test_hostile_text_ends_no_element(tmp_path):
    evil = "</script><script>alert(1)</script>"
    rows = [msgspec.structs.replace(row, variant=evil if row.variant == "mine" else row.variant) for row in ROWS]
    rows.append(msgspec.structs.replace(rows[0], variant="x", status="raised", reason=f"\x1b{evil}", time_ns=None))
    text = report(Sweep(rows=tuple(rows), place=evil), tmp_path / "sweep.html").read_text(encoding="utf-8")
    assert evil not in text
    assert "\x1b" not in text


def test_the_command_writes_the_page(tmp_path, capsys):
    (tmp_path / "rows.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in ROWS))
    with pytest.raises(SystemExit) as stop:
        main(["sweep", "show", str(tmp_path), "--html", str(tmp_path / "page.html")])
    assert stop.value.code == 0
    assert f"wrote {tmp_path / 'page.html'}" in capsys.readouterr().err
    assert "Who is fastest" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_figures_are_drawn_in_both_themes(tmp_path, opened):
    text = report(SWEEP, tmp_path / "sweep.html").read_text(encoding="utf-8")
    with opened(text) as page:
        page.wait_for_selector("html[data-charted]")
        drawn = "[...document.querySelectorAll('.chart')].map(each => each.childElementCount)"
        assert page.evaluate(drawn) == [1, 1, 1, 1]
        page.click("#theme")
        page.wait_for_timeout(500)
        assert page.evaluate(drawn) == [1, 1, 1, 1]
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert page.troubles == []


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (400, False)])
def test_no_serious_accessibility_fault(tmp_path, opened, width, dark):
    text = report(SWEEP, tmp_path / "sweep.html").read_text(encoding="utf-8")
    with opened(text, width=width, dark=dark) as page:
        page.wait_for_selector("html[data-charted]")
        assert faults(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
