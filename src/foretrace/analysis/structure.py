"""The structure of a step: what it calls, launches and runs, in numbers; no times, no kernel names, no paths.

Kernels are given by role and unit, since their names change with every library release while what they do does not.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.copies import direction
from foretrace.analysis.metrics import Quantity, measure
from foretrace.analysis.metrics.attention import calls_inside
from foretrace.analysis.metrics.measure import ground_of
from foretrace.analysis.metrics.units_used import MATMUL_ROLES
from foretrace.analysis.spelling import range_key
from foretrace.analysis.timeline import Count
from foretrace.trace.distinct import distinct
from foretrace.trace.kineto import Category

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foretrace.analysis.metrics.basis import Ground
    from foretrace.trace.model import Device, Trace
    from foretrace.trace.raw import I64

__all__ = ["SECTIONS", "Structure", "device_class", "structure"]

SECTIONS: Final = ("counts", "kernels", "copies", "launches", "attention", "ops")
_COUNTS: Final = ("kernels", "memcpys", "memsets", "launches", "syncs", "ops")
_UNITS: Final = {"tensor_core": " on tensor cores", "cuda_core": " on CUDA cores"}


@dataclass(frozen=True)
class Structure:
    """What a step does."""

    device_class: str
    """``cpu``, ``sm90``, ``gfx942``, ...: recordings of one class are comparable."""
    sections: dict[str, dict[str, Count]]
    """Section -> what -> how many a step. What the trace cannot say is left out."""


def structure(trace: Trace) -> Structure:
    """The structure of the steps that figures are over; of the whole recording where it has no steps."""
    ground = ground_of(trace)
    counts = {name: measure(trace, Quantity(name)).value for name in _COUNTS}
    sections: dict[str, dict[str, Count]] = {
        "counts": {name: value for name, value in counts.items() if isinstance(value, Count)},
        "kernels": _kernels(ground),
        "copies": _copies(ground),
        "launches": _names(ground, ground.basis(None).rows(trace.launches)),
        "attention": _attention(ground),
        "ops": _names(ground, trace.ops.row.astype(np.int64)),
    }
    return Structure(device_class(trace), {name: rows for name, rows in sections.items() if rows})


def device_class(trace: Trace) -> str:
    """What kind of device did the work: ``cpu`` where no device activity was recorded."""
    used = set(distinct(trace.activities.device).tolist())
    names = sorted({_class_of(device) for device in trace.devices if device.id in used})
    return "+".join(names) or ("device" if trace.has_device_activity else "cpu")


def _class_of(device: Device) -> str:
    arch = re.search(r"gfx\w+", f"{device.properties.get('gcnArchName', '')} {device.name}")
    if arch is not None:
        return arch[0]
    if device.compute_capability is not None and not re.search(r"AMD|Instinct|Radeon", device.name):
        return "sm" + device.compute_capability.replace(".", "")
    return re.sub(r"[^a-z0-9]+", "-", device.name.lower()).strip("-") or "device"


def _tally(slots: int, events: Iterable[tuple[str, int]]) -> dict[str, Count]:
    """How many of each name a step, by name; ``events`` are (name, step)."""
    table: dict[str, Counter[int]] = {}
    for name, slot in events:
        table.setdefault(name, Counter())[slot] += 1
    return {name: Count.of([table[name][slot] for slot in range(slots)]) for name in sorted(table)}


def _kernels(ground: Ground) -> dict[str, Count]:
    trace, acts = ground.trace, ground.trace.activities
    chosen = np.flatnonzero((ground.activity_slot >= 0) & (acts.category == Category.KERNEL))
    names = trace.rows.name[acts.row[chosen]]
    labels = {int(name): _kernel_label(ground, int(name)) for name in distinct(names)}
    return _tally(
        ground.slots,
        (
            (labels[name], slot)
            for name, slot in zip(names.tolist(), ground.activity_slot[chosen].tolist(), strict=True)
        ),
    )


def _kernel_label(ground: Ground, name: int) -> str:
    decoded = ground.decoded(name)
    unit = _UNITS.get(decoded.unit, "") if decoded.role in MATMUL_ROLES else ""
    return decoded.role + unit


def _copies(ground: Ground) -> dict[str, Count]:
    trace, acts = ground.trace, ground.trace.activities
    chosen = np.flatnonzero((ground.activity_slot >= 0) & (acts.category == Category.MEMCPY))
    return _tally(
        ground.slots,
        ((direction(trace.name(int(acts.row[at]))), int(ground.activity_slot[at])) for at in chosen),
    )


def _names(ground: Ground, rows: I64) -> dict[str, Count]:
    """Ops or runtime calls by name."""
    trace = ground.trace
    slot = ground.row_slot(rows)
    rows, slot = rows[slot >= 0], slot[slot >= 0]
    names, inverse = np.unique(trace.rows.name[rows], return_inverse=True)
    table = np.zeros((len(names), ground.slots), np.int64)
    np.add.at(table, (inverse, slot), 1)
    totals: dict[str, I64] = {}
    for name, counts in zip(names, table, strict=True):
        # Without the numbers and hashes that a compiler gives, which differ from run to run.
        key = range_key(trace.strings[name], is_op=True)
        totals[key] = totals[key] + counts if key in totals else counts
    return {name: Count.of(totals[name].tolist()) for name in sorted(totals)}


def _attention(ground: Ground) -> dict[str, Count]:
    basis = ground.basis(None)
    ops = ground.trace.ops
    if not len(ops):
        return {}
    return _tally(ground.slots, ((call.ran or "unknown", int(ground.op_slot[call.op])) for call in calls_inside(basis)))
