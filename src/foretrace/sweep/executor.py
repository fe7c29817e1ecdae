"""What carries out a sweep's cases: local processes or a Ray cluster, behind one small protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.sweep.protocol import Job
    from foretrace.sweep.session import Measured

__all__ = ["CaseEnd", "Executor"]


@dataclass(frozen=True)
class CaseEnd:
    """All rows of a case have been given."""

    case: str


class Executor(Protocol):
    """Measures cases on whatever devices it has."""

    @property
    def device_type(self) -> str:
        """``cuda``, ``xpu`` or ``cpu``: where the cases will run. Raises ``CaptureError`` when nothing can run."""

    def results(self, jobs: Iterator[Job]) -> Iterator[Measured | CaseEnd]:
        """Rows as they come, in any order of cases; jobs are taken when a device is free for them.

        Raises ``CaptureError`` when no device is left that could go on.
        """

    def close(self) -> None:
        """Stop everything."""
