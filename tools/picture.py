"""Draw the README's picture: what `foretrace attention --replay h200` prints, as SVG.

python tools/picture.py          write docs/images/attention.svg
python tools/picture.py --check  say whether it is current
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console

import foretrace
from foretrace.report.comparison_text import print_comparison

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "attention.svg"
_COMMAND = "foretrace attention --replay h200"
_WIDTH = 100
# Rich's own format fetches its font from the network; whatever monospaced font is there will do.
_FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL).replace(
    "font-family: Fira Code,", "font-family: ui-monospace, Menlo, Consolas,"
)


def drawn() -> str:
    """The picture as SVG text, the same on every machine."""
    out = Console(
        width=_WIDTH,
        record=True,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
        markup=False,
        emoji=False,
    )
    print_comparison(out, foretrace.attention(replay="h200"))
    return out.export_svg(title=_COMMAND, code_format=_FORMAT, unique_id="attention") + "\n"


def main() -> int:
    """Write the picture, or check it; the exit code is 1 when it is stale."""
    text = drawn()
    if "--check" not in sys.argv[1:]:
        PICTURE.parent.mkdir(parents=True, exist_ok=True)
        PICTURE.write_text(text, encoding="utf-8")
        return 0
    if PICTURE.is_file() and PICTURE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PICTURE.name} is stale; write it with: python tools/picture.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
