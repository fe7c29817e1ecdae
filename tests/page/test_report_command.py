"""`foretrace report` and its twin in Python."""

from pathlib import Path

import pytest
from click.testing import CliRunner

import foretrace
from foretrace.cli import cli, main
from foretrace.cli.report import page_path

H200 = Path(__file__).parents[1] / "recordings" / "h200"
NAIVE = str(H200 / "p3_naive.json.gz")


def test_writes_the_page_and_says_where(tmp_path):
    page = tmp_path / "x.html"
    result = CliRunner().invoke(cli, ["report", NAIVE, "-o", str(page), "--no-charts"])
    assert result.exit_code == 0
    assert f"wrote {page} (0.1 MB)" in result.stderr
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "bokeh" not in text.lower().partition("<script")[0]


def test_python_writes_the_same_page(tmp_path):
    one = foretrace.report(NAIVE, tmp_path / "one.html", charts=False)
    other = foretrace.report(foretrace.read(NAIVE), tmp_path / "other.html", charts=False)
    again = foretrace.report(foretrace.reading(foretrace.read(NAIVE)), tmp_path / "again.html", charts=False)
    assert one.read_bytes() == other.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(
    ("trace", "page"),
    [
        ("a/b.json", "b.html"),
        ("b.json.gz", "b.html"),
        ("rank0.1234.pt.trace.json.gz", "rank0.1234.html"),
        ("odd", "odd.html"),
        ("ranks.zip:rank1.json", "rank1.html"),
        ("-", None),
        (".json", None),
    ],
)
def test_the_page_is_named_for_the_trace(trace, page):
    if page is None:
        with pytest.raises(foretrace.UsageError, match="say where it goes with -o"):
            page_path(Path(trace))
    else:
        assert page_path(Path(trace)) == Path(page)


def refusal(capsys, *words) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["report", *words])
    assert stop.value.code == 2
    return capsys.readouterr().err


def test_what_cannot_be_written_or_read_is_one_sentence(tmp_path, capsys):
    assert "No such file" in refusal(capsys, str(tmp_path / "none.json"))
    assert "cannot be written" in refusal(capsys, NAIVE, "-o", str(tmp_path / "no" / "x.html"))
    assert "held against one trace" in refusal(
        capsys, str(H200), "-o", str(tmp_path / "x.html"), "--expect", "kernels == 1"
    )


@pytest.mark.case("M06")
@pytest.mark.parametrize(
    "text", ['{"traceEvents": []}', '{"traceEvents": [{"ph": "M", "name": "process_name", "pid": 1}]}']
)
def test_an_empty_trace_gives_a_page_that_says_so(tmp_path, opened, text):
    path = tmp_path / "empty.json"
    path.write_text(text)
    page = foretrace.report(path, tmp_path / "empty.html")
    with opened(page.read_text(encoding="utf-8")) as shown:
        assert "no timed events" in shown.text_content('[data-part="lanes"]')
        assert shown.troubles == []


def test_fewer_events_leave_whole_steps_and_say_so(tmp_path, opened):
    path = foretrace.report(H200 / "m_llama_eager.json.gz", tmp_path / "x.html", charts=False, max_events=2000)
    with opened(path.read_text(encoding="utf-8")) as page:
        said = page.locator(".left-out").inner_text()
        assert said.startswith("The lanes hold ProfilerStep#2: ")
        assert "--max-events" in said
        assert page.locator("select option:not([disabled])").count() == 2
        assert page.locator('[data-part="steps"] tbody tr').count() == 3
