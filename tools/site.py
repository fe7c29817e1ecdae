"""Build the documentation as a site, strictly, and check that every link in it leads somewhere. No network is used.

python tools/site.py            build into a temporary folder, check, and throw away
python tools/site.py FOLDER     build into FOLDER and check
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]


class _Page(HTMLParser):
    """The links of a page, and the anchors it has."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        for name in ("id", "name"):
            if given.get(name):
                self.anchors.add(str(given[name]))
        target = given.get("href") if tag in ("a", "link") else given.get("src")
        if target:
            self.links.append(target)


def build(folder: Path) -> int:
    """Run MkDocs; its exit code."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    # The theme would print an announcement at every build.
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def broken_links(site: Path) -> list[str]:
    """Links and anchors that are not there, and anything a page would fetch from elsewhere."""
    pages = {path: _read(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    wrong = []
    for path, page in pages.items():
        here = path.relative_to(site)
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                wrong.append(f"{here}: {link} leads nowhere")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                wrong.append(f"{here}: {link} names no anchor")
        wrong += [f"{here}: {link} would be fetched from elsewhere" for link in _foreign(path)]
    return wrong


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _foreign(path: Path) -> list[str]:
    """Scripts, styles and pictures of other hosts."""

    class Fetched(HTMLParser):
        found: list[str]

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            given = dict(attrs)
            source = given.get("src") if tag in ("script", "img", "iframe") else None
            if tag == "link" and given.get("rel") in ("stylesheet", "preload", "icon"):
                source = given.get("href")
            if source and urlsplit(source).netloc:
                self.found.append(source)

    parser = Fetched()
    parser.found = []
    parser.feed(path.read_text(encoding="utf-8"))
    return parser.found


def main() -> int:
    """Build and check; the exit code is 1 when something is wrong."""
    with tempfile.TemporaryDirectory(prefix="foretrace-site-") as made:
        folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path(made) / "site"
        code = build(folder)
        if code:
            return code
        wrong = broken_links(folder)
        number = len(list(folder.rglob("*.html")))
    print("\n".join(wrong) or f"{number} pages of the site are in order", file=sys.stderr if wrong else sys.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
