"""The fixed parts of a page: its template, style and script, Bokeh's script, and the policy that allows only these."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SCRIPTS", "bokeh_script", "policy", "render", "script", "script_json", "unbroken"]

_FOLDER: Final = Path(__file__).parents[1] / "assets"

SCRIPTS: Final = (
    "unpack.js",
    "words.js",
    "palette.js",
    "trace_data.js",
    "scene.js",
    "draw.js",
    "describe.js",
    "panel.js",
    "lanes.js",
    "lanes_input.js",
    "toolbar.js",
    "table.js",
    "tables.js",
    "reading.js",
    "comparison.js",
    "charts.js",
    "main.js",
)
"""The page's script, in order: the parts share one scope, and nothing else sees it."""


# A number and its unit: no line breaks between them.
_FIGURE: Final = re.compile(r"\d[\d,.]* (?:%|ms|us|ns|s|GB|MB|kB)(?!\w)")


def unbroken(text: str) -> Markup:
    """The text, escaped, its numbers kept on one line with their units."""
    return Markup(_FIGURE.sub(r'<span class="figure">\g<0></span>', str(escape(text))))  # noqa: S704 - escaped here


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=select_autoescape(default=True, default_for_string=True, enabled_extensions=("j2",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["unbroken"] = unbroken
    return made


@cache
def script() -> str:
    """All of the page's own script."""
    parts = [(_FOLDER / name).read_text(encoding="utf-8") for name in SCRIPTS]
    return '(() => {\n"use strict";\n' + "\n".join(parts) + "})();"


@cache
def bokeh_script() -> str:
    """Bokeh's script, from its package."""
    import bokeh  # noqa: PLC0415 - only a page with figures pays for it

    return (Path(bokeh.__file__).parent / "server/static/js/bokeh.min.js").read_text(encoding="utf-8")


@cache
def _packed_bokeh() -> str:
    return b64encode(gzip.compress(bokeh_script().encode(), compresslevel=9, mtime=0)).decode("ascii")


@cache
def _style() -> str:
    """The style sheet. Dark where the system says so (on a screen; paper is white), unless the reader chose."""
    dark = (_FOLDER / "dark.css").read_text(encoding="utf-8")
    return (
        (_FOLDER / "page.css").read_text(encoding="utf-8")
        + '@media screen and (prefers-color-scheme: dark) { :root:not([data-theme="light"]) {\n'
        + dark
        + '} }\n:root[data-theme="dark"] {\n'
        + dark
        + "}\n"
    )


def policy(*scripts: str) -> str:
    """A content security policy: these scripts by their hashes, styles of the page itself, and no network at all."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'" for text in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def script_json(value: Any) -> str:
    """JSON for a script element: nothing in it can end the element or begin a comment."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def render(template: str, content: Mapping[str, Any], *, figures: bool) -> str:
    """The whole file. ``figures``: Bokeh's script comes along."""
    own = script()
    scripts = [own, bokeh_script()] if figures else [own]
    return (
        _environment()
        .get_template(template)
        .render(
            **content,
            policy=policy(*scripts),
            style=_style(),
            script=own,
            bokeh=_packed_bokeh() if figures else None,
        )
    )
