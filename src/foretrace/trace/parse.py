"""The reader that needs no compiler: typed msgspec structs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import numpy as np

from foretrace.errors import TraceFormatError
from foretrace.trace.kineto import CATEGORIES, LEGACY_CPU_PROCESS, Category
from foretrace.trace.raw import (
    MISSING,
    MISSING32,
    MISSING_FLOAT,
    ActivityColumns,
    FlowColumns,
    MemoryColumns,
    OpColumns,
    RawTrace,
    RowColumns,
)
from foretrace.trace.times import has_fraction, nanoseconds

__all__ = ["parse_events"]


class _Event(msgspec.Struct, gc=False):
    ph: Any = None
    cat: Any = None
    name: Any = ""
    pid: Any = ""
    tid: Any = ""
    ts: msgspec.Raw = msgspec.Raw()
    dur: msgspec.Raw = msgspec.Raw()
    id: Any = None
    args: msgspec.Raw = msgspec.Raw()


class _ActivityArgs(msgspec.Struct, gc=False, rename="lower"):
    external: Any = msgspec.field(default=None, name="External id")
    external_old: Any = msgspec.field(default=None, name="external id")
    correlation: Any = None
    device: Any = None
    stream: Any = None
    context: Any = None
    registers: Any = msgspec.field(default=None, name="registers per thread")
    shared_memory: Any = msgspec.field(default=None, name="shared memory")
    grid: Any = None
    block: Any = None
    bytes: Any = None
    occupancy: Any = msgspec.field(default=None, name="est. achieved occupancy %")
    blocks_per_sm: Any = msgspec.field(default=None, name="blocks per SM")
    warps_per_sm: Any = msgspec.field(default=None, name="warps per SM")
    graph_node: Any = msgspec.field(default=None, name="graph node id")


class _OpArgs(msgspec.Struct, gc=False):
    external: Any = msgspec.field(default=None, name="External id")
    external_old: Any = msgspec.field(default=None, name="external id")
    correlation: Any = None
    sequence: Any = msgspec.field(default=None, name="Sequence number")
    forward_thread: Any = msgspec.field(default=None, name="Fwd thread id")
    dims: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Input Dims")
    dims_old: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Input dims")
    types: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Input type")
    strides: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Input Strides")
    concrete: msgspec.Raw = msgspec.field(default=msgspec.Raw(), name="Concrete Inputs")


class _OtherArgs(msgspec.Struct, gc=False):
    external: Any = msgspec.field(default=None, name="External id")
    external_old: Any = msgspec.field(default=None, name="external id")
    correlation: Any = None


class _MemoryArgs(msgspec.Struct, gc=False):
    address: Any = msgspec.field(default=None, name="Addr")
    bytes: Any = msgspec.field(default=None, name="Bytes")
    total_allocated: Any = msgspec.field(default=None, name="Total Allocated")
    total_reserved: Any = msgspec.field(default=None, name="Total Reserved")
    device_type: Any = msgspec.field(default=None, name="Device Type")
    device: Any = msgspec.field(default=None, name="Device Id")


_events = msgspec.json.Decoder(list[_Event])
_activity_args = msgspec.json.Decoder(_ActivityArgs)
_op_args = msgspec.json.Decoder(_OpArgs)
_other_args = msgspec.json.Decoder(_OtherArgs)
_memory_args = msgspec.json.Decoder(_MemoryArgs)
_anything = msgspec.json.Decoder()

_INT32 = 2**31 - 1
_INT64 = 2**63 - 1
_DEVICE = frozenset({Category.KERNEL, Category.MEMCPY, Category.MEMSET})
_LABELS = frozenset({"process_name", "process_labels", "thread_name"})


def _whole(value: Any, limit: int = _INT64, missing: int = MISSING) -> int:
    """An id or count that may be written as a number or as text."""
    if type(value) is int:
        return value if -limit <= value <= limit else missing
    if isinstance(value, float) and value == value and abs(value) <= limit:  # noqa: PLR0124 - not NaN
        return int(value)
    if isinstance(value, str):
        try:
            return _whole(int(value), limit, missing)
        except ValueError:
            return missing
    return missing


def _real(value: Any) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return MISSING_FLOAT


def _triple(value: Any) -> tuple[Any, Any, Any]:
    """Grid and block: a list of three, or its text."""
    if isinstance(value, str):
        try:
            value = _anything.decode(value.encode())
        except msgspec.MsgspecError:
            return (None, None, None)
    if isinstance(value, list) and len(value) == 3:  # noqa: PLR2004 - x, y, z
        return (value[0], value[1], value[2])
    return (None, None, None)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


class _Columns:
    """The columns while they grow."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {}
        self.threads: dict[tuple[str, str], int] = {}
        self.phases: Counter[str] = Counter()
        self.labels: dict[tuple[str, str, str], str] = {}
        self.rows: list[tuple[int, ...]] = []
        self.activities: list[tuple[Any, ...]] = []
        self.ops: list[tuple[int, ...]] = []
        self.flows: list[tuple[int, ...]] = []
        self.memory: list[tuple[int, ...]] = []
        self.events = 0
        self.fractions = False
        self.text_times = False

    def intern(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def intern_raw(self, raw: msgspec.Raw) -> int:
        data = bytes(raw)
        return self.intern(data.decode("utf-8", "replace")) if data else MISSING32

    def thread(self, event: _Event) -> int:
        key = (_text(event.pid), _text(event.tid))
        return self.threads.setdefault(key, len(self.threads))

    def time(self, raw: msgspec.Raw) -> int:
        data = bytes(raw)
        if not data:
            return MISSING
        if data[:1] == b'"':
            self.text_times = True
        if not self.fractions and has_fraction(data):
            self.fractions = True
        return nanoseconds(data)

    def add(self, event: _Event, start: int) -> None:
        index = self.events
        self.events += 1
        phase = _text(event.ph)
        self.phases[phase] += 1
        if phase == "X":
            self.add_row(event, index, start)
        elif phase in ("s", "f"):
            if event.cat == "fwdbwd":
                self.flows.append((_whole(event.id), self.thread(event), self.time(event.ts), phase == "s"))
        elif phase in ("i", "I"):
            if event.name == "[memory]" and event.args:
                self.add_memory(event)
        elif phase == "M" and event.name in _LABELS and event.args:
            value = _anything.decode(event.args)
            if isinstance(value, dict):
                text = value.get("name", value.get("labels"))
                self.labels[(event.name, _text(event.pid), _text(event.tid))] = _text(text)

    def add_row(self, event: _Event, index: int, start: int) -> None:
        category = CATEGORIES.get(event.cat, Category.OTHER) if isinstance(event.cat, str) else Category.OTHER
        if event.cat is None and event.pid == LEGACY_CPU_PROCESS:
            category = Category.CPU_OP
        row = len(self.rows)
        args = bytes(event.args)
        correlation = external = MISSING
        if args[:1] == b"{":
            if category in _DEVICE:
                found = _activity_args.decode(args)
                correlation, external = self.ids(found)
                self.add_activity(row, found)
            elif category == Category.CPU_OP:
                op = _op_args.decode(args)
                correlation, external = self.ids(op)
                dims = op.dims if bytes(op.dims) else op.dims_old
                self.ops.append(
                    (
                        row,
                        _whole(op.sequence),
                        _whole(op.forward_thread),
                        self.intern_raw(dims),
                        self.intern_raw(op.types),
                        self.intern_raw(op.strides),
                        self.intern_raw(op.concrete),
                    )
                )
            else:
                correlation, external = self.ids(_other_args.decode(args))
        elif category in _DEVICE:
            self.add_activity(row, _ActivityArgs())
        elif category == Category.CPU_OP:
            self.ops.append((row, MISSING, MISSING, MISSING32, MISSING32, MISSING32, MISSING32))
        self.rows.append(
            (
                index,
                category,
                self.intern(_text(event.name)),
                self.thread(event),
                self.time(event.ts),
                self.time(event.dur),
                correlation,
                external,
                start,
                len(args),
            )
        )

    @staticmethod
    def ids(args: _ActivityArgs | _OpArgs | _OtherArgs) -> tuple[int, int]:
        external = args.external if args.external is not None else args.external_old
        return _whole(args.correlation), _whole(external)

    def add_activity(self, row: int, args: _ActivityArgs) -> None:
        grid, block = _triple(args.grid), _triple(args.block)
        self.activities.append(
            (
                row,
                _whole(args.device),
                _whole(args.stream),
                _whole(args.context),
                _whole(args.registers, _INT32, MISSING32),
                _whole(args.shared_memory, _INT32, MISSING32),
                *(_whole(size) for size in grid),
                *(_whole(size, _INT32, MISSING32) for size in block),
                _whole(args.bytes),
                _whole(args.occupancy, _INT32, MISSING32),
                _real(args.blocks_per_sm),
                _real(args.warps_per_sm),
                _whole(args.graph_node),
            )
        )

    def add_memory(self, event: _Event) -> None:
        args = _memory_args.decode(event.args)
        self.memory.append(
            (
                self.time(event.ts),
                self.thread(event),
                _whole(args.address),
                _whole(args.bytes),
                _whole(args.total_allocated),
                _whole(args.total_reserved),
                _whole(args.device_type),
                _whole(args.device),
            )
        )


def _column(rows: list[tuple[Any, ...]], at: int, dtype: Any) -> Any:
    return np.fromiter((row[at] for row in rows), dtype=dtype, count=len(rows))


def _columns(kind: Any, rows: list[tuple[Any, ...]]) -> Any:
    """The rows as the column class asks: dtypes are read from its annotations."""
    dtypes = {"I64": np.int64, "I32": np.int32, "U8": np.uint8, "F64": np.float64}
    names = kind.__annotations__
    return kind(**{name: _column(rows, at, dtypes[names[name]]) for at, name in enumerate(names)})


def parse_events(data: bytes | memoryview, name: str = "trace") -> RawTrace:
    """Read a whole trace from its text.

    Raises:
        TraceFormatError: the text is no JSON, or holds no list of events.
    """
    whole = msgspec.json.Decoder(dict[str, msgspec.Raw])
    head = bytes(data[:64]).lstrip()
    columns = _Columns()
    header: dict[str, Any] = {}
    is_list = head[:1] == b"["
    try:
        if is_list:
            events = msgspec.Raw(data)
        else:
            keys = whole.decode(data)
            if "traceEvents" not in keys:
                raise TraceFormatError(f"{name}: a JSON file without a list of events (traceEvents).")
            events = keys.pop("traceEvents")
            header = {key: _anything.decode(value) for key, value in keys.items()}
        for event in _events.decode(events):
            columns.add(event, 0)
    except msgspec.MsgspecError as error:
        raise TraceFormatError(f"{name}: not a JSON trace: {error}.") from error
    return RawTrace(
        rows=_columns(RowColumns, columns.rows),
        activities=_columns(ActivityColumns, columns.activities),
        ops=_columns(OpColumns, columns.ops),
        flows=_columns(FlowColumns, columns.flows),
        memory=_columns(MemoryColumns, columns.memory),
        strings=list(columns.strings),
        threads=list(columns.threads),
        events=columns.events,
        phases=dict(columns.phases),
        header=header,
        labels=columns.labels,
        fractions=columns.fractions,
        text_times=columns.text_times,
        is_list=is_list,
    )
