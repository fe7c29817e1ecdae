"""What a reader hands over: the event list as plain columns, before anything is linked.

Two readers fill these, the C scanner and the msgspec one, and their columns are equal to the last bit. Text is
interned: a column of text holds positions in ``strings``. A value the file does not give is the dtype's minimum
(``MISSING``, ``MISSING32``, ``MISSING_FLOAT``), never a value a trace can hold.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    I32 = npt.NDArray[np.int32]
    I64 = npt.NDArray[np.int64]
    U8 = npt.NDArray[np.uint8]
    F64 = npt.NDArray[np.float64]

__all__ = [
    "MISSING",
    "MISSING32",
    "MISSING_FLOAT",
    "ActivityColumns",
    "FlowColumns",
    "MemoryColumns",
    "OpColumns",
    "RawTrace",
    "Repair",
    "RowColumns",
]

MISSING: Final = -(2**63)
MISSING32: Final = -(2**31)
MISSING_FLOAT: Final = -sys.float_info.max


@dataclass(frozen=True, eq=False)
class RowColumns:
    """One row for each complete event (``"ph": "X"``), in file order."""

    index: I64
    """Position of the event in the file's event list, from 0; evidence names events by it."""
    category: U8
    """A ``Category``."""
    name: I32
    """Name, as a position in ``strings``."""
    thread: I32
    """(pid, tid), as a position in ``threads``."""
    ts: I64
    """Start in nanoseconds, as the file has it (absolute), exact from the decimal text."""
    dur: I64
    """Duration in nanoseconds."""
    correlation: I64
    """``correlation``: ties device activity to its runtime call; 0 is no correlation."""
    external_id: I64
    """``External id`` (or ``external id``)."""
    args_start: I64
    """Byte at which the event's ``args`` object begins in the decompressed text."""
    args_length: I32
    """Bytes of that object, braces included."""


@dataclass(frozen=True, eq=False)
class ActivityColumns:
    """One row for each kernel, memcpy and memset: what only device activity has."""

    row: I32
    """Position in the row columns."""
    device: I64
    stream: I64
    context: I64
    registers: I32
    """Registers per thread."""
    shared_memory: I32
    """Bytes of static and dynamic shared memory per block."""
    grid_x: I64
    grid_y: I64
    grid_z: I64
    block_x: I32
    block_y: I32
    block_z: I32
    bytes: I64
    """Bytes copied or set."""
    occupancy_pct: I32
    """The file's own ``est. achieved occupancy %``."""
    blocks_per_sm: F64
    """The file's own ``blocks per SM``: the grid over the number of SMs, not the resident blocks."""
    warps_per_sm: F64
    graph_node: I64
    """``graph node id``: the node of a captured graph, the same in each replay."""


@dataclass(frozen=True, eq=False)
class OpColumns:
    """One row for each op: what only ops have. Lists are interned as their raw JSON text."""

    row: I32
    """Position in the row columns."""
    sequence: I64
    """``Sequence number``: ties a backward op to its forward op."""
    forward_thread: I64
    """``Fwd thread id``: non-zero on backward ops."""
    dims: I32
    """``Input Dims`` (older: ``Input dims``)."""
    types: I32
    """``Input type``."""
    strides: I32
    """``Input Strides``."""
    concrete: I32
    """``Concrete Inputs``."""


@dataclass(frozen=True, eq=False)
class FlowColumns:
    """One row for each end of a ``fwdbwd`` flow."""

    id: I64
    thread: I32
    ts: I64
    start: U8
    """1 at the forward end (``"ph": "s"``), 0 at the backward end (``"ph": "f"``)."""


@dataclass(frozen=True, eq=False)
class MemoryColumns:
    """One row for each ``[memory]`` record."""

    ts: I64
    thread: I32
    address: I64
    bytes: I64
    """Bytes allocated (positive) or freed (negative)."""
    total_allocated: I64
    total_reserved: I64
    device_type: I64
    """``c10::DeviceType``: 0 is CPU, 1 is CUDA."""
    device: I64


@dataclass(frozen=True)
class Repair:
    """One kind of damage that was read past."""

    code: str
    count: int
    byte: int
    """Where it was first met, as a byte of the decompressed text."""
    line: int
    """The same as a line, from 1."""
    text: str
    """One sentence about it."""


@dataclass(frozen=True, eq=False)
class RawTrace:
    """A file's event list as columns, and its other top-level keys."""

    rows: RowColumns
    activities: ActivityColumns
    ops: OpColumns
    flows: FlowColumns
    memory: MemoryColumns
    strings: list[str]
    threads: list[tuple[str, str]]
    """(pid, tid) as text, by first appearance."""
    events: int
    """Entries of the event list, metadata and flows included."""
    phases: dict[str, int]
    """Entries by ``ph``."""
    header: dict[str, Any]
    """The top-level keys other than the event list, parsed."""
    labels: dict[tuple[str, str, str], str]
    """Metadata: (``process_name`` | ``process_labels`` | ``thread_name``, pid, tid) -> text."""
    fractions: bool
    """Some time has digits below the microsecond."""
    text_times: bool
    """Times are written as text."""
    is_list: bool
    """The file is a bare list of events, with no other keys."""
    repairs: list[Repair] = field(default_factory=list)
