"""From a path to a linked trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from foretrace.errors import TraceFormatError
from foretrace.trace.link import link
from foretrace.trace.read import read_raw
from foretrace.trace.recognize import what_is_it

if TYPE_CHECKING:
    from foretrace.trace.model import Trace

__all__ = ["load_trace"]


def load_trace(path: str | Path, *, step: str | None = None) -> Trace:
    """Read and link a PyTorch profiler trace.

    Args:
        path: the trace, plain or compressed; told by its content.
        step: make every annotation of this name a step, instead of ``ProfilerStep#N``.

    Raises:
        TraceFormatError: there is no such file, or it is no PyTorch profiler trace.
    """
    raw = read_raw(path)
    what = what_is_it(raw)
    if what:
        raise TraceFormatError(f"{path}: {what}.")
    place = Path(path)
    size = place.stat().st_size if place.is_file() else 0
    return link(raw, path=str(path), file=place.name, size=size, step=step)
