"""The pages that hold several traces: variants side by side, and before against after."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import foretrace
from foretrace.cli import cli
from foretrace.differences.folders import diff_folders
from foretrace.errors import UsageError
from foretrace.report.html import report

H200 = Path(__file__).parents[1] / "recordings" / "h200"
RECORDING = Path(__file__).parents[2] / "src" / "foretrace" / "recordings" / "h200"


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> str:
    return report(RECORDING, tmp_path_factory.mktemp("page") / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def difference(tmp_path_factory) -> str:
    found = foretrace.diff(foretrace.read(H200 / "p3_naive.json.gz"), foretrace.read(H200 / "p3_inplace.json.gz"))
    return report(found, tmp_path_factory.mktemp("page") / "diff.html").read_text(encoding="utf-8")


# For each variant: the kernels of its strip and where the strip begins and ends, in nanoseconds of the common axis.
STRIPS = """
() => {
  const {scene} = foretrace.strips;
  return Object.fromEntries(scene.parts.map((part, at) => {
    const events = scene.groups.filter(g => g.part === at && g.kind === "stream").flatMap(g => g.lanes)
      .flatMap(lane => [...lane.events]);
    const kinds = events.map(e => { const [data, own] = scene.source(e); return data.kernel(own).kind; });
    const count = kind => kinds.filter(each => each === kind).length;
    return [part.label, {kernels: count("kernel"), copies: count("memcpy"),
      from: Math.min(...events.map(e => scene.ts[e])), to: Math.max(...events.map(e => scene.end(e)))}];
  }));
}
"""


def test_the_strips_stand_on_one_scale_from_zero(recording, opened):
    with opened(recording) as page:
        strips = page.evaluate(STRIPS)
        assert (strips["naive"]["kernels"], strips["naive"]["copies"]) == (5, 1)
        assert (strips["math"]["kernels"], strips["math"]["copies"]) == (20, 0)
        assert [strips[name]["kernels"] for name in ("efficient", "flash", "cudnn")] == [1, 1, 1]
        assert {strip["from"] for strip in strips.values()} == {0}
        assert strips["math"]["to"] > 2 * strips["naive"]["to"] > 10 * strips["flash"]["to"]
        assert list(strips)[:3] == ["naive", "inplace", "math"]
        assert page.troubles == []


def test_a_waiting_gpu_is_drawn_as_such(recording, opened):
    with opened(recording) as page:
        idle = page.evaluate(
            "Object.fromEntries(foretrace.strips.scene.parts.map(p => [p.label, p.idle?.text ?? null]))"
        )
        assert idle["math"] is None
        assert idle["cudnn"].startswith("idle ")


def test_hover_decodes_a_kernel_of_a_strip(recording, opened):
    with opened(recording) as page:
        name = page.evaluate("(() => { const p = foretrace.strips.scene.parts[2].data; return p.kernels[0].name; })()")
        spot = page.box(name)
        page.mouse.move(spot["x"], spot["y"])
        tip = page.locator(".tip").first.inner_text()
        assert "fp32" in tip
        assert "CUDA cores" in tip


def test_cpu_ops_can_be_put_over_the_strips(recording, opened, keep):
    with opened(recording) as page:
        before = page.evaluate("foretrace.strips.scene.groups.length")
        page.get_by_label("with CPU ops").check()
        assert page.evaluate("foretrace.strips.scene.groups.length") > before
        assert page.evaluate("foretrace.strips.whole[0]") < 0
        keep(page, "comparison-with-cpu-ops", full=False)


def test_one_variant_opens_below_and_findings_lead_into_it(recording, opened):
    with opened(recording) as page:
        page.locator(".variants").get_by_role("button", name="math").click()
        assert page.locator('.variant[data-reading="2"]').is_visible()
        assert page.locator(".variant:visible").count() == 1
        assert page.locator(".variant:visible .figures .value").first.inner_text() == "20"
        page.get_by_role("link", name="hidden copy").first.click()
        page.locator('.variant[data-reading="0"]').wait_for(state="visible")
        page.locator('.variant[data-reading="0"] .event-panel h3').wait_for()
        assert "Memcpy DtoD" in page.locator('.variant[data-reading="0"] .event-panel h3').inner_text()


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_comparison_fits_the_width(recording, opened, keep, width, dark):
    with opened(recording, width=width, dark=dark) as page:
        keep(page, f"comparison-{width}-{'dark' if dark else 'light'}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        table = page.locator(".variants")
        if width == 1280:
            assert table.evaluate("table => table.scrollWidth <= table.parentElement.clientWidth")


def test_before_and_after_say_what_changed_and_lead_to_it(difference, opened, keep):
    with opened(difference) as page:
        assert "1.065 to 0.937 ms" in page.text_content(".headline")
        assert page.locator(".change").first.inner_text() == "gone"
        assert "Memcpy DtoD, 268 MB" in page.locator(".findings .title").first.inner_text()
        strips = page.evaluate(STRIPS)
        assert (strips["before"]["copies"], strips["after"]["copies"]) == (1, 0)
        keep(page, "difference")
        page.get_by_role("link", name="before").first.click()
        page.locator('.variant[data-reading="0"] .event-panel h3').wait_for()
        assert "Memcpy DtoD" in page.locator('.variant[data-reading="0"] .event-panel h3').inner_text()
        assert page.troubles == []


def test_diff_writes_the_page(tmp_path):
    page = tmp_path / "diff.html"
    files = [str(H200 / f"{name}.json.gz") for name in ("p3_naive", "p3_inplace")]
    result = CliRunner().invoke(cli, ["diff", *files, "--html", str(page)])
    assert result.exit_code == 0
    assert f"wrote {page}" in result.stderr
    assert "p3_naive.json.gz -&gt; p3_inplace.json.gz" in page.read_text(encoding="utf-8")


def test_folders_of_variants_are_compared_on_one_page(tmp_path, opened):
    found = diff_folders(RECORDING, RECORDING)
    html = report(found, tmp_path / "diff.html").read_text(encoding="utf-8")
    with opened(html) as page:
        assert "No change" in page.text_content(".headline")
        assert page.locator(".tabs button").count() == 2 * len(found.variants)
        assert page.troubles == []


def test_predictions_are_shown_with_what_was_found(tmp_path, opened):
    path = report(
        H200 / "p3_naive.json.gz",
        tmp_path / "page.html",
        expect=["memcpys == 0 because masked_fill works in place", "kernels == 5", "peak_memory < 1 MB"],
        charts=False,
    )
    with opened(path.read_text(encoding="utf-8")) as page:
        assert page.locator(".outcome").all_inner_texts() == ["miss", "hit", "unresolved"]
        page.locator(".findings").first.locator(".evidence a").first.click()
        page.settle()
        assert page.name(page.lanes["selected"]).startswith("Memcpy DtoD")


def test_predictions_for_several_traces_are_refused(tmp_path):
    with pytest.raises(UsageError, match="held against one trace"):
        report(RECORDING, tmp_path / "x.html", expect=["kernels == 5"])
