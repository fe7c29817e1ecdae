"""Which rows have a name: asked many times, so the rows are sorted by name once."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from foretrace.trace.raw import I32, I64

    # A column of yes and no.
    Bools = npt.NDArray[np.bool_]

__all__ = ["NameIndex"]

_NARROW = 1 << 16


class NameIndex:
    """Positions by name, over one column of interned names."""

    def __init__(self, strings: list[str], names: I32) -> None:
        counts = np.bincount(names, minlength=len(strings)) if len(names) else np.zeros(len(strings), np.int64)
        present = np.flatnonzero(counts)
        self._names = names
        self._bounds = np.concatenate(([0], np.cumsum(counts[present])))
        self._code = np.zeros(len(strings), np.int64)
        self._code[present] = np.arange(len(present))
        self.strings = [strings[number] for number in present]
        """The distinct names."""
        self.at = {text: spot for spot, text in enumerate(self.strings)}
        """Name -> position in ``strings``."""

    @cached_property
    def code(self) -> I64:
        """For each row the position of its name in ``strings``."""
        code: I64 = self._code[self._names]
        return code

    @cached_property
    def _order(self) -> I64:
        # Sixteen bits are sorted by radix: a tenth of the time.
        code = self.code.astype(np.uint16) if len(self.strings) < _NARROW else self.code
        return np.argsort(code, kind="stable")

    def __contains__(self, name: str) -> bool:
        return name in self.at

    def any_of(self, names: Iterable[str]) -> bool:
        """Whether any of these names occurs."""
        return any(name in self.at for name in names)

    def matching(self, wanted: Callable[[str], bool]) -> list[str]:
        """The names that are wanted; each distinct name is asked once."""
        return [name for name in self.strings if wanted(name)]

    def of(self, *names: str) -> I64:
        """Positions of the rows with one of these names, in their order."""
        parts = [
            self._order[self._bounds[spot] : self._bounds[spot + 1]]
            for spot in (self.at.get(name) for name in dict.fromkeys(names))
            if spot is not None
        ]
        if not parts:
            return np.zeros(0, np.int64)
        return parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))

    def flags(self, names: Iterable[str]) -> Callable[[I64], Bools]:
        """A function that says, for positions of rows, whether each has one of these names."""
        flag = np.zeros(len(self.strings) + 1, bool)
        for name in names:
            if name in self.at:
                flag[self.at[name]] = True

        def asked(positions: I64) -> Bools:
            held: Bools = flag[self.code[positions]]
            return held

        return asked
