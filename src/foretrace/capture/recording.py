"""A recording: a folder of traces, one a variant, and ``attention.json`` beside them. Needs no torch.

``attention.json`` holds what a trace cannot: the device and the software above it, the shape, and for each variant
the wall time without the profiler, the memory, the error, and what a fully masked row gives. A folder without it is
a recording too, with those left unknown.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from foretrace._version import __version__
from foretrace.errors import MissingDataError, TraceFormatError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foretrace.capture.shapes import AttentionShape

__all__ = [
    "MEASUREMENTS",
    "DeviceInfo",
    "MaskedRow",
    "Recording",
    "ShapeInfo",
    "VariantRecord",
    "WallTime",
    "file_name",
    "file_names",
    "prepare_folder",
    "read_recording",
    "recording_folder",
    "write_recording",
]

MEASUREMENTS: Final = "attention.json"
MaskedRow = Literal["nan", "zero", "unmasked", "mean", "other"]
"""``unmasked``: as if the row's mask were not there; ``mean``: the average of all values."""
_TRACE_SUFFIXES: Final = (".json.gz", ".json", ".gz")
_SHIPPED: Final = Path(__file__).parents[1] / "recordings"


class DeviceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The device a recording was made on."""

    type: str
    """``cpu``, ``cuda`` or ``xpu``, as torch says it."""
    name: str
    compute_capability: str | None = None
    sms: int | None = None
    memory_bytes: int | None = None
    threads: int | None = None
    """Threads torch used, on a CPU."""
    driver: str | None = None
    torch: str | None = None
    runtime: str | None = None
    """``CUDA 13.0`` or ``HIP 6.4``."""
    cudnn: str | None = None
    python: str | None = None


class ShapeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """The shape, as ``capture.shapes.AttentionShape`` means it."""

    batch: int
    heads: int
    kv_heads: int
    length: int
    kv_length: int
    head_dim: int
    dtype: str
    causal: bool
    mask: str
    training: bool


class WallTime(msgspec.Struct, frozen=True, kw_only=True):
    """Wall time of one call over many, without the profiler, in nanoseconds."""

    median: int
    min: int
    max: int
    spread: int
    """Between the quartiles."""
    runs: int


class VariantRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One variant: its trace, and what was measured beside it; or why it did not run."""

    variant: str
    status: Literal["ok", "unsupported"] = "ok"
    reason: str | None = None
    """Why it cannot run; of one that ran, what is wrong with its result."""
    trace: str | None = None
    """Name of its trace in the folder."""
    wall_time_ns: WallTime | None = None
    peak_memory_bytes: int | None = None
    """The most that one call allocated beyond what was allocated before it."""
    max_abs_error: float | None = None
    """Of the output, against float64."""
    masked_row: MaskedRow | None = None
    """What a row without any key gives under an additive mask of -inf (a boolean one, where it takes only that)."""
    masked_row_boolean: MaskedRow | None = None
    """The same under a boolean mask."""


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """What ``attention.json`` holds; of a bare folder, only the variants' names and traces."""

    schema: int = 1
    foretrace: str = __version__
    device: DeviceInfo | None = None
    shape: ShapeInfo | None = None
    error_heads: int | None = None
    """(batch, head) pairs that the error was computed over ..."""
    error_of_heads: int | None = None
    """... of all there are."""
    variants: tuple[VariantRecord, ...] = ()


def shape_info(shape: AttentionShape) -> ShapeInfo:
    """The shape as it is written down."""
    return msgspec.convert(shape, ShapeInfo, from_attributes=True)


def file_name(variant: str) -> str:
    """The name of a variant's trace, in letters that every file system takes."""
    return (re.sub(r"[^A-Za-z0-9._-]+", "-", variant).strip(".-") or "variant") + ".json.gz"


def file_names(variants: Iterable[str]) -> dict[str, str]:
    """Variant -> the name of its trace in a recording; no two are alike."""
    names: dict[str, str] = {}
    for variant in variants:
        name, number = file_name(variant), 1
        while name in names.values():
            number += 1
            name = file_name(f"{file_name(variant).removesuffix('.json.gz')}-{number}")
        names[variant] = name
    return names


def recording_folder(name: str, *, training: bool = False) -> Path:
    """The folder of a recording: one shipped with the package (``h200``), or a folder of traces.

    Raises ``UsageError`` when there is neither.
    """
    shipped = shipped_recordings()
    if training and f"{name}-training" in shipped:
        name = f"{name}-training"
    if name in shipped:
        return _SHIPPED / name
    folder = Path(name)
    if folder.is_dir():
        return folder
    if folder.exists():
        raise UsageError(f"{name} is a file; --replay takes a folder of traces, and `foretrace read` one trace.")
    known = f" or one of the recordings {', '.join(shipped)}" if shipped else ""
    raise UsageError(f"no folder {name}; give a folder of traces{known}.")


def shipped_recordings() -> list[str]:
    """The names of the recordings in the package."""
    if not _SHIPPED.is_dir():
        return []
    return sorted(folder.name for folder in _SHIPPED.iterdir() if (folder / MEASUREMENTS).is_file())


def read_recording(folder: Path, known: Iterable[str] = ()) -> Recording:
    """Read a folder's ``attention.json``, or list its traces, ``known`` variants first.

    Raises ``TraceFormatError`` when that file is damaged, ``MissingDataError`` when the folder holds no traces.
    """
    path = folder / MEASUREMENTS
    if path.is_file():
        recording = _read(path)
        for record in recording.variants:
            if record.trace is not None and Path(record.trace).name != record.trace:
                raise TraceFormatError(f"{path} names a trace outside its folder ({record.trace!r}); correct it.")
        return recording
    stems: dict[str, str] = {}
    for entry in sorted(folder.iterdir()):
        suffix = next((suffix for suffix in _TRACE_SUFFIXES if entry.name.endswith(suffix)), None)
        if suffix is not None and entry.is_file() and entry.name != suffix:
            stems.setdefault(entry.name.removesuffix(suffix), entry.name)
    if not stems:
        raise MissingDataError(f"{folder} holds no traces; --replay takes a folder of .json or .json.gz traces.")
    ranks = {name: rank for rank, name in enumerate(known)}
    ordered = sorted(stems, key=lambda stem: (ranks.get(stem, len(ranks)), stem))
    return Recording(variants=tuple(VariantRecord(variant=stem, trace=stems[stem]) for stem in ordered))


def _read(path: Path) -> Recording:
    try:
        recording = msgspec.json.decode(path.read_bytes(), type=Recording)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
        raise TraceFormatError(
            f"{path} is damaged ({error}); record again, or remove it to read the bare traces."
        ) from error
    if recording.schema != 1:
        raise TraceFormatError(f"{path} has schema {recording.schema}; this foretrace reads 1, so use a newer one.")
    if not recording.variants:
        raise MissingDataError(f"{path} lists no variants; record again.")
    return recording


def write_recording(folder: Path, recording: Recording) -> None:
    """Write ``attention.json``."""
    text = msgspec.json.format(msgspec.json.encode(recording), indent=1)
    (folder / MEASUREMENTS).write_bytes(text + b"\n")


def prepare_folder(folder: Path, *, force: bool) -> None:
    """Make the folder, and refuse one that holds anything unless ``force`` says that it may be overwritten.

    Raises ``UsageError``.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; give -o a folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        full = any(folder.iterdir())
    except OSError as error:
        raise UsageError(f"{folder} cannot be used as the output folder: {error.strerror}.") from error
    if full and not force:
        raise UsageError(f"{folder} is not empty; give another -o, or --force to overwrite what is in it.")
