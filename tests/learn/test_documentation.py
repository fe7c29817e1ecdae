from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import foretrace
from foretrace.learn.content import lesson_page
from foretrace.learn.lesson import Choice, Grid, Number, Prose, Question
from foretrace.learn.recorded import SHIPPED
from foretrace.learn.registry import LESSONS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def tool(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_in_the_api_page():
    shown = set(re.findall(r"^::: foretrace\.(\w+)$", (DOCS / "api.md").read_text(), re.MULTILINE))
    assert shown == set(foretrace.__all__) - {"__version__"}


def keys(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for each in value.values() for key in keys(each)}
    return {key for each in value for key in keys(each)} if isinstance(value, list) else set()


def test_every_key_of_the_json_of_read_is_explained():
    content = foretrace.reading(foretrace.read(SHIPPED / "stranger.json.gz")).to_json()
    for row in content["kernels"]:
        row.pop("decoded")  # has a page of its own
    text = (DOCS / "reading.md").read_text()
    spelled = {key: (f"`{key}`", f"`{key}[]`", f'"{key}"') for key in keys(content) - {"schema", "foretrace"}}
    assert [key for key, forms in spelled.items() if not any(form in text for form in forms)] == []


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    outside = {page for page in pages if not re.search(rf"(?:: |- ){re.escape(page)}$", navigation, re.MULTILINE)}
    assert {page for page in outside if not page.startswith("rules/FT")} == set()


def test_every_lesson_has_a_page_that_asks_before_it_tells():
    for lesson in LESSONS.values():
        text = (DOCS / "lessons" / f"{lesson.name}.md").read_text()
        before = text.split("<details markdown>")[0]
        assert "╵" not in before
        assert text.count("<details markdown>") == text.count("</details>")


def test_text_from_a_trace_is_no_markup_on_a_page():
    hostile = "<script>alert(1)</script> | *x* [y](javascript:z) </details>"
    question = Question(
        key="k",
        about="a",
        ask=hostile,
        answer=Choice((hostile, "b"), 0),
        look=(Grid(("x",), ((hostile,),)),),
        because=(Prose(f"{hostile} and `a|b<c>`"),),
        hint=hostile,
    )
    page = lesson_page(LESSONS["math"], [question, Question("n", "a", "?", Number(1), (), ())], hostile)
    assert "<script" not in page
    assert re.search(r"(?<!\\)\]\(javascript", page) is None
    assert page.count("</details>") == page.count("<details markdown>")


def test_a_broken_link_on_the_site_is_found(tmp_path):
    site = tool("site")
    (tmp_path / "index.html").write_text(
        '<a href="there/">ok</a><a href="there/#a">ok</a><a href="there/#b">no anchor</a><a href="gone.html">gone</a>'
        '<a href="https://example.com">elsewhere</a><script src="https://example.com/x.js"></script>'
    )
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "index.html").write_text('<h1 id="a">x</h1>')
    assert site.broken_links(tmp_path) == [
        "index.html: there/#b names no anchor",
        "index.html: gone.html leads nowhere",
        "index.html: https://example.com/x.js would be fetched from elsewhere",
    ]


def test_the_site_builds_and_all_its_links_lead_somewhere(tmp_path):
    pytest.importorskip("mkdocs", reason="the site is built with the extra docs")
    site = tool("site")
    assert site.build(tmp_path / "site") == 0
    assert site.broken_links(tmp_path / "site") == []
