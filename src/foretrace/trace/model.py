"""A trace: one rank's recording as frozen columns, linked.

Everything else is computed from this. Rows are the file's complete events; ops, activities and steps are tables of
their own that point into the rows. ``-1`` stands for "none" in a column of positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.trace.kineto import DEVICE_CATEGORIES, Category
from foretrace.trace.nesting import Forest, forest_of_chosen, nesting_order
from foretrace.trace.raw import MISSING, MISSING32, MISSING_FLOAT
from foretrace.trace.showing import show

if TYPE_CHECKING:
    import numpy.typing as npt

    from foretrace.trace.preorder import Preorder
    from foretrace.trace.raw import F64, I32, I64, U8, FlowColumns, MemoryColumns, RawTrace, Repair

__all__ = [
    "MISSING",
    "MISSING32",
    "MISSING_FLOAT",
    "NONE",
    "Activities",
    "Device",
    "Ops",
    "Rows",
    "Steps",
    "TimeFault",
    "Trace",
]

NONE: Final = -1


class TimeFault:
    """Why a row's times are not believed."""

    NONE: Final = 0
    ZERO: Final = 1
    """The file gives no time, or zero for start and duration."""
    ABSURD: Final = 2
    """Far outside the recording, longer than all of it, or negative."""


@dataclass(frozen=True)
class Device:
    """One device of the file's ``deviceProperties``."""

    id: int
    name: str
    compute_capability: str | None
    sms: int | None
    properties: dict[str, Any]
    """All the file says of it (``regsPerMultiprocessor``, ``sharedMemPerMultiprocessor``, ...)."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Complete events, in file order. Times are nanoseconds from the trace's origin."""

    index: I64
    """Position in the file's event list."""
    category: U8
    name: I32
    thread: I32
    ts: I64
    """Start; 0 where ``fault`` says the time is not believed."""
    dur: I64
    """Duration; 0 where ``fault`` says the time is not believed, or the file gives none."""
    correlation: I64
    external_id: I64
    args_start: I64
    args_length: I32
    fault: U8
    """A ``TimeFault``."""

    @cached_property
    def end(self) -> I64:
        """End of each row, exclusive."""
        return self.ts + self.dur

    @cached_property
    def order(self) -> I64:
        """All rows by thread, start, longest first, file order: sorted once for all forests."""
        return nesting_order(self.thread, self.ts, self.end)

    def forest(self, chosen: I64) -> Forest:
        """The nesting of some rows (ascending), told by their positions in ``chosen``."""
        return forest_of_chosen(self.order, self.thread, self.ts, self.end, chosen)

    def __len__(self) -> int:
        return len(self.ts)


@dataclass(frozen=True, eq=False)
class Activities:
    """Device activity: kernels, memcpys, memsets."""

    row: I32
    category: U8
    device: I64
    stream: I64
    context: I64
    registers: I32
    shared_memory: I32
    grid: npt.NDArray[np.int64]
    """Blocks in x, y, z; shape [n, 3]."""
    block: npt.NDArray[np.int32]
    """Threads of a block in x, y, z; shape [n, 3]."""
    bytes: I64
    occupancy_pct: I32
    blocks_per_sm: F64
    warps_per_sm: F64
    graph_node: I64
    ts: I64
    dur: I64
    timed: npt.NDArray[np.bool_]
    """Its times are believed."""
    launch: I64
    """Row of the runtime call that launched it; -1 is unlinked."""
    owner: I64
    """Position in ``ops`` of the innermost op around the launch, or -1."""
    outer: I64
    """Row of the innermost annotation or Python frame around the launch, where no op is; else -1."""
    step: I64
    """Position in ``steps``, or -1."""
    graph: npt.NDArray[np.bool_]
    """Launched by a graph replay."""

    @cached_property
    def end(self) -> I64:
        """End of each activity, exclusive."""
        return self.ts + self.dur

    @cached_property
    def streams(self) -> list[I64]:
        """The activities of each (device, stream) whose times are believed, by start."""
        timed = np.flatnonzero(self.timed)
        if not timed.size:
            return []
        order = timed[np.argsort(self.ts[timed], kind="stable")]
        for column in (self.stream, self.device):
            order = order[np.argsort(column[order], kind="stable")]
        change = (np.diff(self.stream[order]) != 0) | (np.diff(self.device[order]) != 0)
        return np.split(order, np.flatnonzero(change) + 1)

    @cached_property
    def linked(self) -> npt.NDArray[np.bool_]:
        """A recorded launch is known."""
        return self.launch >= 0

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, eq=False)
class Ops:
    """Ops (``cpu_op``), without the ranges that are steps."""

    row: I32
    sequence: I64
    forward_thread: I64
    dims: I32
    types: I32
    strides: I32
    concrete: I32
    parent: I64
    """Position of the op around this one's start, on the same thread, or -1."""
    forward: I64
    """For a backward op, the position of its forward op, or -1."""

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps in time order."""

    row: I64
    ts: I64
    end: I64

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, eq=False)
class Trace:
    """One rank's recording."""

    file: str
    """The file's name, without its folder."""
    path: str
    """Where it was read from."""
    bytes: int
    """Size of the file as it lies on disk."""
    raw: RawTrace
    rows: Rows
    activities: Activities
    ops: Ops
    op_nesting: Preorder
    """The nesting of ``ops``, told by their positions there; those whose times are not believed come first."""
    steps: Steps
    devices: tuple[Device, ...]
    rank: int | None
    world_size: int | None
    origin_ns: int
    """The file's time that is 0 here."""
    launches: I64
    """Rows of the launches, in file order."""
    external_ids: str
    """``agrees``: External ids lead to the same op as time does; ``correlation``: they repeat the correlation;
    ``disagrees``; ``absent``."""
    step_name: str | None
    """The annotation that was asked to be a step, if any."""

    @property
    def strings(self) -> list[str]:
        """The text that columns of text point into."""
        return self.raw.strings

    @property
    def events(self) -> int:
        """Entries of the file's event list."""
        return self.raw.events

    @property
    def flows(self) -> FlowColumns:
        """Forward-to-backward flows."""
        return self.raw.flows

    @property
    def memory(self) -> MemoryColumns:
        """Allocator records; times as in the file."""
        return self.raw.memory

    @property
    def repairs(self) -> list[Repair]:
        """What was read past."""
        return self.raw.repairs

    def name(self, row: int) -> str:
        """The name of a row."""
        return self.raw.strings[int(self.rows.name[row])]

    def thread(self, row: int) -> tuple[str, str]:
        """(pid, tid) of a row."""
        return self.raw.threads[int(self.rows.thread[row])]

    def thread_label(self, row: int) -> str:
        """The thread's name where the file gives one, else ``thread TID``."""
        pid, tid = self.thread(row)
        return self.raw.labels.get(("thread_name", pid, tid), f"thread {tid}").strip()

    @cached_property
    def step_names(self) -> list[str]:
        """The steps' names, in time order."""
        return [self.name(int(row)) for row in self.steps.row]

    def rows_of(self, *categories: Category) -> I64:
        """The rows of some categories, in file order."""
        if categories not in self._found:
            self._found[categories] = np.flatnonzero(self._is_any(*categories))
        return self._found[categories]

    @cached_property
    def _found(self) -> dict[tuple[Category, ...], I64]:
        """The rows of the categories that were asked for: rules ask for one kind after the other."""
        return {}

    def _is_any(self, *categories: Category) -> npt.NDArray[np.bool_]:
        """Which rows have one of these categories."""
        chosen: npt.NDArray[np.bool_] = self.rows.category == categories[0]
        for category in categories[1:]:
            chosen |= self.rows.category == category
        return chosen

    @cached_property
    def _counts(self) -> list[int]:
        """How many rows each category has."""
        counts: list[int] = np.bincount(self.rows.category, minlength=len(Category)).tolist()
        return counts

    def op_path(self, op: int) -> list[int]:
        """The ops around an op, outermost first, itself last (positions in ``ops``)."""
        path: list[int] = []
        while op >= 0:
            path.append(int(op))
            op = int(self.ops.parent[op])
        return path[::-1]

    def op_name(self, op: int) -> str:
        """The name of an op."""
        return self.name(int(self.ops.row[op]))

    def device(self, number: int) -> Device | None:
        """The device with this id, if the file describes it."""
        return next((device for device in self.devices if device.id == number), None)

    @property
    def has_device_activity(self) -> bool:
        """Any kernel, memcpy or memset."""
        return len(self.activities) > 0

    @property
    def has_steps(self) -> bool:
        """Any step."""
        return len(self.steps) > 0

    @cached_property
    def has_shapes(self) -> bool:
        """Any op with recorded input shapes."""
        return bool((self.ops.dims != MISSING32).any())

    @cached_property
    def has_stacks(self) -> bool:
        """Any Python frame."""
        return bool((self.rows.category == Category.PYTHON).any())

    @cached_property
    def host_rows(self) -> I64:
        """Ops, annotations and runtime calls whose times are believed, steps included, in file order."""
        host = self._is_any(Category.CPU_OP, Category.ANNOTATION, Category.RUNTIME, Category.DRIVER)
        return np.flatnonzero(host & (self.rows.fault == TimeFault.NONE))

    @cached_property
    def host_forest(self) -> Forest:
        """The nesting of ``host_rows``, told by their positions there."""
        return self.rows.forest(self.host_rows)

    @cached_property
    def host_order(self) -> I64:
        """The rows of the host in nesting order."""
        return self.host_rows[self.host_forest.original]

    @cached_property
    def host_place(self) -> I64:
        """For each row, its position in ``host_order``, or -1."""
        result = np.full(len(self.rows), NONE, np.int64)
        result[self.host_order] = np.arange(len(self.host_order))
        return result

    @cached_property
    def span_ns(self) -> int:
        """From the earliest start to the latest end of the rows whose times are believed."""
        rows = self.rows
        good = rows.fault == TimeFault.NONE
        if not good.any():
            return 0
        # Times that are not believed are 0, which all others come after.
        return int(rows.end.max() - (rows.ts.min() if good.all() else rows.ts[good].min()))

    def count(self, *categories: Category) -> int:
        """How many rows have one of these categories."""
        return sum(self._counts[category] for category in categories)

    @property
    def kernels(self) -> int:
        """Kernels in the file."""
        return self.count(Category.KERNEL)

    def __repr__(self) -> str:
        kinds = [self.count(category) for category in DEVICE_CATEGORIES]
        return (
            f"<Trace {self.file}: {self.events} events, {len(self.steps)} steps, {kinds[0]} kernels, "
            f"{kinds[1]} memcpys, {kinds[2]} memsets>"
        )

    def _repr_html_(self) -> str:
        return show(self)
