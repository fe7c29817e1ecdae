"""A trace under the roof: every op whose work is known, and each step.

An op is judged as a whole, with all it launched: of nested ops whose work is known only the outermost counts, so the
math backend's many kernels are held against the floor of the one attention they compute.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.analysis.dispatch.call import recorded_dtype
from foretrace.analysis.operators import device_times
from foretrace.analysis.roofline.bound import Bound, bound_of, floor_ns
from foretrace.analysis.roofline.catalog import known, op_work
from foretrace.analysis.roofline.inputs import Inputs
from foretrace.analysis.roofline.work import MATRIX, Work
from foretrace.analysis.shapes import op_inputs, shapes_text
from foretrace.analysis.timeline import Spread, timeline
from foretrace.names.decode import decode
from foretrace.names.dtypes import first_cpp_dtype
from foretrace.names.peaks import peaks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foretrace.names.peaks import Peaks
    from foretrace.trace.model import Trace

__all__ = ["OpRoof", "StepRoof", "TraceRoofline", "peaks_json", "trace_roofline"]

# Copies over the bus to the host, whose rate is not the device's.
_HOST_COPY: Final = re.compile(r"(?:Memcpy|memcpy).*(?:HtoD|DtoH|PtoP|Host)")
_NARROW: Final = ("fp16", "bf16")
_OPAQUE: Final = re.compile(r"OpaqueType<(\d+)u?>")


@dataclass(frozen=True)
class OpRoof:
    """All calls of one op with the same inputs."""

    name: str
    shapes: str
    calls: int
    device_time_ns: int
    """Of all calls, with all they launched."""
    bound: Bound
    """Of one call, at the calls' mean time."""

    def to_json(self) -> dict[str, Any]:
        """The keys of ``roofline.ops[]``."""
        head = {"name": self.name, "shapes": self.shapes, "calls": self.calls, "device_time_ns": self.device_time_ns}
        return {**head, **self.bound.to_json()}


@dataclass(frozen=True)
class StepRoof:
    """A step: the floors of its ops, their measured time, and the time of which nothing is known."""

    floor_ns: Spread
    judged_ns: Spread
    """Device time of the ops that have a floor."""
    unknown_ns: Spread
    """Device time of everything else: ops that are not known, shapes that were not recorded, no op at all."""
    flops: Spread
    bytes: Spread
    over_floor: float | None
    """Judged over floor, by their medians."""

    def to_json(self) -> dict[str, Any]:
        """The keys of ``roofline.per_step``."""
        spreads = ("floor_ns", "judged_ns", "unknown_ns", "flops", "bytes")
        return {**{name: getattr(self, name).to_json() for name in spreads}, "over_floor": self.over_floor}


@dataclass(frozen=True)
class TraceRoofline:
    """A trace's ops and steps against the peaks of its device."""

    device: str | None
    peaks: Peaks | None
    ops: list[OpRoof]
    """The most device time first."""
    per_step: StepRoof

    def to_json(self) -> dict[str, Any]:
        """The keys of ``roofline``."""
        return {
            "device": self.device,
            "peaks": None if self.peaks is None else peaks_json(self.peaks),
            "ops": [op.to_json() for op in self.ops],
            "per_step": self.per_step.to_json(),
        }


def peaks_json(peaks: Peaks) -> dict[str, Any]:
    """Peak rates with their source, as plain values."""
    rates = {f"{unit}.{dtype}": rate for (unit, dtype), rate in sorted(peaks.flops.items())}
    return {"device": peaks.device, "bytes_per_s": peaks.bytes_per_s, "flops": rates, "source": peaks.source}


def trace_roofline(trace: Trace, own_peaks: Mapping[str, Mapping[str, Any]] | None = None) -> TraceRoofline:
    """Hold a trace's ops and steps against the peaks of the device that ran most of it.

    Args:
        trace: the trace.
        own_peaks: a user's peak rates, read with ``names.peaks.read_peaks``.
    """
    device = _device_name(trace)
    peaks = None if device is None else peaks_of(device, own_peaks)
    judged = _Judged(trace)
    groups: dict[tuple[str, str, Any], list[int]] = {}
    for members in judged.alike():
        groups.setdefault(_key(trace, members[0], judged.work[members[0]]), []).extend(members)
    rows = []
    for (name, shapes, _), members in groups.items():
        time = int(judged.total[members].sum())
        bound = bound_of(judged.work[members[0]], time / len(members), peaks)
        rows.append(OpRoof(name, shapes, len(members), time, bound))
    rows.sort(key=lambda row: (-row.device_time_ns, row.name, row.shapes))
    return TraceRoofline(device, peaks, rows, _steps(trace, judged, peaks))


def _key(trace: Trace, op: int, work: Work) -> tuple[str, str, Any]:
    spelled = (tuple(sorted(work.flops.items())), work.bytes, work.count)
    return trace.op_name(op), shapes_text(trace, op), spelled


def _device_name(trace: Trace) -> str | None:
    if len(trace.activities):
        busiest = Counter(map(int, trace.activities.device)).most_common(1)[0][0]
        device = trace.device(busiest)
        if device is not None:
            return device.name
    return trace.devices[0].name if trace.devices else None


class _Judged:
    """Which ops are judged, and their work."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.total = device_times(trace)[1]
        self.work: dict[int, Work] = {}
        names = np.array([known(text) for text in trace.strings], bool)
        self._named: list[bool] = names[trace.rows.name[trace.ops.row]].tolist() if names.size else []
        self._parent: list[int] = trace.ops.parent.tolist()
        self._judge: dict[int, int] = {}
        self._kernels = self._by_op()
        self._cache: dict[tuple[tuple[int, ...], frozenset[str]], Work | None] = {}
        for op in map(int, np.flatnonzero(self.total)):
            self.judge(op)

    def _by_op(self) -> dict[int, frozenset[str]]:
        """The kernels that each known op launched, itself or through others."""
        trace, acts = self.trace, self.trace.activities
        owned = acts.owner >= 0
        launched = np.unique(np.stack([acts.owner[owned], trace.rows.name[acts.row[owned]]], axis=1), axis=0)
        found: dict[int, set[str]] = {}
        for owner, name in launched.tolist():
            at = owner
            while at >= 0:
                if self._named[at]:
                    found.setdefault(at, set()).add(trace.strings[name])
                at = self._parent[at]
        return {op: frozenset(names) for op, names in found.items()}

    def judge(self, op: int) -> int:
        """The judged op that holds this one, itself or the outermost around it; -1 where there is none."""
        path = []
        at = op
        while at >= 0 and at not in self._judge:
            path.append(at)
            at = self._parent[at]
        holder = self._judge[at] if at >= 0 else -1
        for inner in reversed(path):
            if holder < 0 and self._known(inner):
                holder = inner
            self._judge[inner] = holder
        return holder

    def alike(self) -> list[list[int]]:
        """The judged ops, those together whose recorded inputs and work are the same."""
        found: dict[tuple[Any, int], list[int]] = {}
        for op, work in self.work.items():
            found.setdefault((self._inputs(op), id(work)), []).append(op)
        return list(found.values())

    def _inputs(self, op: int) -> tuple[int, ...]:
        """An op's name and inputs, as positions of their text."""
        ops = self.trace.ops
        columns = (self.trace.rows.name[ops.row[op]], ops.dims[op], ops.types[op], ops.strides[op], ops.concrete[op])
        return tuple(map(int, columns))

    def _known(self, op: int) -> bool:
        if not self._named[op] or not self.total[op]:
            return False
        kernels = self._kernels.get(op, frozenset())
        key = (self._inputs(op), kernels)
        if key not in self._cache:
            self._cache[key] = self._work(op, kernels)
        work = self._cache[key]
        if work is None:
            return False
        self.work[op] = work
        return True

    def _work(self, op: int, kernels: frozenset[str]) -> Work | None:
        if any(_HOST_COPY.match(name) for name in kernels):
            return None
        given = op_inputs(self.trace, op)
        dims, types = given["dims"], given["types"]
        if dims is None:
            return None
        listed = any(kind in ("TensorList", "GenericList") for kind in types or ())
        dtype = _listed(kernels) if listed else ""
        name = self.trace.op_name(op)

        def work_of(kinds: Sequence[Any] | None) -> Work | None:
            return op_work(name, Inputs.of(dims, kinds, given["strides"], given["concrete"], dtype))

        work = work_of(types)
        ran = _product_dtype(kernels) if work is not None and (MATRIX, "fp32") in work.flops else None
        if work is None or ran is None:
            return work
        if ran in _NARROW and types:
            # Autocast: the op makes narrow copies, or finds those of an earlier call, so that it need read no others.
            return work_of([ran if recorded_dtype(kind) == "fp32" else kind for kind in types])
        flops = {place: number for place, number in work.flops.items() if place != (MATRIX, "fp32")}
        return Work({**flops, (MATRIX, "tf32"): work.flops[MATRIX, "fp32"]}, work.bytes, work.count)


def _listed(kernels: Iterable[str]) -> str:
    """The dtype of a list's tensors, from the kernels that went over it."""
    for name in sorted(kernels):
        opaque = _OPAQUE.search(name)
        if opaque:
            return f"opaque{8 * int(opaque[1])}"
        found = first_cpp_dtype(name)
        if found:
            return found[1]
    return ""


def _product_dtype(kernels: Iterable[str]) -> str | None:
    """What float32 products of these kernels were made of on tensor cores, fp16, bf16 or tf32; None if on none."""
    read = {found.input_dtype for name in kernels if (found := decode(name)).unit == "tensor_core"}
    if not read:
        return None
    return next((dtype for dtype in _NARROW if read == {dtype}), "tf32")


def _steps(trace: Trace, judged: _Judged, peaks: Peaks | None) -> StepRoof:
    line = timeline(trace)
    acts = trace.activities
    number = max(1, len(line.steps))
    floors, known_time, other = np.zeros(number), np.zeros(number, np.int64), np.zeros(number, np.int64)
    flops, size = np.zeros(number, np.int64), np.zeros(number, np.int64)
    seen: set[int] = set()
    bounds = {op: floor_ns(work, peaks)[0] if peaks else None for op, work in judged.work.items()}
    for owner, step, linked, dur in zip(acts.owner, acts.step, acts.linked, acts.dur, strict=True):
        at = int(step) if line.steps else 0
        if at < 0 or not linked:
            continue
        op = judged.judge(int(owner)) if owner >= 0 else -1
        floor = bounds.get(op)
        if floor is None:
            other[at] += dur
            continue
        known_time[at] += dur
        if op not in seen:
            seen.add(op)
            floors[at] += floor
            work = judged.work[op]
            flops[at] += work.total_flops
            size[at] += work.bytes or 0
    used = line.used or [0]

    def spread(values: Any) -> Spread:
        return Spread.of([int(values[at]) for at in used])

    least, took = spread(floors), spread(known_time)
    return StepRoof(
        floor_ns=least,
        judged_ns=took,
        unknown_ns=spread(other),
        flops=spread(flops),
        bytes=spread(size),
        over_floor=took.median / least.median if least.median else None,
    )
