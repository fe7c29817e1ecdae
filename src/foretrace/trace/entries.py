"""The events of a piece, sorted by what they are, and their args as far as anything looks at them."""

from __future__ import annotations

import re
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
import numpy as np

from foretrace.trace.grammar import RAW_DEPTH
from foretrace.trace.kineto import CATEGORIES, DEVICE_CATEGORIES, LEGACY_CPU_PROCESS, Category
from foretrace.trace.values import real_column, string, strings, triple_columns, whole_column, whole_column32

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from foretrace.trace.raw import F64, I32, I64, U8

__all__ = [
    "Event",
    "Sorted",
    "activity_columns",
    "decode_event",
    "decode_events",
    "decode_text",
    "is_deep",
    "is_object",
    "memory_columns",
]

_LABELS: Final = frozenset({"process_name", "process_labels", "thread_name"})
_SHORT_LIST: Final = 2 * RAW_DEPTH

Args = TypeVar("Args")


class Event(msgspec.Struct, gc=False):
    """An entry of the event list; times and args stay as they are written."""

    ph: Any = None
    cat: Any = None
    name: Any = None
    pid: Any = None
    tid: Any = None
    ts: msgspec.Raw = msgspec.Raw()
    dur: msgspec.Raw = msgspec.Raw()
    id: Any = None
    args: msgspec.Raw = msgspec.Raw()


class ActivityArgs(msgspec.Struct, gc=False):
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


class OpArgs(msgspec.Struct, gc=False):
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


class OtherArgs(msgspec.Struct, gc=False):
    external: Any = msgspec.field(default=None, name="External id")
    external_old: Any = msgspec.field(default=None, name="external id")
    correlation: Any = None


class MemoryArgs(msgspec.Struct, gc=False):
    address: Any = msgspec.field(default=None, name="Addr")
    bytes: Any = msgspec.field(default=None, name="Bytes")
    total_allocated: Any = msgspec.field(default=None, name="Total Allocated")
    total_reserved: Any = msgspec.field(default=None, name="Total Reserved")
    device_type: Any = msgspec.field(default=None, name="Device Type")
    device: Any = msgspec.field(default=None, name="Device Id")


class LabelArgs(msgspec.Struct, gc=False):
    name: Any = msgspec.UNSET
    labels: Any = msgspec.UNSET


def is_object(raw: msgspec.Raw) -> bool:
    """Whether a value is a JSON object."""
    return bytes(raw)[:1] == b"{"


def _decoder(kind: type[Args]) -> Callable[[list[Event]], list[Args]]:
    """Decodes the args of events; those that are no object count as empty.

    The decoder raises msgspec.MsgspecError where a number in the args is one that no double holds.
    """
    one, all_of = msgspec.json.Decoder(kind).decode, msgspec.json.Decoder(list[kind]).decode  # type: ignore[valid-type]
    none = kind()

    def decode(events: list[Event]) -> list[Args]:
        try:
            # One call for all takes less time than a call for each.
            return all_of(b"".join((b"[", b",".join([event.args or b"{}" for event in events]), b"]")))
        except (msgspec.MsgspecError, RecursionError):
            return [one(event.args) if is_object(event.args) else none for event in events]

    return decode


decode_events = msgspec.json.Decoder(list[Event]).decode
decode_event = msgspec.json.Decoder(Event).decode
decode_text = msgspec.json.Decoder(str).decode
_activity_args = _decoder(ActivityArgs)
_op_args = _decoder(OpArgs)
_other_args = _decoder(OtherArgs)
_memory_args = _decoder(MemoryArgs)
_label_args = _decoder(LabelArgs)

_OP: Final = int(Category.CPU_OP)
_OTHER: Final = int(Category.OTHER)
_CATEGORIES: Final = {text: int(category) for text, category in CATEGORIES.items()}
_IS_DEVICE: Final = np.isin(np.arange(len(Category)), DEVICE_CATEGORIES)


def _category(event: Event) -> int:
    if event.cat is None and event.pid == LEGACY_CPU_PROCESS:
        return _OP
    return _CATEGORIES.get(event.cat, _OTHER) if type(event.cat) is str else _OTHER


def _categories(events: list[Event]) -> U8:
    found = [event.cat for event in events]
    if set(map(type, found)) == {str}:
        return np.array(list(map(_CATEGORIES.get, found, repeat(_OTHER))), np.uint8)
    return np.array([_category(event) for event in events], np.uint8)


def activity_columns(args: list[ActivityArgs]) -> list[I64 | I32 | F64]:
    """The columns of kernels, memcpys and memsets, but for their rows."""
    return [
        whole_column([each.device for each in args]),
        whole_column([each.stream for each in args]),
        whole_column([each.context for each in args]),
        whole_column32([each.registers for each in args]),
        whole_column32([each.shared_memory for each in args]),
        *triple_columns([each.grid for each in args]),
        *triple_columns([each.block for each in args], narrow=True),
        whole_column([each.bytes for each in args]),
        whole_column32([each.occupancy for each in args]),
        real_column([each.blocks_per_sm for each in args]),
        real_column([each.warps_per_sm for each in args]),
        whole_column([each.graph_node for each in args]),
    ]


def memory_columns(args: list[MemoryArgs]) -> list[I64]:
    """The columns of memory records, but for their times and threads."""
    return [
        whole_column([each.address for each in args]),
        whole_column([each.bytes for each in args]),
        whole_column([each.total_allocated for each in args]),
        whole_column([each.total_reserved for each in args]),
        whole_column([each.device_type for each in args]),
        whole_column([each.device for each in args]),
    ]


def is_deep(raw: bytes) -> bool:
    """Whether a value nests deeper than what is kept as written."""
    if len(raw) <= _SHORT_LIST or raw.count(b"[") + raw.count(b"{") <= RAW_DEPTH:
        return False
    depth = 0
    for bracket in re.findall(rb'"(?:[^"\\]|\\.)*+"|[\[\]{}]', raw):
        if bracket in (b"[", b"{"):
            depth += 1
            if depth > RAW_DEPTH:
                return True
        elif bracket in (b"]", b"}"):
            depth -= 1
    return False


class Sorted:
    """Events sorted by what they are; the places of each kind ascend.

    Raises:
        msgspec.MsgspecError: a number in the args is one that no double holds.
    """

    def __init__(self, events: list[Event]) -> None:
        self.events = events
        self.phases = strings([event.ph for event in events])
        self.complete = [at for at, phase in enumerate(self.phases) if phase == "X"]
        """The places of the events that become rows."""
        self.rows = [events[at] for at in self.complete]
        self.categories = _categories(self.rows)
        is_op, is_device = self.categories == _OP, _IS_DEVICE[self.categories]
        self.ops, self.op_args = self._args(is_op, _op_args)
        self.activities, self.activity_args = self._args(is_device, _activity_args)
        self.others, self.other_args = self._args(~(is_op | is_device), _other_args)

        rest = [at for at, phase in enumerate(self.phases) if phase != "X"]
        self.flows = [at for at in rest if events[at].cat == "fwdbwd" and self.phases[at] in ("s", "f")]
        named = [at for at in rest if self.phases[at] in ("i", "I", "M") and is_object(events[at].args)]
        self.memory = [at for at in named if events[at].name == "[memory]" and self.phases[at] != "M"]
        self.memory_args = _memory_args([events[at] for at in self.memory])
        self.labels = [events[at] for at in named if self.phases[at] == "M" and string(events[at].name) in _LABELS]
        self.label_args = _label_args(self.labels)

    def _args(
        self, chosen: npt.NDArray[np.bool_], decode: Callable[[list[Event]], list[Args]]
    ) -> tuple[I64, list[Args]]:
        """Which rows are chosen, and their args."""
        places = np.flatnonzero(chosen)
        return places, decode([self.rows[at] for at in places.tolist()])
