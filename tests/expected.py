"""What a trace holds, as `expected.jsonl` writes it: worked out by another program than foretrace."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from foretrace.analysis.launches import KIND_NAMES
from foretrace.trace.kineto import Category
from foretrace.trace.model import Trace

__all__ = ["expectations", "holds"]

KEYS = (
    "events",
    "steps",
    "device_activities",
    "kinds",
    "device_time_total_ns",
    "unlinked",
    "unlinked_ns",
    "linked_outside_steps",
    "per_step",
    "device_time_ns",
    "owners",
)


def expectations(folder: Path) -> list[dict[str, Any]]:
    """The lines of a folder's ``expected.jsonl``; none where the folder is absent."""
    path = folder / "expected.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def _kinds(trace: Trace, chosen: Any) -> dict[str, int]:
    return dict(Counter(KIND_NAMES[Category(int(number))] for number in trace.activities.category[chosen]))


def holds(trace: Trace) -> dict[str, Any]:
    """The same keys, from a linked trace."""
    acts = trace.activities
    lost = ~acts.linked
    in_step = {name: acts.step == at for at, name in enumerate(trace.step_names)}
    owners = Counter(
        trace.op_name(int(op)) if op >= 0 else "None"
        for op, linked in zip(acts.owner, acts.linked, strict=True)
        if linked
    )
    return {
        "events": trace.events,
        "steps": trace.step_names,
        "device_activities": len(acts),
        "kinds": _kinds(trace, slice(None)),
        "device_time_total_ns": int(acts.dur.sum()),
        "unlinked": int(lost.sum()),
        "unlinked_ns": int(acts.dur[lost].sum()),
        "linked_outside_steps": int((acts.linked & (acts.step < 0)).sum()),
        "per_step": {name: _kinds(trace, chosen) for name, chosen in in_step.items()},
        "device_time_ns": {name: int(acts.dur[chosen].sum()) for name, chosen in in_step.items()},
        "owners": dict(owners),
    }
