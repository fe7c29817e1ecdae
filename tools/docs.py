"""Check the documentation, or write what is generated in it.

python tools/docs.py --check   what `make check` runs: links lead somewhere, commands exist, generated pages are fresh
python tools/docs.py --write   write the generated pages
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from generated_pages import generated

from foretrace.cli import COMMANDS

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_COMMAND = re.compile(r"`?foretrace ([a-z]+)\b")


def pages() -> list[Path]:
    """Every page of documentation."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def broken_links() -> list[str]:
    """Links to files that are not there."""
    wrong = []
    for page in pages():
        for target in _LINK.findall(page.read_text(encoding="utf-8")):
            if "://" in target or target.startswith(("#", "mailto:")):
                continue
            if not (page.parent / target.partition("#")[0]).exists():
                wrong.append(f"{page.relative_to(ROOT)}: the link to {target} leads nowhere")
    return wrong


def unknown_commands() -> list[str]:
    """Commands that the documentation shows and that do not exist."""
    wrong = []
    for page in pages():
        for code in re.findall(r"`foretrace [^`]*`|^\$ foretrace .*$", page.read_text(encoding="utf-8"), re.MULTILINE):
            found = _COMMAND.search(code)
            if found and found[1] not in COMMANDS:
                wrong.append(f"{page.relative_to(ROOT)}: there is no command {found[1]!r}")
    return wrong


def undocumented_commands() -> list[str]:
    """Commands that the README does not name."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return [f"README.md: the command {name} is not described" for name in COMMANDS if f"foretrace {name}" not in text]


def stale_pages(made: dict[Path, str]) -> list[str]:
    """Generated pages that differ from what the code says."""
    return [
        f"{path.relative_to(ROOT)} is out of date; python tools/docs.py --write"
        for path, text in made.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def main() -> int:
    """Check or write; the exit code is 1 when something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--check", action="store_true")
    mode.add_argument("--write", action="store_true")
    made = generated()
    if parser.parse_args().write:
        for path, text in made.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    wrong = stale_pages(made) + broken_links() + unknown_commands() + undocumented_commands()
    print(
        "\n".join(wrong) or f"{len(pages())} pages of documentation are in order",
        file=sys.stderr if wrong else sys.stdout,
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
