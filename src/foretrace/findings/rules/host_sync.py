"""The host waits for the device inside the step.

## What it looks for

Synchronizing runtime calls (`cudaStreamSynchronize`, `cudaDeviceSynchronize`, `cudaMemcpy`, ...) in a step, by the op
that caused them: `item`, `nonzero`, `is_nonzero`, a copy to the host, a blocking copy to the device. Waits for large
pageable copies are another rule's. Those that cost less than a microsecond or a thousandth of a step are left out.

## Why it matters

The host stops until the device has done everything that was queued. Then the queue is empty: the device idles until
the host has launched again, and every launch after that is late. The loss is that idle time, not the wait itself, and
no more than the wait: without it the host would be ahead by as much. What is at stake is that estimate. A call that
holds the host while the device idles loses all of it, but for time in which the next work was launched already: the
device waits for something else then, and the host with it.

## How to confirm it

The evidence names the op and the annotation around it. Take it out, or move it to the end of the step, and compare.

## What usually helps

Keep numbers on the device (losses, norms, flags) and read them every N steps. `torch.where` rather than indexing with
a mask, which needs `nonzero`, and rather than `if` on a tensor, which needs its value. Index tensors that lie on the
device. `non_blocking=True` from pinned memory; to the host, into a pinned buffer, with an event to wait for before it
is read.
`torch.cuda.set_sync_debug_mode("warn")` finds the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.copies import direction
from foretrace.findings.captures import in_named_captures, of_captures
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.findings.upload_advice import ONCE, may_move_once, pin
from foretrace.trace.distinct import distinct
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.findings.name_index import Bools
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT203", name="host-sync", needs=Needs.CALLS | Needs.DEVICE, since="0.1")

_READS: Final = frozenset({"aten::item", "aten::_local_scalar_dense", "aten::equal", "aten::allclose"})
_BRANCHES: Final = frozenset({"aten::is_nonzero"})
_SIZES: Final = frozenset(
    {
        "aten::nonzero",
        "aten::unique",
        "aten::_unique2",
        "aten::unique_consecutive",
        "aten::masked_select",
        "aten::repeat_interleave",
    }
)
_INDEXES: Final = frozenset({"aten::index", "aten::index_put_"})
_NONZERO: Final = ("aten::nonzero", "aten::nonzero_static")
_READ_CHANGE: Final = """\
keep the value on the device, and read it every N steps:
    losses.append(loss.detach())
    if step % 100 == 0:
        print(torch.stack(losses).mean().item())"""
_SIZE_CHANGE: Final = "the result's size depends on the data: use torch.where, or a fixed size, instead"
_INDEX_CHANGE: Final = """\
a bool mask as an index needs nonzero; a masked op does not:
    x = torch.where(mask, value, x)  # or x.masked_fill_(mask, value), instead of x[mask] = value"""
_INDEX_UPLOAD_CHANGE: Final = """\
keep index tensors, and values that are assigned, on the device:
    index = index.to("cuda")  # once, outside the loop; or made there: torch.arange(n, device="cuda")"""
_COPY_CHANGE: Final = """\
copy to pinned memory without waiting, and wait for the copy alone, where it is read:
    buffer = torch.empty_like(x, device="cpu", pin_memory=True)  # once, outside the loop
    buffer.copy_(x, non_blocking=True)
    copied = torch.cuda.Event()
    copied.record()
    ...  # launch what comes next
    copied.synchronize()  # before buffer is read"""
_BRANCH_CHANGE: Final = """\
let no Python branch depend on a tensor: choose on the device, or test on the host what the host knows:
    x = torch.where(condition, a, b)  # instead of: x = a if condition else b"""
_CONSTANT_CHANGE: Final = """\
make constants once, outside the loop, and values where they are needed:
    torch.full((), value, device="cuda")  # torch.tensor(value, device="cuda") copies from the host and waits"""
_EXPLICIT_CHANGE: Final = "take torch.cuda.synchronize() out of the step, or time with torch.cuda.Event instead"
_EVENT_CHANGE: Final = "read events (synchronize, elapsed_time) after the step, or a few steps later"
_BENCHMARK_CHANGE: Final = """\
record after every shape has run once; where shapes keep changing, do not time for each:
    torch.backends.cudnn.benchmark = False"""
_CAPTURE_CHANGE: Final = "record later: capture graphs in the warm-up, and let the recording hold their replays"
_DDP_CHANGE: Final = "record from the 11th iteration on, to see what the others do"
_EVENT_CALLS: Final = frozenset({"cudaEventSynchronize", "cuEventSynchronize", "hipEventSynchronize"})
_DDP: Final = "DistributedDataParallel.forward"


# Ops that make a constant on the host, and what ends torch.tensor (also of old): its copy is the sibling before it.
_MAKERS: Final = ("aten::full", "aten::full_like", "aten::scalar_tensor", "aten::fill_")
_LIFTS: Final = ("aten::lift_fresh", "aten::lift", "aten::detach_", "detach_")
_CONSTANT_BYTES: Final = 4096


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding for each kind of cause."""
    facts = facts_of(trace)
    waits = facts.waits
    if not len(waits):
        return
    spots = waits.in_program
    kinds = _kinds(facts, spots)
    groups = [(kind, spots[np.array([other == kind for other in kinds], bool)]) for kind in dict.fromkeys(kinds)]
    for kind, some in sorted(groups, key=lambda group: -waits.lost_a_step(group[1])):
        # What follows the last wait is not in the file: what that costs is not known, rather than little.
        if facts.worth(waits.lost_a_step(some)) or not waits.is_followed[some].any():
            yield _finding(facts, kind, some)


def _kinds(facts: Facts, spots: I64) -> list[str]:
    """What each wait is of: told once for equal cause, copy and call, with or without `nonzero` in between."""
    waits = facts.waits
    causes = np.append(facts.op_names.code, -1)[waits.cause[spots]]
    copies = np.append(facts.activity_names.code, -1)[waits.copy[spots]]
    calls = facts.trace.rows.name[waits.rows[spots]]
    counts = facts.climb(waits.op[spots], facts.op_names.of(*_NONZERO)) >= 0
    inner = np.append(facts.op_names.code, -1)[waits.op[spots]]
    columns = (inner, causes, copies, calls, counts)
    keys = list(zip(*(column.tolist() for column in columns), strict=True))
    known: dict[tuple[int, ...], str] = {}
    for at, key in zip(spots.tolist(), keys, strict=True):
        if key not in known:
            known[key] = _kind(facts, at, counts=bool(key[-1]))
    kinds = [known[key] for key in keys]
    constant, called = _are_constants(facts, spots), waits.rows[spots]
    captured = of_captures(facts, called) | in_named_captures(facts, called)
    for at, kind in enumerate(kinds):
        if kind == "upload" and constant[at]:
            kinds[at] = "constant"
        elif kind in ("explicit", "other") and captured[at]:
            kinds[at] = "capture"
    return kinds


def _are_constants(facts: Facts, spots: I64) -> Bools:
    """Which of these waits are, if for uploads, for small ones of what an op or `torch.tensor` makes on the host."""
    waits, ops, rows = facts.waits, facts.trace.ops, facts.trace.rows
    copy, names = waits.copy[spots], facts.op_names
    if not len(ops):
        return np.zeros(len(spots), bool)
    small = (copy >= 0) & (facts.trace.activities.bytes[copy] <= _CONSTANT_BYTES)
    made = small & (facts.climb(waits.op[spots], names.of(*_MAKERS)) >= 0)
    copied = facts.climb(waits.op[spots], names.of("aten::to", "aten::copy_"))
    lifts = names.flags(_LIFTS)
    for thread in distinct(rows.thread[ops.row[copied[small & (copied >= 0)]]]):
        mine = np.flatnonzero(rows.thread[ops.row] == thread)
        mine = mine[np.argsort(rows.ts[ops.row[mine]], kind="stable")]
        some = np.flatnonzero(small & (copied >= 0) & (rows.thread[ops.row[copied]] == thread))
        outer = _outermost_copy(facts, copied[some])
        at = np.searchsorted(rows.ts[ops.row[mine]], rows.end[ops.row[outer]])
        known = at < len(mine)
        made[some[known]] |= lifts(mine[at[known]])
    return made


def _outermost_copy(facts: Facts, ops: I64) -> I64:
    """The outermost op around each of these copying ops that copies too."""
    copies = facts.op_names.flags(("aten::to", "aten::_to_copy", "aten::copy_"))
    result, parent = ops.copy(), facts.trace.ops.parent
    active = np.arange(len(result))
    while active.size:
        above = parent[result[active]]
        up = above >= 0
        up[up] = copies(above[up])
        active = active[up]
        result[active] = above[up]
    return result


def _kind(facts: Facts, at: int, *, counts: bool) -> str:
    """``counts``: `nonzero` is around the wait."""
    waits = facts.waits
    cause, copy = int(waits.cause[at]), int(waits.copy[at])
    if cause < 0:
        row = waits.rows[[at]]
        if facts.trace.name(int(row[0])) not in _EVENT_CALLS:
            return "explicit"
        return "ddp" if any(_DDP in item.path for item in facts.evidence_of_rows(row)) else "event"
    if _times_algorithms(facts, at):
        return "benchmark"
    name = facts.op_text(cause)
    if name in _BRANCHES:
        return "branch"
    if name in _READS:
        return "read"
    if name in _SIZES:
        return "size"
    if name in _INDEXES and counts:
        return "index"
    if copy < 0:
        return "other"
    if direction(facts.trace.name(int(facts.trace.activities.row[copy]))) == "DtoH":
        return "download"
    return "index_upload" if name in _INDEXES else "upload"


def _times_algorithms(facts: Facts, at: int) -> bool:
    """Whether a convolution of a library waits for an event, in a file in which times between events are read."""
    op, call = facts.op_text(int(facts.waits.op[at])), facts.trace.name(int(facts.waits.rows[at]))
    timed = facts.call_names.any_of(("cudaEventElapsedTime", "cuEventElapsedTime", "hipEventElapsedTime"))
    return timed and call in _EVENT_CALLS and ("cudnn" in op or "miopen" in op)


_SHOWN: Final = {
    "upload": "a blocking upload",
    "constant": "a constant from the host",
    "benchmark": "timing of algorithms",
    "capture": "capture of a graph",
    "index_upload": "an index from the host",
    "download": "a copy to the host",
}
_NAMES: Final = 30
_CHANGES: Final = {
    "read": _READ_CHANGE,
    "branch": _BRANCH_CHANGE,
    "size": _SIZE_CHANGE,
    "index": _INDEX_CHANGE,
    "index_upload": _INDEX_UPLOAD_CHANGE,
    "download": _COPY_CHANGE,
    "constant": _CONSTANT_CHANGE,
    "explicit": _EXPLICIT_CHANGE,
    "event": _EVENT_CHANGE,
    "ddp": _DDP_CHANGE,
    "benchmark": _BENCHMARK_CHANGE,
    "capture": _CAPTURE_CHANGE,
    "other": None,
}


def _finding(facts: Facts, kind: str, spots: I64) -> Finding:
    waits = facts.waits
    some = waits.rows[spots]
    lost = waits.lost_a_step(spots)
    causes = waits.cause[spots]
    ops = waits.op[spots] if kind == "other" else causes
    names = list(dict.fromkeys(facts.op_text(int(op)) for op in ops if op >= 0)) or [facts.trace.name(int(some[0]))]
    shown = _SHOWN.get(kind) or _listed([name.removeprefix("aten::") for name in names])
    several = len(names) > 1 and kind not in _SHOWN
    holds = waits.holds_idle(spots)
    what, often = "hold" if holds else "make", facts.times_each(len(spots))
    return RULE.finding(
        f"{shown} {what}{'' if several else 's'} the CPU "
        f"{often + ' while the GPU idles' if holds else 'wait for the GPU ' + often}",
        count=facts.per_step(len(spots)),
        at_stake_ns=lost,
        confidence=Confidence.LIKELY,
        evidence=facts.evidence_of_rows(some),
        text=f"{_waited(facts, spots)} {_after(facts, spots)} {_why(kind, holds=holds)}"
        + (ONCE if kind == "upload" and may_move_once(facts) else ""),
        change=pin(facts) if kind == "upload" else _CHANGES[kind],
        because=_because(facts, causes),
    )


def _waited(facts: Facts, spots: I64) -> str:
    waits = facts.waits
    some = waits.rows[spots]
    call, waited = facts.trace.name(int(some[0])), facts.cpu_ns(some)
    if waits.holds_idle(spots):
        idle = facts.per_step(int(waits.idle_inside[spots].sum()))
        return (
            f"The host is in {call} for {time_text(waited)} {facts.per}; for {time_text(idle)} of it the device idles."
        )
    until = "come to an event" if call in _EVENT_CALLS else "done all that was queued"
    return f"The host waits {time_text(waited)} {facts.per} in {call} until the device has {until}."


def _listed(names: list[str]) -> str:
    if len(", ".join(names)) <= _NAMES:
        return ", ".join(names)
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]


def _after(facts: Facts, spots: I64) -> str:
    """What the device idles after a wait, as measured; and how the stake follows from it, where it is less."""
    waits = facts.waits
    known = waits.measured(spots)
    idle, lost = float(waits.idle_after[known].mean()), float(waits.lost[known].mean())
    if not waits.is_followed[known].any():
        return "No device work follows in the file, so what the device idles after it is not known."
    if not idle:
        return "The device does not idle after it here."
    each = "" if len(known) == 1 else " on average" if len(known) == len(spots) else f" (the mean of {len(known)})"
    text = (
        f"After {'it' if len(spots) == 1 else 'each'} the device idles {time_text(idle)}{each} until new work arrives"
    )
    if lost < idle:
        return text + f"; without the wait the host would be {time_text(lost)} ahead at most, so no more is at stake."
    return text + "."


def _why(kind: str, *, holds: bool) -> str:
    if holds:
        return "Nothing is queued then: the call itself takes that long."
    return {
        "read": "Reading a value into Python needs it now.",
        "branch": "Python asks whether a tensor is true (if, while, and, assert), and needs its value for that.",
        "size": "The size of the result depends on the data, so the host has to know it.",
        "index": "Indexing with a bool tensor calls nonzero.",
        "index_upload": "What it indexes with, or assigns, lies on the CPU: each call copies it and waits.",
        "download": "A copy to pageable host memory waits until it is done.",
        "constant": "A constant made on the host, as torch.tensor does, is copied to the device, and waited for.",
        "upload": "A blocking copy of host data to the device waits until it is done, however small it is.",
        "explicit": "Nothing but the call itself asks for it.",
        "event": "An event is waited for until the device has come to it; elapsed_time needs that.",
        "ddp": "DistributedDataParallel times its first 10 iterations, and later every 100th, with events of its own.",
        "benchmark": "cuDNN (or MIOpen) times its algorithms once for each shape: torch.backends.cudnn.benchmark=True.",
        "capture": "It belongs to the capture of a graph: that is done once, and its replays do not wait.",
        "other": "The op needs something from the device before it can go on.",
    }[kind]


def _because(facts: Facts, causes: I64) -> str | None:
    """FlexAttention's fallback makes its own small copies."""
    flex = facts.flex
    if not len(flex) or (causes < 0).any():
        return None
    rows = facts.trace.ops.row[causes]
    inside = flex.spans.holding(facts.trace.rows.thread[rows], facts.trace.rows.ts[rows])
    return "FT107" if (inside >= 0).all() else None
