"""One event as msgspec decodes it, and what its values mean where a file may write them in several ways."""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec

from foretrace.trace.grammar import LONGEST_INTEGER, RAW_DEPTH
from foretrace.trace.kineto import CATEGORIES, DEVICE_CATEGORIES, LEGACY_CPU_PROCESS, Category
from foretrace.trace.raw import MISSING, MISSING32, MISSING_FLOAT

__all__ = [
    "DEVICE",
    "NO_ACTIVITY",
    "NO_ARGS",
    "NO_OP",
    "OP",
    "Entry",
    "Event",
    "activity_row",
    "decode_event",
    "decode_events",
    "decode_text",
    "entry_of",
    "id_text",
    "is_deep",
    "string",
    "whole",
]

_INT32: Final = 2**31 - 1
_INT64: Final = 2**63 - 1
_LABELS: Final = frozenset({"process_name", "process_labels", "thread_name"})

_INTEGER: Final = re.compile(r"[ \t\n\r]*[-+]?[0-9]+[ \t\n\r]*")
_TRIPLE: Final = re.compile(
    r"[ \t\n\r]*\[[ \t\n\r]*([-+]?[0-9]+)[ \t\n\r]*,[ \t\n\r]*([-+]?[0-9]+)[ \t\n\r]*,"
    r"[ \t\n\r]*([-+]?[0-9]+)[ \t\n\r]*\][ \t\n\r]*"
)
_SHORT_LIST: Final = 2 * RAW_DEPTH
_TOO_LONG: Final = 10 ** (LONGEST_INTEGER - 1)


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


decode_events = msgspec.json.Decoder(list[Event]).decode
decode_event = msgspec.json.Decoder(Event).decode
decode_text = msgspec.json.Decoder(str).decode
_activity_args = msgspec.json.Decoder(ActivityArgs).decode
_op_args = msgspec.json.Decoder(OpArgs).decode
_other_args = msgspec.json.Decoder(OtherArgs).decode
_memory_args = msgspec.json.Decoder(MemoryArgs).decode
_label_args = msgspec.json.Decoder(LabelArgs).decode

NO_ACTIVITY: Final = ActivityArgs()
NO_OP: Final = OpArgs()
NO_ARGS: Final = OtherArgs()

# Plain integers are found faster than members of an enumeration.
OP: Final = int(Category.CPU_OP)
OTHER: Final = int(Category.OTHER)
DEVICE: Final = frozenset(map(int, DEVICE_CATEGORIES))
_CATEGORIES: Final = {text: int(category) for text, category in CATEGORIES.items()}
_ARGS_OF: Final = {
    int(category): (
        (_op_args, NO_OP)
        if category == Category.CPU_OP
        else (_activity_args, NO_ACTIVITY)
        if category in DEVICE_CATEGORIES
        else (_other_args, NO_ARGS)
    )
    for category in Category
}

# (phase, category, event, its args as far as they are looked at)
Entry = tuple[str, int, Event, Any]


def whole(value: Any, limit: int = _INT64, missing: int = MISSING) -> int:
    """An id or count that may be written as a number or as text."""
    if type(value) is int:
        return value if -limit <= value <= limit else missing
    if type(value) is float:
        return int(value) if abs(value) <= limit else missing
    if type(value) is str and _INTEGER.fullmatch(value):
        digits = value.strip()
        return whole(int(digits), limit, missing) if len(digits) < LONGEST_INTEGER else _long(digits, limit, missing)
    return missing


def _long(digits: str, limit: int, missing: int) -> int:
    """More digits than ``int`` takes at once: only zeros can stand before what fits."""
    sign = "-" if digits.startswith("-") else ""
    rest = digits.lstrip("+-").lstrip("0") or "0"
    return whole(int(sign + rest), limit, missing) if len(rest) < LONGEST_INTEGER else missing


def whole32(value: Any) -> int:
    return whole(value, _INT32, MISSING32)


def _real(value: Any) -> float:
    if type(value) is float:
        return value + 0.0
    if type(value) is int:
        try:
            return float(value)
        except OverflowError:
            return MISSING_FLOAT
    return MISSING_FLOAT


def _triple(value: Any, limit: int, missing: int) -> tuple[int, int, int]:
    """Grid and block: a list of three values, or the text of a list of three integers."""
    if type(value) is str:
        found = _TRIPLE.fullmatch(value)
        value = list(found.groups()) if found else None
    if type(value) is not list or len(value) != 3 or any(type(item) in (list, dict) for item in value):  # noqa: PLR2004
        return (missing, missing, missing)
    x, y, z = value
    return (whole(x, limit, missing), whole(y, limit, missing), whole(z, limit, missing))


def id_text(value: Any) -> str:
    """A process or thread id as text; a number is cut to a whole one."""
    if type(value) is str:
        return value
    if type(value) is int:
        return str(value) if abs(value) < _TOO_LONG else ""
    if isinstance(value, bool):
        return str(int(value))
    number = whole(value)
    return "" if number == MISSING else str(number)


def string(value: Any) -> str:
    """A string's text; anything else is no text."""
    return value if type(value) is str else ""


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


def activity_row(row: int, args: ActivityArgs) -> tuple[Any, ...]:
    """The columns of a kernel, memcpy or memset."""
    return (
        row,
        whole(args.device),
        whole(args.stream),
        whole(args.context),
        whole32(args.registers),
        whole32(args.shared_memory),
        *_triple(args.grid, _INT64, MISSING),
        *_triple(args.block, _INT32, MISSING32),
        whole(args.bytes),
        whole32(args.occupancy),
        _real(args.blocks_per_sm),
        _real(args.warps_per_sm),
        whole(args.graph_node),
    )


def entry_of(event: Event) -> Entry:
    """An event with what its args hold, as far as anything looks at it.

    Raises:
        msgspec.MsgspecError: a number in the args is one that no double holds.
    """
    phase = event.ph
    if phase == "X":
        cat = event.cat
        if type(cat) is str:
            category = _CATEGORIES.get(cat, OTHER)
        else:
            category = OP if cat is None and event.pid == LEGACY_CPU_PROCESS else OTHER
        decode, none = _ARGS_OF[category]
        raw = event.args
        return ("X", category, event, decode(raw) if bytes(raw)[:1] == b"{" else none)
    if type(phase) is not str:
        return ("", 0, event, None)
    args: Any = None
    if phase in ("s", "f"):
        args = NO_ARGS if event.cat == "fwdbwd" else None
    elif phase in ("i", "I", "M") and bytes(event.args)[:1] == b"{":
        if phase == "M":
            args = _label_args(event.args) if type(event.name) is str and event.name in _LABELS else None
        elif event.name == "[memory]":
            args = _memory_args(event.args)
    return (phase, 0, event, args)
