"""No serious accessibility fault, by axe-core."""

from pathlib import Path

import pytest

from foretrace.report.data import reading
from foretrace.report.html import report, trace_page
from foretrace.trace.load import load_trace

H200 = Path(__file__).parents[1] / "recordings" / "h200"
RECORDING = Path(__file__).parents[2] / "src" / "foretrace" / "recordings" / "h200"


def faults(page) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(page.page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (400, False)])
def test_trace_page(opened, width, dark):
    html = trace_page(reading(load_trace(H200 / "p3_naive.json.gz")))
    with opened(html, width=width, dark=dark) as page:
        page.wait_for_selector("html[data-charted]", state="attached")
        page.locator('[data-part="kernels"] .opener').first.click()
        page.evaluate("foretrace.lanes[0].select(foretrace.lanes[0].scene.count - 1)")
        assert faults(page) == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_comparison_page(opened, tmp_path, dark):
    html = report(RECORDING, tmp_path / "report.html").read_text(encoding="utf-8")
    with opened(html, dark=dark) as page:
        page.wait_for_selector("html[data-charted]", state="attached")
        assert faults(page) == []
