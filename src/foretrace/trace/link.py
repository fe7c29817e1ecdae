"""From plain columns to a linked trace: times from one origin, who launched what, owners, steps, graph replay.

The meanings are those of the design: an activity is linked when its correlation (not 0) names a recorded runtime
call; its owner is the innermost op on the launch's thread around the launch's start; its step is the step around
the launch's start, on whatever thread the launch ran. GPU time decides neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.trace.kineto import DEVICE_CATEGORIES, GRAPH_LAUNCHES, LAUNCH_NAME, STEP_NAME, Category
from foretrace.trace.model import NONE, Activities, Device, Ops, Rows, Steps, TimeFault, Trace
from foretrace.trace.nesting import forest
from foretrace.trace.preorder import Preorder
from foretrace.trace.raw import MISSING

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from foretrace.trace.nesting import Forest
    from foretrace.trace.raw import I64, RawTrace

__all__ = ["link"]

# A start this far from the middle of the file belongs to no recording: an hour, or many times what starts usually lie
# from the middle.
_FAR_NS: Final = 3_600_000_000_000
_FAR_DEVIATIONS: Final = 200
# No recording is that long: 104 days, beyond which a float64 no longer holds whole nanoseconds.
_ENDLESS_NS: Final = 1 << 53
# Starts before 1933 or after 2116 are none, from whatever moment a clock counts; the others lie less than int64 apart.
_EARLIEST_NS, _LATEST_NS = -(1 << 60), 1 << 62
# Durations below this are never absurd: a short recording may well end while one long kernel still runs.
_LONG_NS: Final = 100_000_000
_HOST: Final = (Category.CPU_OP, Category.ANNOTATION, Category.PYTHON, Category.RUNTIME, Category.DRIVER)
# Below this share of equal answers External ids are not believed to name ops.
_AGREE: Final = 0.9


def link(raw: RawTrace, *, path: str, file: str, size: int, step: str | None = None) -> Trace:
    """Link a file's columns. ``step`` makes every annotation of that name a step."""
    rows, origin = _rows(raw)
    is_step = _steps_among(raw, rows, step)
    steps = _steps(rows, is_step)
    ops, timed, woods = _ops(raw, rows, is_step)
    runtime = np.flatnonzero((rows.category == Category.RUNTIME) | (rows.category == Category.DRIVER))
    activities = _activities(raw, rows, steps, woods=(timed, woods), runtime=runtime, is_step=is_step)
    rank, world_size = _distributed(raw.header)
    return Trace(
        file=file,
        path=path,
        bytes=size,
        raw=raw,
        rows=rows,
        activities=activities,
        ops=ops,
        op_nesting=_op_nesting(len(ops), timed, woods),
        steps=steps,
        devices=_devices(raw.header),
        rank=rank,
        world_size=world_size,
        origin_ns=origin,
        launches=_launches(raw, rows, runtime, activities),
        external_ids=_external_ids(rows, ops, activities),
        step_name=step,
    )


def _rows(raw: RawTrace) -> tuple[Rows, int]:
    ts, dur = raw.rows.ts, raw.rows.dur
    first = int(ts.min()) if len(ts) else 0
    fault = np.zeros(len(ts), np.uint8)
    usual = len(ts) and first > 0 and int(ts.max()) <= min(first + _FAR_NS, _LATEST_NS)
    if usual and int(dur.min()) >= 0 and int(dur.max()) <= _ENDLESS_NS:
        # As nearly all files are: nothing is left out, and no column needs a second look.
        origin, start, length = first, ts - first, dur
    else:
        origin, start, length = _mended(ts, dur, fault)
    too_long = _too_long(raw.rows.category, start, length, fault)
    if too_long.size:
        length = length.copy()
        fault[too_long] = TimeFault.ABSURD
        start[too_long] = 0
        length[too_long] = 0
    rows = Rows(
        index=raw.rows.index,
        category=raw.rows.category,
        name=raw.rows.name,
        thread=raw.rows.thread,
        ts=start,
        dur=length,
        correlation=raw.rows.correlation,
        external_id=raw.rows.external_id,
        args_start=raw.rows.args_start,
        args_length=raw.rows.args_length,
        fault=fault,
    )
    return rows, origin


def _mended(ts: I64, dur: I64, fault: npt.NDArray[np.uint8]) -> tuple[int, I64, I64]:
    """(origin, starts, durations) where some times are missing or absurd; which those are goes to ``fault``."""
    given = np.where(dur == MISSING, 0, dur)
    zero = (ts == MISSING) | ((ts == 0) & (given == 0))
    absurd = ~zero & ((given < 0) | (given > _ENDLESS_NS) | (ts < _EARLIEST_NS) | (ts > _LATEST_NS))
    good = np.flatnonzero(~zero & ~absurd)
    if good.size:
        absurd[good] |= _far(ts[good])
    fault[absurd] = TimeFault.ABSURD
    fault[zero] = TimeFault.ZERO
    good = np.flatnonzero(fault == TimeFault.NONE)
    origin = int(ts[good].min()) if good.size else 0
    start = np.where(fault == TimeFault.NONE, ts - origin, 0)
    return origin, start, np.where(fault == TimeFault.NONE, given, 0)


def _far(ts: I64) -> npt.NDArray[np.bool_]:
    """Starts that lie far from the middle. Median and median deviation do not move for a minority of outliers."""
    if int(ts.max()) - int(ts.min()) <= _FAR_NS:
        return np.zeros(len(ts), bool)
    away = np.abs(ts.astype(np.float64) - float(np.median(ts)))
    result: npt.NDArray[np.bool_] = away > max(_FAR_NS, _FAR_DEVIATIONS * float(np.median(away)))
    return result


def _too_long(category: Any, start: I64, length: I64, fault: Any) -> I64:
    """Device activity longer than the whole host window (and than a tenth of a second), or than an hour without one."""
    long = np.flatnonzero(length > _LONG_NS)
    device: I64 = long[np.isin(category[long], np.array(DEVICE_CATEGORIES, np.uint8)) & (fault[long] == TimeFault.NONE)]
    if not device.size:
        return device
    good = fault == TimeFault.NONE
    host = good & np.isin(category, np.array(_HOST, np.uint8))
    if not host.any():
        return device[length[device] > _FAR_NS]
    # A host range may itself be the one that is too long: the window is made of starts, and of the ends of ranges
    # that are no longer than all starts lie apart.
    first = int(start[host].min())
    window = int(start[good].max()) - first
    ends = (start + length)[host & (length <= max(window, _LONG_NS))]
    window = max(window, int(ends.max()) - first if ends.size else 0)
    return device[length[device] > window]


def _named(raw: RawTrace, names: npt.NDArray[np.int32], wanted: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
    """For each of these interned names, whether it is wanted; each distinct name is asked once."""
    seen = np.zeros(len(raw.strings), bool)
    seen[names] = True
    chosen = np.zeros(len(raw.strings), bool)
    for number in np.flatnonzero(seen):
        chosen[number] = wanted(raw.strings[number])
    result: npt.NDArray[np.bool_] = chosen[names]
    return result


def _steps_among(raw: RawTrace, rows: Rows, step: str | None) -> npt.NDArray[np.bool_]:
    host = (rows.category == Category.ANNOTATION) | (rows.category == Category.CPU_OP)
    result = np.zeros(len(rows), bool)
    if step is None:
        result[host] = _named(raw, rows.name[host], lambda name: STEP_NAME.match(name) is not None)
    else:
        result[host] = _named(raw, rows.name[host], lambda name: name == step)
    return result


def _steps(rows: Rows, is_step: npt.NDArray[np.bool_]) -> Steps:
    chosen = np.flatnonzero(is_step & (rows.fault == TimeFault.NONE))
    chosen = chosen[np.argsort(rows.ts[chosen], kind="stable")]
    return Steps(row=chosen, ts=rows.ts[chosen], end=rows.end[chosen])


def _ops(raw: RawTrace, rows: Rows, is_step: npt.NDArray[np.bool_]) -> tuple[Ops, I64, Forest]:
    """The ops, those whose times are believed, and the nesting of these."""
    keep = ~is_step[raw.ops.row]
    every = keep.all()
    columns = {
        name: getattr(raw.ops, name) if every else getattr(raw.ops, name)[keep]
        for name in ("row", "sequence", "forward_thread", "dims", "types", "strides", "concrete")
    }
    row = columns["row"]
    timed = np.flatnonzero(rows.fault[row] == TimeFault.NONE)
    woods = rows.forest(row[timed])
    parent = woods.parents()
    if len(timed) < len(row):
        inner, parent = parent, np.full(len(row), NONE, np.int64)
        parent[timed] = np.append(timed, NONE)[inner]
    forward = _forward_ops(raw, rows, columns)
    return Ops(parent=parent, forward=forward, **columns), timed, woods


def _op_nesting(count: int, timed: I64, woods: Forest) -> Preorder:
    """The nesting of all ops: first those whose times are not believed, then the timed ones as they nest."""
    if len(timed) == count:
        return Preorder(original=woods.original, parent=woods.parent)
    is_untimed = np.ones(count, bool)
    is_untimed[timed] = False
    untimed = np.flatnonzero(is_untimed)
    original = np.concatenate((untimed, timed[woods.original]))
    parent = np.where(woods.parent >= 0, woods.parent + len(untimed), NONE)
    return Preorder(original=original, parent=np.concatenate((np.full(len(untimed), NONE), parent)))


def _forward_ops(raw: RawTrace, rows: Rows, ops: dict[str, Any]) -> I64:
    """For each backward op its forward op: by sequence number, and by ``fwdbwd`` flow where that gives none.

    Several forward ops can show one number, since an op shows the number the next autograd node will get; the node
    was made by the one that started last.
    """
    row, sequence = ops["row"], ops["sequence"]
    result = np.full(len(row), NONE, np.int64)
    numbered = (sequence != MISSING) & (sequence >= 0)
    backward = np.flatnonzero(numbered & (ops["forward_thread"] > 0))
    ahead = np.flatnonzero(numbered & (ops["forward_thread"] <= 0))
    if backward.size and ahead.size:
        ahead = ahead[np.lexsort((rows.ts[row[ahead]], sequence[ahead]))]
        at = np.searchsorted(sequence[ahead], sequence[backward], side="right") - 1
        hit = (at >= 0) & (sequence[ahead[at]] == sequence[backward])
        result[backward[hit]] = ahead[at[hit]]
    flows = raw.flows
    if len(flows.id):
        starts = {int(number): at for at, number in enumerate(flows.id) if flows.start[at]}
        where = {
            (int(thread), int(ts)): op
            for op, (thread, ts) in enumerate(zip(rows.thread[row], raw.rows.ts[row], strict=True))
        }
        for end in np.flatnonzero(flows.start == 0):
            start = starts.get(int(flows.id[end]))
            if start is None:
                continue
            source = where.get((int(flows.thread[start]), int(flows.ts[start])), NONE)
            target = where.get((int(flows.thread[end]), int(flows.ts[end])), NONE)
            if source >= 0 and target >= 0 and result[target] < 0:
                result[target] = source
    return result


def _activities(
    raw: RawTrace,
    rows: Rows,
    steps: Steps,
    *,
    woods: tuple[I64, Forest],
    runtime: I64,
    is_step: npt.NDArray[np.bool_],
) -> Activities:
    source = raw.activities
    row = source.row
    ts, timed = rows.ts[row], rows.fault[row] == TimeFault.NONE
    launch = _launch_of(rows, row, runtime)
    linked = np.flatnonzero((launch >= 0) & (rows.fault[np.maximum(launch, 0)] == TimeFault.NONE))
    at = launch[linked]
    owner, outer, step = (np.full(len(row), NONE, np.int64) for _ in range(3))
    timed_ops, nesting = woods
    owner[linked] = np.append(timed_ops, NONE)[nesting.innermost(rows.thread[at], rows.ts[at])]
    orphans = linked[owner[linked] < 0]
    outer[orphans] = _outer_ranges(rows, launch[orphans], is_step)
    step[linked] = _steps_of(steps, rows.ts[at])
    launch_names = rows.name[np.maximum(launch, 0)]
    replay = _named(raw, launch_names, lambda name: name.split("_")[0] in GRAPH_LAUNCHES)
    return Activities(
        row=row,
        category=rows.category[row],
        device=source.device,
        stream=source.stream,
        context=source.context,
        registers=source.registers,
        shared_memory=source.shared_memory,
        grid=np.stack((source.grid_x, source.grid_y, source.grid_z), axis=1),
        block=np.stack((source.block_x, source.block_y, source.block_z), axis=1),
        bytes=source.bytes,
        occupancy_pct=source.occupancy_pct,
        blocks_per_sm=source.blocks_per_sm,
        warps_per_sm=source.warps_per_sm,
        graph_node=source.graph_node,
        ts=ts,
        dur=rows.dur[row],
        timed=timed,
        launch=launch,
        owner=owner,
        outer=outer,
        step=step,
        graph=((launch >= 0) & replay) | (source.graph_node > 0),
    )


def _launch_of(rows: Rows, row: Any, runtime: I64) -> I64:
    """The runtime call of each activity. Where a correlation names several, the last that had begun counts."""
    result = np.full(len(row), NONE, np.int64)
    wanted = rows.correlation[row]
    calls = runtime[(rows.correlation[runtime] != MISSING) & (rows.correlation[runtime] != 0)]
    asking = np.flatnonzero((wanted != MISSING) & (wanted != 0))
    if not (calls.size and asking.size):
        return result
    numbers = rows.correlation[calls]
    calls = calls[np.argsort(numbers, kind="stable")]
    numbers = rows.correlation[calls]
    low = np.searchsorted(numbers, wanted[asking], side="left")
    high = np.searchsorted(numbers, wanted[asking], side="right")
    one = np.flatnonzero(high - low == 1)
    result[asking[one]] = calls[low[one]]
    for spot in np.flatnonzero(high - low > 1):
        some = calls[low[spot] : high[spot]]
        started = some[rows.ts[some] <= rows.ts[row[asking[spot]]]]
        pool = started if started.size else some
        result[asking[spot]] = pool[np.argmax(rows.ts[pool])]
    return result


def _outer_ranges(rows: Rows, launch: I64, is_step: npt.NDArray[np.bool_]) -> I64:
    if not launch.size:
        return launch
    kinds = (rows.category == Category.ANNOTATION) | (rows.category == Category.PYTHON)
    ranges = np.flatnonzero(kinds & ~is_step & (rows.fault == TimeFault.NONE))
    if not ranges.size:
        return np.full(len(launch), NONE, np.int64)
    found = rows.forest(ranges).innermost(rows.thread[launch], rows.ts[launch])
    return np.append(ranges, NONE)[found]


def _steps_of(steps: Steps, time: I64) -> I64:
    """The innermost step around each moment, on whatever thread."""
    everywhere = np.zeros(len(steps), np.int32)
    return forest(everywhere, steps.ts, steps.end).innermost(np.zeros(len(time), np.int32), time)


def _launches(raw: RawTrace, rows: Rows, runtime: I64, activities: Activities) -> I64:
    """Runtime calls that device activity points to, or whose name is known to enqueue work."""
    is_launch = np.zeros(len(rows), bool)
    is_launch[activities.launch[activities.launch >= 0]] = True
    is_launch[runtime] |= _named(raw, rows.name[runtime], lambda name: LAUNCH_NAME.match(name) is not None)
    return np.flatnonzero(is_launch)


def _external_ids(rows: Rows, ops: Ops, activities: Activities) -> str:
    """Whether the External ids of device activity lead to the same op as time containment does."""
    held = np.flatnonzero(activities.owner >= 0)
    external = rows.external_id[activities.row[held]]
    known = (external != MISSING) & (external != 0)
    if not known.any():
        return "absent"
    held, external = held[known], external[known]
    owner_id = rows.external_id[ops.row[activities.owner[held]]]
    if np.count_nonzero(owner_id == external) >= _AGREE * len(held):
        return "agrees"
    repeats = external == rows.correlation[activities.row[held]]
    return "correlation" if np.count_nonzero(repeats) >= _AGREE * len(held) else "disagrees"


def _devices(header: dict[str, Any]) -> tuple[Device, ...]:
    given = header.get("deviceProperties")
    found: list[Device] = []
    for at, properties in enumerate(given if isinstance(given, list) else []):
        if not isinstance(properties, dict):
            continue
        major, minor = properties.get("computeMajor"), properties.get("computeMinor")
        sms = properties.get("numSms")
        number = properties.get("id", at)
        found.append(
            Device(
                id=number if isinstance(number, int) else at,
                name=str(properties.get("name", "")).strip(),
                compute_capability=f"{major}.{minor}" if isinstance(major, int) and isinstance(minor, int) else None,
                sms=sms if isinstance(sms, int) and sms > 0 else None,
                properties=properties,
            )
        )
    return tuple(found)


def _distributed(header: dict[str, Any]) -> tuple[int | None, int | None]:
    info = header.get("distributedInfo")
    if not isinstance(info, dict):
        return None, None
    rank, world = info.get("rank"), info.get("world_size")
    return (rank if isinstance(rank, int) else None), (world if isinstance(world, int) else None)
