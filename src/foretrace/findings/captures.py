"""Calls that belong to the capture of a graph: those next to it, and those under the op or range that makes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.trace.distinct import distinct, is_among

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts
    from foretrace.findings.name_index import Bools
    from foretrace.trace.raw import I64

__all__ = ["BEGINS", "ENDS", "in_named_captures", "of_captures", "outside_captures"]

BEGINS: Final = re.compile(r"(?:cuda|hip|cu)StreamBeginCapture")
ENDS: Final = re.compile(r"(?:cuda|hip|cu)(?:StreamEndCapture|GraphInstantiate)")
_LAUNCHES: Final = re.compile(r"(?:cuda|hip|cu)(?:Ext)?(?:Module|Graph)?Launch")
# Ranges of a program's own, as capture_32_DECODE.
_NAMED: Final = re.compile(r"(?<![a-z])captur(?:e|ing)(?![a-z])", re.IGNORECASE)
_NEVER: Final = np.iinfo(np.int64).max


def of_captures(facts: Facts, rows: I64) -> Bools:
    """Which of these runtime calls belong to a capture.

    They lie under an op that begins one, within one, or right before or after one: nothing is launched in between on
    their thread.
    """
    result = np.zeros(len(rows), bool)
    begins, ends = _calls(facts, BEGINS), _calls(facts, ENDS)
    if not begins.size or not rows.size:
        return result
    ops, parent = facts.trace.ops, facts.trace.ops.parent
    if len(ops):
        outer = facts.trace.op_nesting.climb(facts.op_around(rows), parent < 0)
        making = facts.trace.op_nesting.climb(facts.op_around(begins), parent < 0)
        making = distinct(making[making >= 0])
        result |= (outer >= 0) & is_among(outer, making)
    launches = _calls(facts, _LAUNCHES)
    table = facts.trace.rows
    for thread in distinct(table.thread[begins]):
        mine = np.flatnonzero(table.thread[rows] == thread)
        at = table.ts[rows[mine]]
        starts, launched, done = (
            np.sort(table.ts[some[table.thread[some] == thread]]) for some in (begins, launches, ends)
        )
        result[mine] |= _next(starts, at) < _next(launched, at)
        result[mine] |= _last(done, at) > _last(launched, at)
        closed = _next(done, at) < _NEVER
        result[mine] |= closed & (_last(starts, at) > _last(done, at))
    return result


def in_named_captures(facts: Facts, rows: I64) -> Bools:
    """Which of these calls lie in a range named after a capture: an inference server captures a graph a batch size.

    The call may come long before the capture itself begins.
    """
    trace = facts.trace
    ranges = facts.rows_named(lambda name: _NAMED.search(name) is not None)
    result = np.zeros(len(rows), bool)
    if not ranges.size:
        return result
    named = np.zeros(len(trace.rows), bool)
    named[ranges] = True
    place = trace.host_place[rows]
    held = np.flatnonzero(place >= 0)
    result[held] = trace.host_forest.around(named[trace.host_order])[place[held]] >= 0
    return result


def outside_captures(facts: Facts, rows: I64) -> I64:
    """Of these runtime calls those that belong to no capture, by the calls around or by a range's name."""
    if not rows.size:
        return rows
    return rows[~in_named_captures(facts, rows) & ~of_captures(facts, rows)]


def _calls(facts: Facts, wanted: re.Pattern[str]) -> I64:
    names = facts.call_names
    found: I64 = facts.runtime_rows[names.of(*names.matching(lambda name: wanted.match(name) is not None))]
    return found


def _next(times: I64, at: I64) -> I64:
    """The first of these times at or after each moment; after everything where there is none."""
    found: I64 = np.append(times, _NEVER)[np.searchsorted(times, at)]
    return found


def _last(times: I64, at: I64) -> I64:
    """The last of these times before each moment; before everything where there is none."""
    found: I64 = np.concatenate(([-_NEVER], times))[np.searchsorted(times, at)]
    return found
