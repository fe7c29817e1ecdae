"""A trace, a reading and a comparison show themselves in a notebook."""

import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

import foretrace
from build import Build
from foretrace.trace.showing import in_short

H200 = Path(__file__).parents[1] / "recordings" / "h200"
NASTY = "<script>document.title='owned'</script>\x1b"


def notebook(browser, html):
    """A page that shows an output, as a notebook does."""
    page = browser.new_page()
    page.set_content(f"<title>notebook</title><div>{html}</div>")
    frame = page.frame_locator("iframe")
    frame.locator("html[data-ready]").wait_for(state="attached", timeout=15_000)
    return page, frame


@pytest.mark.parametrize("of", ["trace", "reading"])
def test_a_trace_shows_its_sentence_and_its_lanes(browser, of):
    trace = foretrace.read(H200 / "p3_naive.json.gz")
    html = (trace if of == "trace" else foretrace.reading(trace))._repr_html_()
    assert "5 kernels, 1 copy and 1 memset" in html.partition("<iframe")[0]
    page, frame = notebook(browser, html)
    assert frame.locator(".stage canvas").count() > 3
    assert frame.locator("h1").is_hidden()
    assert frame.locator(".figures").is_visible()
    page.close()


def test_a_comparison_shows_its_table_and_strips(browser):
    html = foretrace.attention(replay="h200")._repr_html_()
    assert "is the fastest here" in html
    page, frame = notebook(browser, html)
    assert frame.locator(".variants tbody tr").count() >= 6
    assert frame.locator("#strips canvas").count() > 1
    page.close()


def test_hostile_names_stay_in_the_frame_as_text(browser):
    trace = Build().gpu(NASTY).step(0, 0, 100).op(NASTY, 1, 50).kernel(NASTY, 10, 5, launched=2).load()
    page, frame = notebook(browser, foretrace.reading(trace)._repr_html_())
    assert page.title() == "notebook"
    assert frame.locator("script").count() == 3
    page.close()


def test_without_the_package_around_it_a_trace_is_one_paragraph():
    path = str(H200 / "p3_naive.json.gz")
    code = f"from foretrace.trace.load import load_trace; print(load_trace({path!r})._repr_html_())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "<p>p3_naive.json.gz: NVIDIA H200, 275 events, 3 steps, 16 kernels</p>\n"


def test_the_short_form_is_escaped():
    text = in_short(Build().gpu(NASTY).load())
    assert "<script" not in text
    assert "<script>" in unescape(text)
    assert "\x1b" not in text


def test_a_trace_from_the_profiler_shows_itself_as_any_other():
    code = (
        "import foretrace; foretrace.profile; from foretrace.trace.showing import _shown, in_short;"
        "print(_shown == [in_short])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "False\n"
