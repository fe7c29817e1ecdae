"""What to change, as it is shown under ``Try``: prose wrapped, code to copy never cut."""

from __future__ import annotations

import re
from textwrap import wrap
from typing import Final

from foretrace.report.escape import plain

__all__ = ["change_lines"]

_CODE: Final = "    "
# A remark behind code: two spaces and a hash, as formatters write it.
_REMARK: Final = re.compile(r"(?P<code>.*\S) {2,}(?P<remark># .*)")


def change_lines(change: str, width: int) -> list[str]:
    """The lines of a change, prose in at most ``width`` characters.

    Code (indented by four spaces, or with a remark behind it) stands uncut, whatever its length: its remark goes on
    lines above it where both do not fit.
    """
    lines: list[str] = []
    for written in change.splitlines():
        line = plain(written)
        if len(line) <= width:
            lines.append(line)
            continue
        remark = _REMARK.fullmatch(line)
        if remark is not None:
            indent = line[: len(line) - len(line.lstrip())]
            words = remark["remark"].removeprefix("# ")
            lines += [f"{indent}# {part}" for part in wrap(words, max(20, width - len(indent) - 2))]
            lines.append(remark["code"])
        elif line.startswith(_CODE):
            lines.append(line)
        else:
            lines += wrap(line, max(20, width), break_on_hyphens=False, break_long_words=False) or [""]
    return lines
