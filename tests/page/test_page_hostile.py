"""Everything in a trace is hostile text: none of it may become markup, script, or a request."""

import json
import re
from pathlib import Path

import pytest

from build import Build
from foretrace.report.data import reading
from foretrace.report.html import report, trace_page
from foretrace.report.page.assets import policy, script_json
from foretrace.trace.load import load_trace

SCRIPT = "</script><script>document.title='owned'</script>"
IMAGE = "<img src=x onerror=\"document.title='owned'\">"
QUOTES = "'\"` --> <!-- ${document.title='owned'} {{ 7*7 }} {% raw %} </style><style>body{display:none}</style>"
CONTROLS = "\x00\x01\x1b[31m\x7f\u202e\u2028\n\r\ud800 end"
NASTY = (SCRIPT, IMAGE, QUOTES, CONTROLS)


def hostile() -> Build:
    built = Build().gpu(f"GPU {SCRIPT}")
    built.header["traceName"] = f"{SCRIPT}]"
    built.event(ph="M", name="thread_name", pid=1, tid=1, args={"name": f"thread {IMAGE}"})
    for at, text in enumerate(NASTY * 2):
        start = at * 100
        built.step(at, start, 90)
        built.annotation(f"range {text}", start + 1, 80)
        built.op(f"aten::{text}", start + 2, 50, dims=[[8, 8]], types=[text])
        built.frame(f"{text}.py(1): f", start + 1, 70)
        built.kernel(
            f"void kernel<{text}>({text})",
            start + 30,
            20,
            launched=start + 5,
            launch=f"cudaLaunch{text}",
            grid=[1, 1, 1],
        )
        built.memcpy(f"Memcpy {text}", start + 60, 10, launched=start + 15, bytes=100)
    return built


@pytest.fixture
def trace_file(tmp_path) -> Path:
    return hostile().write(tmp_path / "a<img src=x onerror=alert(1)>'\"&amp;.json")


def test_nothing_of_a_hostile_trace_runs_or_loads(trace_file, opened, keep):
    html = trace_page(reading(load_trace(trace_file)))
    with opened(html) as page:
        page.wait_for_selector("html[data-charted]", state="attached")
        assert page.title() == "a<img src=x onerror=alert(1)>'\"&amp;.json - foretrace"
        assert page.locator("img").count() == 0
        assert page.locator("body").is_visible()
        page.evaluate("foretrace.lanes[0].shown.python = true; foretrace.lanes[0].layOut()")
        for event in range(0, page.evaluate("foretrace.lanes[0].scene.count"), 3):
            page.evaluate("e => foretrace.lanes[0].select(e, {close: true})", event)
            page.evaluate(
                "e => { const l = foretrace.lanes[0]; const p = document.querySelector('.event-panel');"
                " l.tip.replaceChildren(p.cloneNode(true)); l.tip.hidden = false; }",
                event,
            )
        for table in ("kernels", "ops", "steps"):
            page.locator(f'[data-part="{table}"] input').evaluate_all("boxes => boxes.forEach(box => box.value = '<')")
            for opener in page.locator(f'[data-part="{table}"] .opener').all():
                opener.click()
        page.locator("input.search").fill("<script>")
        page.locator("input.search").press("Enter")
        keep(page, "hostile")
        assert page.title().startswith("a<img")
        assert page.locator("img").count() == 0
        assert page.locator("script").count() == len(re.findall(r"<script[ >]", html)) + 1  # and Bokeh's
        assert page.troubles == []
        assert [url for url in page.requests if not url.startswith(("file:", "data:", "blob:"))] == []
        shown = page.locator('[data-part="ops"]').inner_text()
        assert "</script><script>" in shown
        assert "\\x1b[31m" in shown
        assert "\\u202e" in shown


def test_a_hostile_variant_name_stays_text(tmp_path, opened):
    folder = tmp_path / "recording"
    folder.mkdir()
    for at in range(2):
        hostile().write(folder / f"{at}.json")
    names = [SCRIPT, IMAGE]
    (folder / "attention.json").write_text(
        json.dumps(
            {
                "schema": 1,
                "device": {"type": "cuda", "name": SCRIPT, "torch": IMAGE},
                "variants": [
                    *({"variant": name, "trace": f"{at}.json"} for at, name in enumerate(names)),
                    {"variant": QUOTES, "status": "unsupported", "reason": SCRIPT + CONTROLS.replace("\ud800", "")},
                ],
            }
        )
    )
    html = report(folder, tmp_path / "report.html").read_text(encoding="utf-8")
    with opened(html) as page:
        page.wait_for_selector("html[data-charted]", state="attached")
        for tab in page.locator(".tabs button").all():
            tab.click()
        page.locator(".chart").first.hover()
        assert page.title() == "recording - foretrace"
        assert page.locator("img").count() == 0
        assert page.troubles == []
        assert page.locator(".variants .opener").all_inner_texts() == names


def test_the_policy_names_the_scripts_and_nothing_else():
    text = policy("alert(1)")
    assert "default-src 'none'" in text
    assert "connect-src" not in text
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/]+=*';", text)
    assert "unsafe-eval" not in text
    assert "unsafe-inline" not in text.partition("style-src")[0]


def test_a_script_that_is_not_the_pages_own_does_not_run(opened):
    html = trace_page(reading(hostile().load()), charts=False)
    stowaway = html.replace("<main>", "<main><script>window.stowed = 1</script><img src=x onerror='window.stowed = 1'>")
    with opened(stowaway) as page:
        page.settle()
        assert page.evaluate("window.stowed") is None
        assert any("Content Security Policy" in trouble for trouble in page.troubles)


def test_json_in_a_script_element_cannot_end_it():
    text = script_json({"name": SCRIPT + "<!--&"})
    assert "<" not in text
    assert json.loads(text) == {"name": SCRIPT + "<!--&"}
