"""One device activity of a step, with the launch and the ops that it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from foretrace.report.escape import plain

if TYPE_CHECKING:
    from foretrace.names.decoded import Decoded

__all__ = ["Work"]


@dataclass(frozen=True)
class Work:
    """One device activity of a step."""

    at: int
    """Position in ``trace.activities``."""
    letter: str
    """Its mark in the lanes."""
    name: str
    kind: str
    """``kernel``, ``memcpy`` or ``memset``."""
    decoded: Decoded
    time_ns: int
    launch: str
    """The runtime call."""
    launched_ns: int
    """Start of its launch, from the start of the step."""
    starts_ns: int
    """Its own start, likewise."""
    path: tuple[str, ...]
    """The ops around the launch, outermost first; the innermost annotation where no op is."""
    bytes: int | None
    graph: bool

    @property
    def short(self) -> str:
        """A label for people."""
        return plain(self.decoded.short)

    @property
    def top(self) -> str:
        """The outermost op around its launch."""
        return self.path[0] if self.path else "outside any op"

    @property
    def owner(self) -> str:
        """The op that launched it."""
        return self.path[-1] if self.path else "outside any op"
