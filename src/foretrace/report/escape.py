"""Text from a trace made safe to show: everything in a trace is hostile."""

from __future__ import annotations

__all__ = ["cut_words", "ellipsis", "plain"]


def plain(text: str) -> str:
    """The text with everything that is not printable written as an escape, so that it cannot move a cursor."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in text)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape", "surrogatepass").decode("ascii")


def ellipsis(text: str, width: int) -> str:
    """The text cut in its middle to at most ``width`` characters: names differ at both ends."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 3
    head = width - 1 - tail
    return text[:head] + "…" + (text[-tail:] if tail else "")


def cut_words(text: str, width: int) -> str:
    """The text cut behind a word to at most ``width`` characters; one long word is cut in its middle."""
    if len(text) <= width:
        return text
    words = text[:width].rsplit(" ", 1)[0].rstrip(" ,:;")
    return words + "…" if " " in text[:width] and 2 * len(words) > width else ellipsis(text, width)
