"""A browser for the page: Debian's Chromium, or what Playwright finds; the tests skip with a reason where none is."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ARTIFACTS = Path(__file__).parents[2] / "artifacts"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


@pytest.fixture(scope="session")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("no Chromium on this machine (apt-get install chromium)")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield found
        found.close()


class Page:
    """A page open in the browser, with all that went wrong in it."""

    def __init__(self, page) -> None:
        self.page = page
        self.troubles: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda said: self.troubles.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.troubles.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def __getattr__(self, name: str):
        return getattr(self.page, name)

    @property
    def lanes(self) -> dict:
        """What is in view of the first lanes."""
        return self.page.evaluate(
            "(() => { const l = foretrace.lanes[0]; return {from: l.from, span: l.span, selected: l.selected,"
            " hovered: l.hovered, step: l.step, width: l.width}; })()"
        )

    def name(self, event: int) -> str:
        """The name of an event of the first lanes."""
        return self.page.evaluate(
            "e => { const [d, own] = foretrace.lanes[0].scene.source(e); return d.name(own); }", event
        )

    def settle(self) -> None:
        """Wait for the next two frames."""
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def box(self, name: str) -> dict:
        """Where the widest event of this name is drawn, in the viewport."""
        found = self.page.evaluate(
            """name => {
              const lanes = foretrace.lanes[0];
              lanes.stage.scrollIntoView({block: "center"});
              lanes.draw();
              let best = null;
              for (let e = 0; e < lanes.scene.count; e++) {
                const [data, own] = lanes.scene.source(e);
                if (data.name(own) !== name || lanes.scene.laneOf[e] < 0) continue;
                const place = lanes.place(e);
                if (!place || !place.shown || place.right < 0 || place.left > lanes.width) continue;
                if (best && place.right - place.left <= best.right - best.left) continue;
                best = {...place, event: e};
              }
              if (!best) return null;
              const stage = lanes.stage.getBoundingClientRect();
              const left = Math.max(best.left, 0), right = Math.min(best.right, lanes.width);
              const [x, y] = [stage.left + (left + right) / 2, stage.top + (best.top + best.bottom) / 2];
              return {event: best.event, x, y, left: best.left, right: best.right};
            }""",
            name,
        )
        assert found is not None, f"no event {name!r} is drawn"
        return found


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page from a file, without any network: `with opened(html, width=400, dark=True) as page`."""

    @contextmanager
    def open_page(html: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> Iterator[Page]:
        path = tmp_path / "page.html"
        path.write_text(html, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", offline=True
        )
        page = Page(context.new_page())
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached", timeout=15_000)
        try:
            yield page
        finally:
            context.close()

    return open_page


@pytest.fixture
def keep():
    """Keep a screenshot as an artefact of the run."""

    def screenshot(page: Page, name: str, *, full: bool = True) -> None:
        ARTIFACTS.mkdir(exist_ok=True)
        page.wait_for_selector("html[data-charted]", state="attached", timeout=15_000)
        page.settle()
        page.screenshot(path=ARTIFACTS / f"{name}.png", full_page=full)

    return screenshot
