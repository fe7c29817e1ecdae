"""How every command opens a trace: the same options, a progress bar, a folder with one trace in it."""

from __future__ import annotations

import gc
import os
import re
import sys
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, Final

import click

from foretrace.cli import EXIT_COULD_NOT
from foretrace.errors import UsageError
from foretrace.report.progress import reading_progress
from foretrace.trace.beside import Beside
from foretrace.trace.folder import trace_paths
from foretrace.trace.load import load_trace
from foretrace.trace.source import MAX_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from foretrace.trace.model import Trace

__all__ = ["SizeType", "open_trace", "opening", "opening_options"]

_SWITCH_S: Final = 1e-4
_SHORTENED: Final = (
    b"foretrace: the file became shorter while it was read; read it again when nobody writes it any more.\n"
)
_NUMPY: Final = {"OPENBLAS_NUM_THREADS": "1", "NUMPY_MADVISE_HUGEPAGE": "0"}
"""What numpy reads from the environment when it is imported."""
_SCALES: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_SIZE: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)b?\s*\Z", re.IGNORECASE)


class SizeType(click.ParamType[int]):
    """A size in bytes, as ``500MB`` or ``32 GB`` (decimal units)."""

    name = "size"

    def convert(self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None) -> int:
        """The number of bytes."""
        if isinstance(value, int):
            return value
        found = _SIZE.match(value)
        if found is None:
            self.fail(f"{value!r} is no size; write 500MB or 32GB.")
        return int(float(found[1]) * _SCALES[found[2].lower()])


def opening_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--step``, ``--strict`` and ``--max-size``, which are handed on to ``open_trace``."""

    @wraps(function)
    def briskly(*args: Any, **kwargs: Any) -> Any:
        with _brisk():
            return function(*args, **kwargs)

    command = briskly
    for option in (
        click.option(
            "--max-size",
            type=SizeType(),
            default=MAX_SIZE,
            metavar="SIZE",
            help=f"Unpack at most this much text.  [default: {MAX_SIZE // 10**9}GB]",
        ),
        click.option("--strict", is_flag=True, help="Refuse a damaged file instead of reading past the damage."),
        click.option("--step", metavar="NAME", help="Make every annotation of this name a step."),
    ):
        command = option(command)
    return command


@contextmanager
def _brisk() -> Iterator[None]:
    """What suits a program that reads a trace in two threads and ends: no code of the user's runs meanwhile.

    Tables leave no cycles behind, so that looking for them finds nothing; a thread that comes out of numpy is let go
    on at once; and numpy's linear algebra, which nothing here uses, starts no threads that wait in a loop. Huge pages
    pay where memory is used again and again. Columns are used once or twice, and a virtual machine may have to ask its
    host for each huge page: then a column takes four times as long as with small ones.
    """
    collects, interval = gc.isenabled(), sys.getswitchinterval()
    ours = {name: value for name, value in _NUMPY.items() if name not in os.environ}
    os.environ.update(ours)
    gc.disable()
    sys.setswitchinterval(_SWITCH_S)
    guard = _guard()
    if guard:
        guard(_SHORTENED, EXIT_COULD_NOT)
    try:
        yield
    finally:
        if guard:
            guard(None, 0)
        sys.setswitchinterval(interval)
        if collects:
            gc.enable()
        for name in ours:
            os.environ.pop(name, None)


def _guard() -> Callable[[bytes | None, int], None] | None:
    """Sets what is said should a mapped file become shorter; only mapped files of the scanner's are that large."""
    try:
        from foretrace.trace._scan import guard  # noqa: PLC0415 - absent where there was no compiler
    except ImportError:
        return None
    return guard


def open_trace(path: Path, *, step: str | None = None, strict: bool = False, max_size: int = MAX_SIZE) -> Trace:
    """Read a trace, or the only trace of a folder, with a progress bar where it takes long.

    Raises:
        TraceFormatError: it is no trace, or a folder without one.
        UsageError: a folder with several traces.
    """
    with opening(path, step=step, strict=strict, max_size=max_size) as coming:
        return coming.result()


@contextmanager
def opening(path: Path, **how: Any) -> Iterator[Beside[Trace]]:
    """Open a trace in another thread: its ``result()`` is what ``open_trace`` returns or raises.

    The bar is this thread's, so that it is gone from the terminal however the reading ends.
    """
    path = _only(path)
    with reading_progress(path) as progress:
        yield Beside(partial(load_trace, path, progress=progress, **how))


def _only(path: Path) -> Path:
    """The trace, or the only one of a folder."""
    if not path.is_dir():
        return path
    paths = trace_paths(path)
    if len(paths) > 1:
        names = ", ".join(found.name for found in paths[:3]) + (" ..." if len(paths) > 3 else "")  # noqa: PLR2004
        raise UsageError(f"{path}: a folder with {len(paths)} traces ({names}); name one of them.")
    return paths[0]
