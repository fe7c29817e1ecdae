"""From a path to a linked trace."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

from foretrace.errors import MissingDataError, TraceFormatError
from foretrace.trace.kineto import Category
from foretrace.trace.read import Reader, read_raw
from foretrace.trace.recognize import what_is_it
from foretrace.trace.source import MAX_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretrace.trace.model import Trace

__all__ = ["load_trace"]

_MOST: Final = 10_000


def load_trace(
    path: str | Path,
    *,
    step: str | None = None,
    strict: bool = False,
    max_size: int = MAX_SIZE,
    reader: Reader = "auto",
    progress: Callable[[int], None] | None = None,
) -> Trace:
    """Read and link a PyTorch profiler trace.

    Args:
        path: the trace, plain or packed in gzip, zstd, zip or tar, told by its content; ``FILE:MEMBER`` names one of
            an archive, ``-`` is standard input.
        step: make every annotation of this name a step, instead of ``ProfilerStep#N``.
        strict: refuse a damaged file; without it, damage is read past and reported in the trust header.
        max_size: most bytes of text to unpack.
        reader: ``scan`` (in C), ``msgspec``, or ``auto``: the first where it was built.
        progress: called now and then with the number of bytes of text read so far.

    Raises:
        TraceFormatError: there is no such file, or it is no PyTorch profiler trace.
        MissingDataError: no annotation has the name that ``step`` asks for.
    """
    # Reading needs no numpy: a program that loads it in another thread has it by the time that linking needs it.
    raw = read_raw(path, strict=strict, max_size=max_size, reader=reader, progress=progress)
    from foretrace.trace.link import link  # noqa: PLC0415 - see above

    foreign = what_is_it(raw)
    if foreign is not None:
        raise TraceFormatError(f"{path}: {foreign}.")
    place = Path(path)
    size = place.stat().st_size if place.is_file() else 0
    file = "standard input" if str(path) == "-" else place.name
    trace = link(raw, path=str(path), file=file, size=size, step=step)
    if step is not None and not trace.has_steps:
        raise MissingDataError(f"{path}: no annotation is called {step!r}{_annotations(trace)}.")
    return trace


def _annotations(trace: Trace) -> str:
    """The commonest annotations, for a message."""
    rows = trace.rows_of(Category.ANNOTATION)
    names = Counter(trace.name(int(row)) for row in rows[:_MOST])
    if not names:
        return "; the file has no annotations"
    return "; there are " + ", ".join(repr(name) for name, _ in names.most_common(5))
