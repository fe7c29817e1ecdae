"""Pages of documentation that are made from the code: commands, lessons, rules, and outputs shown in other pages."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import click

from foretrace.cli import COMMANDS, cli
from foretrace.findings import docs as rule_docs
from foretrace.learn.content import lesson_page, lessons_index
from foretrace.learn.recorded import SHIPPED, Shelf
from foretrace.learn.registry import LESSONS

__all__ = ["generated"]

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
_COLUMNS = 84
_COMMON = (
    "Every command that computes takes `--json`. Exit codes: 0 fine; 1 a prediction missed, or a `--fail-on` matched; "
    "2 it could not be done, with one sentence saying what, where and what to do. `foretrace --debug COMMAND` shows "
    "the traceback of an error."
)
# A marked fence: the output of its command follows it, made anew.
_RUN = re.compile(r"(<!-- run -->\n```console\n\$ foretrace (?P<words>[^\n]+)\n)(?:(?!```)[^\n]*\n)*(```\n)")


def generated() -> dict[Path, str]:
    """Path -> text of every page that is generated, whole or in parts."""
    found = {DOCS / "commands.md": _commands()}
    found |= {DOCS / "rules" / name: text for name, text in rule_docs.pages().items()}
    shelf = Shelf()
    found[DOCS / "lessons" / "README.md"] = lessons_index(list(LESSONS.values()))
    for lesson in LESSONS.values():
        found[DOCS / "lessons" / f"{lesson.name}.md"] = lesson_page(lesson, lesson.blocks(shelf), shelf.made_with)
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if page not in found and "<!-- run -->" in text:
            found[page] = _refreshed(text)
    return found


def _refreshed(text: str) -> str:
    """The page with the outputs of its marked commands, run over the lessons' recordings."""
    with tempfile.TemporaryDirectory(prefix="foretrace-docs-") as folder:
        for path in SHIPPED.glob("*.json.gz"):
            shutil.copy(path, folder)
        return _RUN.sub(lambda match: match[1] + _output(match["words"], folder) + match[3], text)


def _output(words: str, folder: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "foretrace", *shlex.split(words)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": str(_COLUMNS), "NO_COLOR": "1"},
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.rstrip().splitlines())


def _commands() -> str:
    parts = ["# Every command", _COMMON]
    context = click.Context(cli, info_name="foretrace")
    for name in COMMANDS:
        command = cli.get_command(context, name)
        if command is not None:
            parts += _help(command, f"foretrace {name}", 2)
    return "\n\n".join(parts) + "\n"


def _help(command: click.Command, name: str, level: int) -> list[str]:
    context = click.Context(command, info_name=name, terminal_width=_COLUMNS, max_content_width=_COLUMNS)
    context.help_option_names = ["-h", "--help"]
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    parts = [f"{'#' * level} {name}", f"```text\n{text}\n```"]
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None:
                parts += _help(found, f"{name} {inner}", level + 1)
    return parts
