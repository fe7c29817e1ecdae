"""One side of a comparison: the sites and ranges of a trace's steps, in the spelling they are compared in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from foretrace.analysis.metrics.measure import ground_of
from foretrace.analysis.shapes import shapes_text
from foretrace.analysis.sites import Site, sites
from foretrace.analysis.spelling import is_range, kernel_key, range_key
from foretrace.analysis.timeline import Count
from foretrace.names.decode import decode

if TYPE_CHECKING:
    from foretrace.analysis.metrics.basis import Ground
    from foretrace.names.decoded import Decoded
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

__all__ = ["Place", "Range", "Side"]


@dataclass(frozen=True)
class Place:
    """A site, with the keys it is matched by."""

    site: Site
    key: str
    """Its name, as it is compared."""
    path: tuple[str, ...]
    """Its path, as it is compared."""
    ops: tuple[str, ...]
    """The ops on its path, without annotations and the ranges of a compiler, as the file names them."""
    decoded: Decoded | None
    """Of a kernel: what its name says."""

    @property
    def role(self) -> str:
        """What it does: a kernel's role, or its kind."""
        return self.decoded.role if self.decoded is not None else self.site.kind

    @property
    def op(self) -> str:
        """The innermost op or range around its launch."""
        return self.path[-1] if self.path else ""

    @property
    def label(self) -> str:
        """What it is, for people."""
        if self.decoded is None or self.decoded.role == "other":
            return self.site.name
        return self.decoded.short


@dataclass(frozen=True, eq=False)
class Range:
    """All ops or annotations at one path, as it is compared."""

    path: tuple[str, ...]
    shown: tuple[str, ...]
    """The path as the file has it, with the ranges that only this side has."""
    is_op: bool
    counts: I64
    """How many in each step."""

    @cached_property
    def count(self) -> Count:
        """A step."""
        return Count.of(self.counts.tolist())


@dataclass(frozen=True)
class Side:
    """A trace, ready to be compared."""

    trace: Trace

    @cached_property
    def ground(self) -> Ground:
        """Steps, paths and decoded names."""
        return ground_of(self.trace)

    @cached_property
    def range_names(self) -> frozenset[str]:
        """The keys of all annotations, and of the ranges that a compiler opens."""
        where = self.ground.paths
        return frozenset(
            range_key(name, is_op=is_op)
            for name, is_op in zip(where.last, where.is_op, strict=True)
            if not is_op or is_range(name)
        )

    def keys(self, foreign: frozenset[str]) -> list[tuple[str, ...]]:
        """For each path of the trace, the path as it is compared: without the ranges of these names."""
        where = self.ground.paths
        found: list[tuple[str, ...]] = []
        for name, is_op, above in zip(where.last, where.is_op, where.above, strict=True):
            outer = found[above] if above >= 0 else ()
            key = range_key(name, is_op=is_op)
            left_out = key in foreign and (not is_op or is_range(name))
            found.append(outer if left_out else (*outer, key))
        return found

    def places(self, foreign: frozenset[str]) -> list[Place]:
        """The sites of the steps that figures are over, in order of first launch."""
        keys = self.keys(foreign)
        where = self.ground.paths
        found = []
        for site in self._sites:
            decoded = decode(site.name) if site.kind == "kernel" else None
            number = int(where.of_activity[site.first])
            path = keys[number] if number >= 0 else ()
            found.append(Place(site, kernel_key(site.name), path, where.ops(number, but=is_range), decoded))
        return found

    @cached_property
    def outer_inputs(self) -> list[tuple[str, str]]:
        """(name, input shapes) of the outermost ops of the first step that figures are over, equal ones once.

        In the order of first call. The ranges of a compiler are looked through: their own inputs are not recorded.
        """
        trace, slot, where = self.trace, self.ground.op_slot, self.ground.paths
        outer = [len(where.ops(path, but=is_range)) == 1 and not is_range(name) for path, name in enumerate(where.last)]
        path = where.of_row[trace.ops.row]
        first = np.flatnonzero((slot == 0) & (path >= 0) & np.array([*outer, False], bool)[path])
        first = first[np.argsort(trace.rows.ts[trace.ops.row[first]], kind="stable")]
        columns = (trace.rows.name[trace.ops.row[first]], trace.ops.dims[first], trace.ops.types[first])
        keys = np.stack([column.astype(np.int64) for column in columns])
        _, lead = np.unique(keys, axis=1, return_index=True) if first.size else (None, first)
        return [(trace.op_name(int(op)), shapes_text(trace, int(op))) for op in first[np.sort(lead)]]

    @cached_property
    def _sites(self) -> list[Site]:
        ground = self.ground
        chosen = np.flatnonzero(ground.activity_slot >= 0)
        return sites(self.trace, ground.paths, chosen, ground.activity_slot[chosen], ground.slots)

    def ranges(self, foreign: frozenset[str]) -> tuple[dict[tuple[str, ...], Range], dict[str, Range]]:
        """(ops and annotations by their path, the left-out ranges by their key)."""
        ground, where, slots = self.ground, self.ground.paths, self.ground.slots
        rows = np.flatnonzero(where.of_row >= 0)
        slot = ground.row_slot(rows)
        rows, slot = rows[slot >= 0], slot[slot >= 0]
        number = where.of_row[rows]
        used, inverse = np.unique(number, return_inverse=True)
        table = np.zeros((len(used), slots), np.int64)
        np.add.at(table, (inverse, slot), 1)
        keys = self.keys(foreign)
        inside: dict[tuple[str, ...], Range] = {}
        outside: dict[str, Range] = {}
        for at, path in enumerate(used.tolist()):
            name, is_op = where.last[path], where.is_op[path]
            key = range_key(name, is_op=is_op)
            shown = where.names(path)
            if key in foreign and (not is_op or is_range(name)):
                _add(outside, key, Range((key,), shown, is_op and not is_range(name), table[at]))
            else:
                _add(inside, keys[path], Range(keys[path], shown, is_op and not is_range(name), table[at]))
        return inside, outside


def _add(table: dict[Any, Range], key: Any, one: Range) -> None:
    known = table.get(key)
    if known is None:
        table[key] = one
    else:
        table[key] = Range(known.path, known.shown, known.is_op, known.counts + one.counts)
