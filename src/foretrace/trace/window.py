"""The text of a trace while it is read: the stretch held in memory, and the lines before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.trace.grammar import SPACE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from mmap import mmap

__all__ = ["Window"]


class Window:
    """A stretch of the text that moves on with the reading.

    Places in it are positions in ``text``; taking in more text may move them, so what does returns the new place.

    Args:
        pieces: the text; a map of a whole file comes as the only piece.
        count_lines: line feeds in a part of a text.
    """

    def __init__(self, pieces: Iterator[bytes | mmap], count_lines: Callable[[bytes | mmap, int, int], int]) -> None:
        self.text: bytes | mmap = b""
        self.base = 0
        """The byte of ``text[0]`` in the whole."""
        self.is_whole = False
        """Nothing comes after ``text``."""
        self._pieces = pieces
        self._count_lines = count_lines
        self._lines = 0

    def __len__(self) -> int:
        return len(self.text)

    def more(self, at: int) -> int | None:
        """Take in the next piece, dropping what lies before ``at``; where that now stands, or None at the end."""
        piece = None if self.is_whole else next(self._pieces, None)
        if piece is None:
            self.is_whole = True
            return None
        if not self.text:
            self.text = piece
            return at
        self._lines += self._count_lines(self.text, 0, at)
        self.text = bytes(self.text[at:]) + bytes(piece)
        self.base += at
        return 0

    def hold(self, at: int, size: int) -> int:
        """Take in text until ``size`` bytes from ``at`` are there, or all there are; where ``at`` now stands."""
        while len(self.text) - at < size:
            moved = self.more(at)
            if moved is None:
                break
            at = moved
        return at

    def space(self, at: int) -> int:
        """The next byte that is no white space, or the end of all text."""
        while True:
            found = SPACE.match(self.text, at)
            at = found.end() if found else at
            if at < len(self.text):
                return at
            moved = self.more(at)
            if moved is None:
                return at
            at = moved

    def line(self, byte: int) -> int:
        """The line, from 1, of a byte of the whole that lies in ``text`` or at its end."""
        return self._lines + self._count_lines(self.text, 0, byte - self.base) + 1

    def position(self) -> int:
        """Bytes taken in."""
        return self.base + len(self.text)
