"""One structural change: what it was, what it is, where, how many a step and how long."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Change"]


@dataclass(frozen=True)
class Change:
    """Something that is not as it was."""

    change: str
    """``gone``, ``new``, ``number``, ``moved``, ``renamed`` or ``launch``; what holds first in: renamed, moved,
    launch."""
    kind: str
    """``kernel``, ``memcpy``, ``memset``, ``op``, ``annotation`` or ``range``."""
    name: str
    """Before; of what is new, after."""
    path: tuple[str, ...]
    """What encloses it before (of what is new, after), outermost first; for an op, itself left out."""
    before: float
    """How many a step: the median where it varies."""
    after: float
    label: str = ""
    """What it is, for people."""
    name_after: str | None = None
    label_after: str | None = None
    path_after: tuple[str, ...] | None = None
    ops: tuple[str, ...] = ()
    """The ops on the path."""
    ops_after: tuple[str, ...] = ()
    role: str | None = None
    """Of a kernel: what it computes."""
    role_after: str | None = None
    library_after: str | None = None
    """Who wrote the kernel that is there after."""
    time_before_ns: float | None = None
    """Device time a step; None for ops and annotations."""
    time_after_ns: float | None = None
    bytes: int | None = None
    facts: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    """What the two names say differently: unit, dtypes, tile, library, ..."""
    launch: tuple[str | None, str | None] | None = None
    """The runtime calls, where they differ."""
    inside: float = 0
    """Of an op: how many ops a step ran inside it, before or (of a new one) after."""
    inside_after: float = 0
    same_kernels: int = 0
    """Of an op that took another's place: how many kernels and copies are the same in both."""
    moved: bool = False
    """It is launched from another place."""

    @property
    def time_ns(self) -> float:
        """What it adds to the device time of a step."""
        return (self.time_after_ns or 0) - (self.time_before_ns or 0)

    def to_json(self) -> dict[str, Any]:
        """The keys of ``structure[]``."""
        return {
            "change": self.change,
            "kind": self.kind,
            "name": self.name,
            "name_after": self.name_after,
            "path": list(self.path),
            "path_after": list(self.path_after) if self.path_after is not None else None,
            "before": self.before,
            "after": self.after,
            "time_before_ns": self.time_before_ns,
            "time_after_ns": self.time_after_ns,
            "bytes": self.bytes,
            "facts": {name: list(pair) for name, pair in self.facts.items()},
            "launch": list(self.launch) if self.launch is not None else None,
            "inside": self.inside,
            "inside_after": self.inside_after,
        }
