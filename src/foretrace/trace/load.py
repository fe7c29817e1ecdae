"""From a path to a linked trace."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

from foretrace.errors import TraceFormatError
from foretrace.trace.link import link
from foretrace.trace.parse import parse_events

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
    place = Path(path)
    try:
        data = place.read_bytes()
    except OSError as error:
        raise TraceFormatError(f"{place}: {error.strerror}.") from error
    if not data:
        raise TraceFormatError(
            f"{place}: an empty file (0 bytes); the profiler did not finish writing it, record again."
        )
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    raw = parse_events(data, str(place))
    return link(raw, path=str(place), file=place.name, size=place.stat().st_size, step=step)
