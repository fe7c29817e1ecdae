"""What a file is that is no PyTorch profiler trace, in one clause for a message.

People hand over whatever lies beside the trace: the execution trace, the memory snapshot, a report of another
profiler, the web page instead of the file. Naming it saves them the search.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from foretrace.trace.kineto import Category

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foretrace.trace.raw import RawTrace

__all__ = ["foreign_content", "foreign_keys", "what_is_it"]

_EXPORT: Final = "export one with torch.profiler's export_chrome_trace"

# First bytes of files that are no JSON.
_MAGIC: Final[tuple[tuple[bytes, str], ...]] = (
    (
        b"SQLite format 3\0",
        "this is an SQLite database, as Nsight Systems exports it; give PyTorch's own trace instead",
    ),
    (b"NVR\0", "this is an Nsight Compute report; give PyTorch's own trace instead"),
    (b"\x10\x00\x04FxT\x16\x00", "this is a Fuchsia trace; give PyTorch's own trace instead"),
    (b"PERFILE2", "this is a recording of Linux perf; give PyTorch's own trace instead"),
    (b"version https://git-lfs", "this is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`"),
    (b"\x7fELF", "this is a program or library (ELF)"),
    (b"%PDF", "this is a PDF document"),
    (b"\x89PNG", "this is a PNG image"),
    (b"\x89HDF", "this is an HDF5 file"),
    (b"PAR1", "this is a Parquet file"),
    (b"\x93NUMPY", "this is a numpy array"),
    (b"<?xml", "this is an XML file"),
)
_SUFFIXES: Final = {
    ".nsys-rep": "this is an Nsight Systems report; give PyTorch's own trace instead",
    ".qdrep": "this is an Nsight Systems report; give PyTorch's own trace instead",
    ".qdstrm": "this is an Nsight Systems recording; give PyTorch's own trace instead",
    ".ncu-rep": "this is an Nsight Compute report; give PyTorch's own trace instead",
}
_PICKLE: Final = re.compile(rb"\x80[\x02-\x05](?:[\x95}\](Xc]|q\x00)", re.DOTALL)
_HTML: Final = re.compile(rb"\s*<(?:!doctype|html|head)", re.IGNORECASE)
_TABLE: Final = re.compile(rb"\s*-{6,}[ -]*\n?.*(?:Self CPU|CPU total|# of Calls)", re.DOTALL)
_STACKS: Final = re.compile(rb"[^\n;]+(?:;[^\n;]+)+ \d+\n")
_XPLANE: Final = re.compile(rb"\n.{1,5}(?:\x08.)?\x12.{0,4}/(?:host|device|task)", re.DOTALL)
_WORDS: Final = re.compile(rb"[\x09\x0a\x0d\x20-\x7e]+")
_VALUE: Final = re.compile(rb'null|true|false|-?[0-9]++(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?|"[^"\\\x00-\x1f]*+"')

# Top-level keys that tell a JSON file apart: all of a set must be there.
_KEYS: Final[tuple[tuple[frozenset[str], str], ...]] = (
    (
        frozenset({"schema", "nodes"}),
        f"this is an execution trace (ExecutionTraceObserver), which holds ops and inputs but no times; {_EXPORT}",
    ),
    (
        frozenset({"segments", "device_traces"}),
        "this is a CUDA memory snapshot; view it at pytorch.org/memory_viz, and for a trace " + _EXPORT,
    ),
    (frozenset({"foretrace", "schema"}), "this is a result that foretrace wrote; give the trace it was made from"),
    (frozenset({"$schema", "profiles", "shared"}), "this is a speedscope profile; " + _EXPORT),
    (frozenset({"meta", "threads", "libs"}), "this is a Firefox Profiler recording; " + _EXPORT),
    (frozenset({"startTime", "endTime", "samples", "nodes"}), "this is a JavaScript CPU profile; " + _EXPORT),
    (frozenset({"root_frame", "sample_count"}), "this is a pyinstrument session; " + _EXPORT),
    (frozenset({"resourceSpans"}), "this is an OpenTelemetry export; " + _EXPORT),
    (frozenset({"cells", "nbformat"}), "this is a Jupyter notebook; " + _EXPORT),
    (frozenset({"metadata", "weight_map"}), "this is the index of a model's weights; " + _EXPORT),
    (frozenset({"ph", "name"}), "this is a single event, or one event a line, not a list of them; " + _EXPORT),
)

_OUR_HEADER: Final = frozenset({"schemaVersion", "deviceProperties", "baseTimeNanoseconds", "trace_id"})
_CHROME_PHASES: Final = {
    "B": "begin",
    "E": "end",
    "X": "complete",
    "b": "async begin",
    "e": "async end",
    "C": "counter",
}


def foreign_content(head: bytes, name: str = "") -> str | None:
    """What a file that is no JSON is, by its first few kilobytes and its name; None where that is unknown."""
    for magic, what in _MAGIC:
        if head.startswith(magic):
            return what
    for suffix, what in _SUFFIXES.items():
        if name.lower().endswith(suffix):
            return what
    if _PICKLE.match(head):
        return (
            "this is a Python pickle, such as a CUDA memory snapshot (view it at pytorch.org/memory_viz) or a"
            " checkpoint; for a trace " + _EXPORT
        )
    if _HTML.match(head):
        return "this is a web page, not the file it shows; download the file itself"
    if _TABLE.match(head):
        return "this is a table that the profiler printed; " + _EXPORT
    if _STACKS.match(head):
        return "these are collapsed stacks (export_stacks); " + _EXPORT
    if _XPLANE.match(head[:64]):
        return "this is an XPlane profile of JAX or TensorFlow; give a trace of PyTorch's profiler"
    if _is_perfetto(head):
        return "this is a Perfetto trace in its binary format (protobuf); give the JSON that PyTorch's profiler wrote"
    if head[:1] in b"<" and head:
        return "this is a markup file"
    if _VALUE.fullmatch(head.strip()):
        return "this is a single JSON value, without a list of events (traceEvents)"
    return "this is text that is no JSON" if _WORDS.fullmatch(head[:512]) else None


def _is_perfetto(head: bytes) -> bool:
    """A Perfetto trace is a row of packets: field 1, a length, and fields that packets have."""
    at = 0
    for _ in range(3):
        if head[at : at + 1] != b"\n":
            return False
        size, shift, at = 0, 0, at + 1
        while at < len(head) and shift < 35:  # noqa: PLR2004 - five groups of seven bits
            byte = head[at]
            size |= (byte & 0x7F) << shift
            shift += 7
            at += 1
            if byte < 0x80:  # noqa: PLR2004 - the last group
                break
        if at >= len(head) or size == 0 or head[at] & 7 not in (0, 2):
            return False
        at += size
        if at >= len(head):
            return at > 2  # noqa: PLR2004 - one packet that goes on beyond what is known
    return True


def foreign_keys(header: Mapping[str, Any], more: str | None = None) -> str | None:
    """What a JSON file without an event list is, by its top-level keys; None where that is unknown.

    With ``more``, by a key that is just being read: only what it completes is looked for.
    """
    for keys, what in _KEYS:
        if (more is None or more in keys) and all(key in header or key == more for key in keys):
            return what
    return None


def what_is_it(raw: RawTrace) -> str | None:
    """What an event list is that PyTorch did not write; None where PyTorch did, or where it is empty.

    A list counts as PyTorch's by any of its categories, its flows or memory records, or its header; so does a
    document of nothing but metadata, which a profiler of an idle process writes.
    """
    categories = raw.rows.category
    if raw.events == 0 or bool((categories != Category.OTHER).any()):
        return None
    if not raw.phases:
        return "this is a JSON list of values that are no events, no PyTorch profiler trace"
    if len(raw.flows.ts) or len(raw.memory.ts) or _OUR_HEADER & raw.header.keys():
        return None
    if not raw.is_list and set(raw.phases) == {"M"}:
        return None
    return f"this is {_kind(raw)}, no PyTorch profiler trace"


def _kind(raw: RawTrace) -> str:
    header, names = raw.header, set(raw.strings[:10_000])
    processes = {text for (kind, _, _), text in raw.labels.items() if kind == "process_name"}
    if "viztracer_metadata" in header:
        return "a VizTracer recording of Python functions"
    if any("HIP" in text or text.startswith("GPU") for text in processes) and "otherData" in header:
        return "a rocprof trace of HIP calls and kernels without ops"
    if any(text.startswith(("/device:", "/host:")) for text in processes):
        return "a profile of JAX or TensorFlow"
    if "ExecuteCompiler" in names or any(text.startswith("Total Source") for text in names):
        return "a clang -ftime-trace"
    if any(text in ("Browser", "Renderer", "GPU Process") for text in processes):
        return "a recording of the Chrome browser"
    phases = sorted(raw.phases.items(), key=lambda item: -item[1])[:3]
    counted = ", ".join(f"{count:,} {_CHROME_PHASES.get(phase, ascii(phase))}" for phase, count in phases)
    return f"a Chrome trace of another program (its events: {counted}; none has a category of PyTorch's)"
