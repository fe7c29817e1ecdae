"""Text of a file as part of a message: everything in it may be hostile."""

from __future__ import annotations

__all__ = ["shown"]


def shown(text: str | bytes, size: int = 200) -> str:
    """The text in one line, with nothing in it that a terminal would obey; cut behind ``size`` characters."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text[: size + 1])
    return line[:size] + "..." if len(line) > size else line
