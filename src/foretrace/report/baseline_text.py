"""Baselines: the structure of a step as a small text file that people review, and how a trace differs from one.

# What one step of test_attention does. After a change that is meant: pytest --foretrace-update
device class: sm90

counts
  kernels: 5
  ...
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from foretrace.analysis.metrics import Quantity, Select, measure
from foretrace.analysis.metrics.measure import ground_of
from foretrace.analysis.structure import SECTIONS, Structure, structure
from foretrace.analysis.timeline import Count
from foretrace.errors import PredictionError
from foretrace.predictions.evidence import evidence_of
from foretrace.report.escape import plain

if TYPE_CHECKING:
    from pathlib import Path

    from foretrace.analysis.metrics import Metric
    from foretrace.trace.model import Trace

__all__ = ["baseline_text", "differences_text", "read_baseline"]

_HEADINGS: Final = {
    "counts": "counts",
    "kernels": "kernels by role",
    "copies": "copies by direction",
    "launches": "launches by call",
    "attention": "attention calls by backend",
    "ops": "ops by name",
}
_LINE: Final = re.compile(r"  (.+): (\d+)(?: to (\d+))?\Z")
_NONE: Final = Count(0, 0, 0)
_ORIGINS: Final = 3


def baseline_text(found: Structure, test: str) -> str:
    """The file that is kept: same structure, same text."""
    lines = [
        f"# What one step of {plain(test)} does: counts, no times.",
        "# After a change that is meant, rewrite it with: pytest --foretrace-update",
        f"device class: {plain(found.device_class)}",
    ]
    for section in SECTIONS:
        rows = found.sections.get(section)
        if rows:
            lines += ["", _HEADINGS[section]]
            lines += [f"  {plain(name)}: {_number(count)}" for name, count in rows.items()]
    return "\n".join(lines) + "\n"


def _number(count: Count) -> str:
    return f"{count.min} to {count.max}" if count.varies else str(count.min)


def read_baseline(path: Path) -> Structure:
    """A kept baseline; names as they are written there.

    Raises:
        PredictionError: a line is not understood.
    """
    sections: dict[str, dict[str, Count]] = {}
    headings = {heading: section for section, heading in _HEADINGS.items()}
    device, current = "", None
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PredictionError(f"{path}: {error}; rewrite it with pytest --foretrace-update.") from error
    for number, line in enumerate(lines, start=1):
        row = _LINE.match(line)
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("device class: "):
            device = line.partition(": ")[2]
        elif line in headings:
            current = sections.setdefault(headings[line], {})
        elif row is not None and current is not None:
            low = int(row[2])
            high = int(row[3]) if row[3] else low
            current[row[1]] = Count(low, low, high)
        else:
            raise PredictionError(f"{path}, line {number}: {line!r} is no line of a baseline; rewrite it.")
    return Structure(device, sections)


def differences_text(kept: Structure, trace: Trace) -> list[str]:
    """How a trace differs from its baseline, a line each, with where the new comes from; empty where it does not."""
    found = structure(trace)
    lines = []
    if kept.device_class != found.device_class:
        lines.append(f"device class: {plain(kept.device_class)} -> {plain(found.device_class)}")
    for section in SECTIONS:
        ours = kept.sections.get(section, {})
        theirs = {plain(name): count for name, count in found.sections.get(section, {}).items()}
        changed = []
        for name in sorted({*ours, *theirs}):
            before, after = ours.get(name, _NONE), theirs.get(name, _NONE)
            if not _meet(before, after):
                changed.append(f"  {name}: {_number(before)} -> {_number(after)}")
                if after.max > before.max:
                    changed += [f"      {line}" for line in _origins(trace, section, name)]
        if changed:
            lines += [_HEADINGS[section], *changed]
    return lines


def _meet(before: Count, after: Count) -> bool:
    """Equal, or varying over ranges that meet."""
    if before.varies or after.varies:
        return before.min <= after.max and after.min <= before.max
    return before.min == after.min


def _origins(trace: Trace, section: str, name: str) -> list[str]:
    """Where device activity of a kind comes from."""
    metric = _metric(trace, section, name)
    if metric is None:
        return []
    lines = []
    proofs = evidence_of(ground_of(trace), metric.figure)
    for proof in proofs[:_ORIGINS]:
        path = " > ".join(proof.path) or "outside any op"
        lines.append(plain(f"{proof.label}, {proof.per_step.value:,} a step, from {path}"))
    if len(proofs) > _ORIGINS:
        lines.append(f"and {len(proofs) - _ORIGINS} more")
    return lines


def _metric(trace: Trace, section: str, name: str) -> Metric | None:
    if section == "kernels":
        role, _, unit = name.partition(" on ")
        units = {"tensor cores": "tensor_core", "CUDA cores": "cuda_core"}
        return measure(trace, Quantity("kernels", Select(role=role, unit=units.get(unit))))
    if section == "copies":
        return measure(trace, Quantity("memcpys", Select(direction=name)))
    return None
