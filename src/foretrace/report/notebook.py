"""Traces and comparisons in a notebook: a sentence, and the page itself in a frame of its own.

The frame runs the page's script and nothing else: it is sandboxed away from the notebook, and its policy allows no
network. Where a viewer strips frames, the sentence stays.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Final

from foretrace.report.data import reading
from foretrace.report.escape import plain
from foretrace.report.html import comparison_page, trace_page
from foretrace.report.page.comparison import comparison_facts, comparison_headline, comparison_title
from foretrace.report.page.headline import facts, headline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.report.comparison import Comparison
    from foretrace.report.data import Reading
    from foretrace.trace.model import Trace

__all__ = ["comparison_html", "reading_html", "trace_html"]

# A notebook keeps its outputs in its file: fewer events than in a page of its own, and no figures.
_MOST_EVENTS: Final = 100_000
_HEIGHT: Final = 640


def trace_html(trace: Trace) -> str:
    """A trace, as its reading."""
    return reading_html(reading(trace))


def reading_html(found: Reading) -> str:
    """A reading: its first sentence over its lanes and tables."""
    page = trace_page(found, most_events=_MOST_EVENTS, charts=False, embedded=True)
    return _framed(plain(found.trace.file), facts(found), headline(found), page)


def comparison_html(found: Comparison) -> str:
    """A comparison: its first sentence over its table and strips."""
    page = comparison_page(found, most_events=_MOST_EVENTS, charts=False, embedded=True)
    return _framed(comparison_title(found), comparison_facts(found), comparison_headline(found), page)


def _framed(title: str, parts: Sequence[str], sentence: str, page: str) -> str:
    words = " · ".join(parts)
    return (
        f"<p><b>{escape(title)}</b> {escape(words)}<br>{escape(sentence)}</p>"
        f'<iframe title="{escape(title)}" sandbox="allow-scripts" loading="lazy" width="100%" height="{_HEIGHT}" '
        f'style="border: 0" srcdoc="{escape(page)}"></iframe>'
    )
