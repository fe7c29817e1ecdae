"""Text of a file as part of a message: everything in it may be hostile."""

from __future__ import annotations

from typing import Final

__all__ = ["beginning", "shown"]

_TEXT: Final = 60
_BYTES: Final = 8


def shown(text: str | bytes, size: int = 200) -> str:
    """The text in one line, with nothing in it that a terminal would obey; cut behind ``size`` characters."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text[: size + 1])
    return line[:size] + "..." if len(line) > size else line


def beginning(head: bytes) -> str:
    """How a file begins: its text in quotes, or its first bytes where they are no text."""
    text = head[:_TEXT].decode("utf-8", "ignore")
    if len(text.encode()) >= len(head[:_TEXT]) - 3 and "\0" not in text:
        return f'"{shown(head, _TEXT)}"'
    return f"the bytes {head[:_BYTES].hex(' ')}, which are no text"
