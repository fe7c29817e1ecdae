"""The traces of a folder: what is one, and what was passed over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from foretrace.errors import TraceFormatError
from foretrace.trace.load import load_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from foretrace.trace.model import Trace

__all__ = ["Folder", "load_all", "trace_paths"]

_SUFFIXES: Final = (".json", ".json.gz", ".json.zst", ".trace", ".zip", ".tar", ".tar.gz", ".tgz")


@dataclass(frozen=True)
class Folder:
    """The traces of a folder or archive, by name."""

    traces: list[Trace]
    refused: list[str]
    """One sentence for each file that looked like a trace by its name and is none."""


def trace_paths(folder: Path) -> list[Path]:
    """The files of a folder that may be traces, by their names.

    Raises:
        TraceFormatError: there is none.
    """
    found = sorted(path for path in folder.iterdir() if path.is_file() and path.name.lower().endswith(_SUFFIXES))
    if not found:
        raise TraceFormatError(
            f"{folder}: a folder without traces (no file ends in .json or .json.gz); give a trace, or the folder that "
            "holds them."
        )
    return found


def load_all(place: Path, paths: Sequence[Path], load: Callable[[Path], Trace] = load_trace) -> Folder:
    """Read the traces of a folder or archive.

    Raises:
        TraceFormatError: none of them is a trace.
    """
    traces, refused = [], []
    for path in paths:
        try:
            traces.append(load(path))
        except TraceFormatError as error:
            refused.append(str(error))
    if not traces:
        raise TraceFormatError(f"{place}: none of its {len(refused)} files is a PyTorch trace. The first: {refused[0]}")
    return Folder(traces, refused)
