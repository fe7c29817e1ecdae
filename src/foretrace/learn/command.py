"""A command broken over several lines, as a shell takes it."""

from __future__ import annotations

from typing import Final

__all__ = ["continued"]

_INDENT: Final = "    "
_GOES_ON: Final = " \\"


def continued(command: str, width: int) -> list[str]:
    """The command in lines of at most ``width`` characters, where its words leave room; an option keeps its values."""
    groups: list[str] = []
    for word in command.split():
        if groups and groups[-1].startswith("--") and not word.startswith("--"):
            groups[-1] += f" {word}"
        else:
            groups.append(word)
    lines = [groups[0]]
    for at, group in enumerate(groups[1:], 1):
        last = at == len(groups) - 1
        if len(f"{lines[-1]} {group}") + (0 if last else len(_GOES_ON)) <= width:
            lines[-1] += f" {group}"
        else:
            lines.append(_INDENT + group)
    return [line + _GOES_ON for line in lines[:-1]] + lines[-1:]
