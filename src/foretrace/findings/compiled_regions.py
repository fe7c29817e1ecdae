"""Compiled regions of `torch.compile`, and what Dynamo does around them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.counted_ranges import CountedRanges
from foretrace.trace.distinct import either
from foretrace.trace.kineto import Category

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.trace.raw import I64

__all__ = ["CompiledRegions", "compiled_regions"]

_REGION: Final = re.compile(r"Torch-Compiled Region(?:: ?(?P<frame>\d+)/(?P<version>\d+))?\s*\Z")
_LOOKUP: Final = re.compile(r"TorchDynamo (?:Cache|Guard)")
_COMPILING: Final = re.compile(r"\(dynamo_timed\)\Z|_compile\.compile_inner|\bcompile_fx(?:_inner)?\b|GraphLowering\.")


@dataclass(frozen=True, eq=False)
class CompiledRegions(CountedRanges):
    """The counted regions, none inside another, by thread and time."""

    lookups: I64
    """Rows of Dynamo's cache lookups."""
    compiling: I64
    """Rows in which something was compiled."""

    def frame(self, region: int) -> str | None:
        """The number of the compiled frame; older releases give none."""
        found = _REGION.match(self.facts.trace.name(int(self.rows[region])))
        return found["frame"] if found else None


def compiled_regions(facts: Facts) -> CompiledRegions:
    """Find the regions, the lookups and the compilations."""
    regions = _outermost(facts, _rows(facts, _REGION))
    return CompiledRegions(facts, regions, _rows(facts, _LOOKUP), _rows(facts, _COMPILING))


def _rows(facts: Facts, pattern: re.Pattern[str]) -> I64:
    """Counted rows of ops and annotations whose name matches."""
    trace = facts.trace
    ops = facts.op_names.matching(lambda name: pattern.search(name) is not None)
    rows = trace.ops.row[facts.ops(*ops)].astype(np.int64) if ops else np.zeros(0, np.int64)
    annotations = trace.rows_of(Category.ANNOTATION)
    if annotations.size:
        names = trace.rows.name[annotations]
        distinct, inverse = np.unique(names, return_inverse=True)
        wanted = np.array([pattern.search(trace.strings[int(number)]) is not None for number in distinct], bool)
        if wanted.any():
            rows = either(rows, facts.counted_rows(annotations[wanted[inverse]]))
    return rows


def _outermost(facts: Facts, found: I64) -> I64:
    rows = facts.trace.rows
    order = found[np.lexsort((-rows.dur[found], rows.ts[found], rows.thread[found]))]
    kept: list[int] = []
    for row in order:
        last = kept[-1] if kept else -1
        if last < 0 or rows.thread[last] != rows.thread[row] or rows.end[last] <= rows.ts[row]:
            kept.append(int(row))
    return np.array(kept, np.int64)
