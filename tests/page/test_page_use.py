"""The page of one trace in a real browser: it opens without a network, and can be looked through by mouse and keys."""

from pathlib import Path

import pytest

from build import Build
from foretrace.report.data import reading
from foretrace.report.html import trace_page
from foretrace.trace.load import load_trace

H200 = Path(__file__).parents[1] / "recordings" / "h200"
COPY = "Memcpy DtoD (Device -> Device)"


@pytest.fixture(scope="module")
def naive() -> str:
    return trace_page(reading(load_trace(H200 / "p3_naive.json.gz")))


@pytest.fixture(scope="module")
def training() -> str:
    return trace_page(reading(load_trace(H200 / "t_naive_fwdbwd.json.gz")), charts=False)


def test_opens_from_a_file_without_network_and_without_a_word_on_the_console(naive, opened):
    with opened(naive) as page:
        page.wait_for_selector("html[data-charted]", state="attached")
        assert page.troubles == []
        assert [url for url in page.requests if not url.startswith(("file:", "data:", "blob:"))] == []
        assert page.text_content("#trouble") == ""
        assert page.locator(".chart canvas").count() > 0
        assert "5 kernels, 1 copy and 1 memset in 1.065 ms" in page.text_content(".headline")


def test_first_look_is_one_step_and_what_launched_it(naive, opened):
    with opened(naive) as page:
        assert page.lanes["step"] == 0
        assert page.locator("select").input_value() == "0"
        spot = page.box(COPY)
        page.mouse.move(spot["x"], spot["y"])
        tip = page.locator(".tip").inner_text()
        assert "0.127 ms" in tip
        assert "attn_fwd > aten::masked_fill > aten::clone > aten::copy_" in tip
        assert page.evaluate("foretrace.lanes[0].scene.links(foretrace.lanes[0].hovered).length") == 1


def test_a_finding_leads_to_its_event(naive, opened):
    with opened(naive) as page:
        page.evaluate("foretrace.lanes[0].show(...foretrace.lanes[0].whole)")
        page.get_by_role("link", name="hidden copy").click()
        page.settle()
        seen = page.lanes
        assert page.name(seen["selected"]) == COPY
        spot = page.box(COPY)
        assert spot["event"] == seen["selected"]
        assert spot["right"] - spot["left"] > 60
        assert 0 < spot["y"] < 900
        assert COPY in page.locator(".event-panel h3").inner_text()


def test_search_finds_steps_through_and_lets_go(naive, opened):
    with opened(naive) as page:
        page.locator("input.search").fill("softmax_warp")
        page.locator("input.search").press("Enter")
        page.settle()
        assert "softmax_warp_forward" in page.name(page.lanes["selected"])
        assert page.locator(".tools .count").inner_text() == "1 of 3"
        page.locator("input.search").press("Enter")
        assert page.locator(".tools .count").inner_text() == "2 of 3"
        page.locator("input.search").press("Shift+Enter")
        assert page.locator(".tools .count").inner_text() == "1 of 3"
        page.locator("input.search").fill("no such kernel")
        page.locator(".tools .count", has_text="no match").wait_for()
        page.locator("input.search").press("Escape")
        assert page.locator(".tools .count").inner_text() == ""


def test_step_chooser_shows_another_step(naive, opened):
    with opened(naive) as page:
        before = page.lanes
        page.locator("select").select_option("2")
        page.settle()
        after = page.lanes
        assert after["step"] == 2
        assert after["from"] > before["from"]
        page.get_by_label("Previous step").click()
        assert page.lanes["step"] == 1
        page.locator("select").select_option("-1")
        assert page.lanes["step"] == -1
        assert page.lanes["span"] > before["span"]


def test_wheel_zooms_on_the_lanes_and_drag_moves(naive, opened):
    with opened(naive) as page:
        spot = page.box(COPY)
        page.mouse.move(spot["x"], spot["y"])
        before = page.lanes
        page.mouse.wheel(0, -300)
        page.settle()
        closer = page.lanes
        assert closer["span"] < before["span"] / 1.5
        # What was under the pointer still is.
        assert page.name(page.lanes["hovered"]) == COPY
        page.mouse.down()
        page.mouse.move(spot["x"] - 200, spot["y"], steps=4)
        page.mouse.up()
        page.settle()
        assert page.lanes["from"] == pytest.approx(closer["from"] + 200 / closer["width"] * closer["span"], rel=0.02)
        assert page.lanes["span"] == closer["span"]


def test_a_scroll_that_began_on_the_page_goes_on_over_the_lanes(training, opened):
    with opened(training, height=500) as page:
        page.mouse.move(600, 60)
        before = page.lanes
        for _ in range(12):
            page.mouse.wheel(0, 60)
        assert page.lanes == before


def test_keys_move_zoom_and_walk_from_event_to_event(naive, opened):
    with opened(naive) as page:
        page.locator('.panel[data-panel="device"]').focus()
        before = page.lanes
        page.keyboard.press("w")
        assert page.lanes["span"] < before["span"]
        page.keyboard.press("d")
        assert page.lanes["from"] > before["from"]
        page.keyboard.press("s")
        page.keyboard.press("a")
        page.keyboard.press("f")
        assert page.lanes["span"] == before["span"]
        page.keyboard.press("ArrowRight")
        first = page.lanes["selected"]
        assert first >= 0
        page.keyboard.press("ArrowRight")
        second = page.lanes["selected"]
        assert second == first + 1
        page.keyboard.press("l")
        launch = page.lanes["selected"]
        assert "Launch" in page.name(launch) or "Mem" in page.name(launch)
        page.keyboard.press("ArrowUp")
        assert page.name(page.lanes["selected"]).startswith("aten::")
        page.keyboard.press("Enter")
        assert page.lanes["span"] < before["span"]
        page.keyboard.press("Escape")
        assert page.lanes["selected"] == -1


def test_keys_are_left_to_text_fields(naive, opened):
    with opened(naive) as page:
        before = page.lanes
        page.locator("input.search").press_sequentially("wasd")
        assert page.locator("input.search").input_value() == "wasd"
        assert page.lanes["span"] == before["span"]


def test_clicking_a_backward_op_leads_to_its_forward_op(training, opened):
    with opened(training) as page:
        event = page.evaluate("[...foretrace.lanes[0].scene.parts[0].data.forward.keys()][0]")
        page.evaluate("e => foretrace.lanes[0].select(e)", event)
        forward = page.evaluate("e => foretrace.lanes[0].scene.parts[0].data.forward.get(e)", event)
        page.get_by_role("button", name="To the forward op").click()
        assert page.lanes["selected"] == forward


def test_tables_sort_filter_open_and_lead_to_the_lanes(naive, opened):
    with opened(naive) as page:
        table = page.locator('[data-part="kernels"]')
        shares = table.locator("tbody tr.row td.bars").all_inner_texts()
        assert shares[0].strip() == "34 %"
        table.get_by_role("button", name="Kernel or copy").click()
        assert table.locator('th[aria-sort="ascending"]').inner_text().startswith("Kernel or copy")
        table.locator("input").fill("copy_")
        assert table.locator("tbody tr.row").count() == 1
        table.locator(".opener").click()
        assert table.locator(".opener").get_attribute("aria-expanded") == "true"
        assert "268 MB each" in table.locator("tr.detail").inner_text()
        table.get_by_role("button", name="Show it in the lanes").click()
        assert page.name(page.lanes["selected"]) == COPY


def test_labels_fit_their_boxes(naive, opened):
    with opened(naive) as page:
        widths = page.evaluate(
            """() => {
              const {ruler, scene} = foretrace.lanes[0];
              const context = document.createElement("canvas").getContext("2d");
              context.font = ruler.context.font;
              const found = [];
              for (const text of scene.texts) for (const room of [20, 33, 60, 140])
                found.push([room, context.measureText(ruler.fit(text, room)).width]);
              return found;
            }"""
        )
        assert widths
        assert all(width <= room + 1 for room, width in widths)


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_looks_right_at_both_widths_in_both_themes(naive, opened, keep, width, dark):
    with opened(naive, width=width, dark=dark) as page:
        keep(page, f"trace-{width}-{'dark' if dark else 'light'}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
        assert ground == ("rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")


def test_long_step_names_fit_a_phone(opened):
    name = "one whole step of the training loop, forward and backward and optimizer"
    build = Build().gpu()
    for at in range(3):
        begin = 1000 * at + 10
        build.annotation(name, 1000 * at, 900)
        build.op("aten::mm", begin, 100).kernel("A", begin + 200, 50, launched=begin + 5)
    with opened(trace_page(reading(build.load(step=name))), width=400) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_the_theme_can_be_chosen_and_paper_is_white(naive, opened):
    with opened(naive) as page:
        page.locator("#theme").click()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert page.evaluate("foretrace.lanes[0].palette.ground") == "#171c21"
        page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate("foretrace.lanes[0].palette.ground") == "#fbfbfc"
        # The lanes are drawn anew, in full, on a canvas that paper takes as it is.
        colors = page.evaluate(
            """() => { const paper = document.querySelector("canvas.paper");
              const data = paper.getContext("2d").getImageData(0, 0, paper.width, paper.height).data;
              const seen = new Set();
              for (let at = 0; at < data.length; at += 400) seen.add(data.slice(at, at + 3).join());
              return seen.size; }"""
        )
        assert colors > 6
        page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert page.evaluate("foretrace.lanes[0].palette.ground") == "#171c21"
        assert page.locator("canvas.paper").count() == 0
        assert page.troubles == []


def test_the_roofline_is_drawn_where_shapes_and_peaks_are_known(naive, opened):
    assert "chart-roofline" in naive
    bare = trace_page(reading(load_trace(H200 / "p3_naive_noshapes.json.gz")))
    assert "chart-roofline" not in bare
    with opened(naive) as page:
        page.wait_for_selector("html[data-charted]", state="attached")
        assert page.locator("#chart-roofline .bk-Figure").count() == 1


def test_a_link_to_an_event_that_is_not_drawn_says_so(naive, opened):
    with opened(naive) as page:
        page.evaluate("location.hash = '#event-0-999999'")
        page.locator(".event-panel", has_text="not in these lanes").wait_for()
        assert page.troubles == []


def test_a_touch_selects_and_two_fingers_zoom(naive, browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(naive, encoding="utf-8")
    context = browser.new_context(viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    spot = page.evaluate(
        """() => { const l = foretrace.lanes[0]; l.stage.scrollIntoView({block: "center"}); l.draw();
          const {data} = l.scene.parts[0]; let best = data.hosts;
          for (let e = data.hosts; e < data.count; e++)
            if (data.step(e) === 0 && data.dur[e] > data.dur[best]) best = e;
          const place = l.place(best), box = l.stage.getBoundingClientRect();
          return [box.left + (place.left + place.right) / 2, box.top + (place.top + place.bottom) / 2, best]; }"""
    )
    page.touchscreen.tap(spot[0], spot[1])
    assert page.evaluate("foretrace.lanes[0].selected") == spot[2]
    before = page.evaluate("foretrace.lanes[0].span")
    session = context.new_cdp_session(page)
    for kind, gap in (("touchStart", 20), ("touchMove", 40), ("touchMove", 80), ("touchEnd", None)):
        points = [] if gap is None else [{"x": spot[0] - gap, "y": spot[1]}, {"x": spot[0] + gap, "y": spot[1]}]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    assert page.evaluate("foretrace.lanes[0].span") < before / 2
    context.close()
