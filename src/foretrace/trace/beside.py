"""A call that runs in a thread of its own, beside the caller's: what the reader and the command line need of threads.

``concurrent.futures`` offers far more, and costs a small read a twentieth of its time to load.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Beside"]

Value = TypeVar("Value")


class Beside(Generic[Value]):
    """A call that has begun in another thread. The thread ends with the process, whatever it still does then."""

    def __init__(self, call: Callable[[], Value]) -> None:
        self._call = call
        self._values: list[Value] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="foretrace-beside", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._values.append(self._call())
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is asked for
            self._error = error

    def wait(self) -> None:
        """Wait for the end of the call, whatever it comes to."""
        self._thread.join()

    def result(self) -> Value:
        """Wait for the call; what it returned, or raise what it raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._values[0]
