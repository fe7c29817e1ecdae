"""The content of a reading: what `read` prints, what its JSON is, and what the page holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace._version import __version__
from foretrace.analysis.fingerprints import row_decoded, row_occupancy
from foretrace.analysis.intervals import union_length
from foretrace.analysis.launches import KernelRow, kernel_table
from foretrace.analysis.operators import OpRow, op_table
from foretrace.analysis.table import Table
from foretrace.analysis.timeline import Timeline, timeline
from foretrace.analysis.trust import Doubt, doubts
from foretrace.errors import UsageError
from foretrace.findings.engine import Examination, examine
from foretrace.trace.beside import Beside
from foretrace.trace.distinct import distinct
from foretrace.trace.kineto import Category
from foretrace.trace.model import Device
from foretrace.trace.raw import MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from foretrace.trace.model import Trace

__all__ = ["SCHEMA", "Reading", "reading"]

SCHEMA: Final = 1
# From as many rows on a second thread is worth its while.
_LARGE: Final = 100_000


@dataclass(frozen=True)
class Reading:
    """A trace with its tables, computed when asked for."""

    trace: Trace
    select: tuple[str, ...] = ()
    """Codes or names of the rules to ask; empty means all."""
    ignore: tuple[str, ...] = ()
    """The same, of rules not to ask."""

    @cached_property
    def timeline(self) -> Timeline:
        """Steps and per-step figures."""
        return timeline(self.trace)

    @cached_property
    def doubts(self) -> list[Doubt]:
        """The trust header."""
        return doubts(self.trace, self.timeline)

    @cached_property
    def kernels(self) -> list[KernelRow]:
        """The kernel table."""
        return kernel_table(self.trace, self.timeline)

    @cached_property
    def ops(self) -> list[OpRow]:
        """The op table."""
        return op_table(self.trace)

    @cached_property
    def examination(self) -> Examination:
        """Findings, and the rules that could not be asked."""
        return examine(self.trace, select=self.select, ignore=self.ignore, steps=self.timeline)

    def prepare(self) -> None:
        """Work out what is otherwise worked out when asked for: tables beside findings, where the trace is large."""
        if len(self.trace.rows) < _LARGE:
            return
        self.timeline  # noqa: B018 - kept, and both need it
        tables = Beside(lambda: (self.ops, self._kernels_json, self.doubts))
        self.examination  # noqa: B018 - kept
        tables.result()

    @cached_property
    def _kernels_json(self) -> list[dict[str, Any]]:
        return [_kernel_json(self.trace, row) for row in self.kernels]

    @cached_property
    def counts(self) -> dict[str, int]:
        """The keys of ``counts``."""
        acts, trace = self.trace.activities, self.trace
        lost = ~acts.linked
        return {
            "kernels": trace.count(Category.KERNEL),
            "memcpys": trace.count(Category.MEMCPY),
            "memsets": trace.count(Category.MEMSET),
            "launches": len(trace.launches),
            "ops": len(trace.ops),
            "unlinked": int(np.count_nonzero(lost)),
            "unlinked_time_ns": int(acts.dur[lost].sum()),
            "outside_ops": int(np.count_nonzero(acts.linked & (acts.owner < 0))),
            "outside_steps": int(np.count_nonzero(acts.linked & (acts.step < 0))),
        }

    def to_json(self) -> dict[str, Any]:
        """The JSON of ``read``: plain values with stable keys."""
        steps = self.timeline
        return {
            "schema": SCHEMA,
            "foretrace": __version__,
            "trace": _trace_json(self.trace),
            "trust": [doubt.to_json() for doubt in self.doubts],
            "counts": self.counts,
            "steps": [step.to_json() for step in steps.steps],
            "per_step": steps.per_step.to_json(),
            "kernels": self._kernels_json,
            "ops": [row.to_json() for row in self.ops],
            **self.examination.to_json(),
        }

    @cached_property
    def tables(self) -> dict[str, Table]:
        """``steps``, ``kernels`` and ``ops`` as tables."""
        content = self.to_json()
        kernels = [{key: value for key, value in row.items() if key not in _NESTED} for row in content["kernels"]]
        return {
            "steps": _table("steps", content["steps"]),
            "kernels": _table("kernels", kernels),
            "ops": _table("ops", content["ops"]),
        }

    def _repr_html_(self) -> str:
        from foretrace.report.notebook import reading_html  # noqa: PLC0415 - only a notebook asks

        return reading_html(self)

    def write_csv(self, folder: Path) -> list[Path]:
        """Write each table as ``NAME.csv`` into a folder, which is made if it is not there.

        Raises:
            UsageError: there can be no such folder.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"{folder}: no folder to write tables to ({error.strerror}); name another.") from error
        written = []
        for name, table in self.tables.items():
            path = folder / f"{name}.csv"
            table.to_csv(path)
            written.append(path)
        return written


_NESTED: Final = ("decoded", "occupancy", "block", "grid")


def reading(trace: Trace, *, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> Reading:
    """The tables and findings of a trace; ``select`` and ``ignore`` name rules by code or name."""
    return Reading(trace, tuple(select), tuple(ignore))


def _table(name: str, rows: list[dict[str, Any]]) -> Table:
    return Table.of(name, list(rows[0]) if rows else [], rows)


def _trace_json(trace: Trace) -> dict[str, Any]:
    return {
        "file": trace.file,
        "bytes": trace.bytes,
        "events": trace.events,
        "devices": [
            {
                "id": device.id,
                "name": device.name,
                "compute_capability": device.compute_capability,
                "sms": device.sms,
                "busy_ns": busy,
            }
            for device, busy in _busy_by_device(trace)
        ],
        "rank": trace.rank,
        "world_size": trace.world_size,
        "span_ns": trace.span_ns,
        "start_unix_ns": start_unix_ns(trace),
        "external_ids": trace.external_ids,
    }


def start_unix_ns(trace: Trace) -> int | None:
    """Wall-clock time of the earliest event in nanoseconds; None where the file does not give its base time."""
    base = trace.raw.header.get("baseTimeNanoseconds")
    if not isinstance(base, int) or not len(trace.rows):
        return None
    return base + trace.origin_ns


def _busy_by_device(trace: Trace) -> list[tuple[Any, int]]:
    """Every listed device, and every device that activity ran on, with its busy time over the whole file."""
    acts = trace.activities
    found = []
    used = {int(number) for number in distinct(acts.device) if number != MISSING}
    listed = {device.id for device in trace.devices}
    unlisted = [Device(number, "", None, None, {}) for number in sorted(used - listed)]
    for device in (*trace.devices, *unlisted):
        on = (acts.device == device.id) & acts.timed
        found.append((device, union_length(acts.ts[on], acts.end[on])))
    return found


def _kernel_json(trace: Trace, row: KernelRow) -> dict[str, Any]:
    found = row_occupancy(trace, row)
    return {
        "name": row.name,
        "kind": row.kind,
        "calls": row.calls,
        "per_step": row.per_step,
        "time_ns": row.time_ns,
        "min_ns": row.min_ns,
        "max_ns": row.max_ns,
        "share": row.share,
        "owner": row.owner,
        "owner_kind": row.owner_kind,
        "launch": row.launch,
        "unlinked": row.unlinked,
        "graph": row.graph,
        "device": row.device,
        "registers": row.registers,
        "shared_memory": row.shared_memory,
        "block": list(row.block) if row.block else None,
        "grid": list(row.grid) if row.grid else None,
        "bytes": row.bytes,
        "decoded": row_decoded(row).to_json(),
        "occupancy": found.to_json() if found else None,
    }
