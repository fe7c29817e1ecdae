"""Doubts about times: none, absurd, whole microseconds, before the launch, overlapping, crossing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.analysis.intervals import overlaps, union_length
from foretrace.analysis.trust.doubt import Doubt, kinds_text
from foretrace.trace.kineto import Category
from foretrace.trace.model import TimeFault
from foretrace.trace.raw import MISSING
from foretrace.units import count_text, time_text

if TYPE_CHECKING:
    from foretrace.analysis.timeline import Timeline
    from foretrace.trace.model import Trace

__all__ = [
    "absurd_times",
    "clock_skew",
    "crossing_ranges",
    "overrun",
    "stream_overlap",
    "whole_microseconds",
    "zero_times",
]

# An activity overruns the next one when it overlaps it by this many of its stream's usual (median) lengths, and by
# more than a tenth of a millisecond. The median does not move when one length is wrong.
_OVERRUN_LENGTHS: Final = 20
_OVERRUN_NS: Final = 100_000
_SHORT_NS: Final = 1_000
_HOPPER: Final = 9


def zero_times(trace: Trace, _steps: Timeline) -> Doubt | None:
    """Records without times."""
    zero = trace.rows.fault == TimeFault.ZERO
    number = int(np.count_nonzero(zero))
    if not number:
        return None
    device = int(np.count_nonzero(zero[trace.activities.row]))
    share = number / len(trace.rows)
    part = f" ({100 * share:.0f} % of the file)" if share >= 0.01 else ""  # noqa: PLR2004 - a whole percent
    return Doubt(
        "zero-times",
        number,
        0,
        f"{count_text(number, 'record has', 'records have')} no time (start and length 0){part}, {device:,} of them "
        "device activity. They are counted, but left out of spans, busy and device time.",
    )


def absurd_times(trace: Trace, _steps: Timeline) -> Doubt | None:
    """Times that cannot be: far outside the recording, longer than it, negative."""
    absurd = np.flatnonzero(trace.rows.fault == TimeFault.ABSURD)
    if not absurd.size:
        return None
    dur = trace.raw.rows.dur[absurd]
    worst = absurd[int(np.argmax(np.where(dur == MISSING, 0, np.abs(dur))))]
    length = int(trace.raw.rows.dur[worst])
    away = abs(int(trace.raw.rows.ts[worst]) - trace.origin_ns)
    if 0 <= length <= trace.span_ns and away > trace.span_ns:
        how = f"begins {time_text(away)} away from the others"
    else:
        how = f"lasts {time_text(length if length != MISSING else 0)}"
    which = f"event {int(trace.rows.index[worst]):,}, {trace.name(int(worst))[:60]}, {how}"
    return Doubt(
        "absurd-times",
        len(absurd),
        0,
        f"{count_text(len(absurd), 'record has', 'records have')} an impossible time ({which}). "
        "Left out of every total.",
    )


def stream_overlap(trace: Trace, _steps: Timeline) -> Doubt | None:
    """Activity that begins before the previous one on its stream has ended."""
    acts = trace.activities
    hidden, time, longest = [], 0, 0
    for members in trace.activities.streams:
        late, length = overlaps(acts.ts[members], acts.end[members])
        hidden.append(members[late])
        time += int(length.sum())
        longest = max(longest, int(length.max(initial=0)))
    found = np.concatenate(hidden) if hidden else np.zeros(0, np.int64)
    if not found.size:
        return None
    verb, whose = ("starts", "its") if len(found) == 1 else ("start", "their")
    return Doubt(
        "stream-overlap",
        len(found),
        time,
        f"{kinds_text(trace, found)} {verb} before the previous activity on {whose} stream has ended "
        f"({time_text(time)} in all; {_why_overlapping(trace, longest)}). Trace viewers hide them; here they "
        "count. Device time counts the overlap twice, busy once.",
    )


def _why_overlapping(trace: Trace, longest_ns: int) -> str:
    """What lets activities of one stream overlap."""
    if not trace.raw.fractions and longest_ns <= _SHORT_NS:
        return "none by more than the microsecond to which times are cut"
    capable = [device.compute_capability or "" for device in trace.devices]
    # Programmatic dependent launch came with compute capability 9.0; AMD devices have nothing of the kind.
    old = capable and all(
        text.partition(".")[0].isdigit() and int(text.partition(".")[0]) < _HOPPER for text in capable
    )
    amd = any("AMD" in device.name for device in trace.devices)
    return "clocks do that" if old or amd else "dependent launches do that, and clocks"


def overrun(trace: Trace, _steps: Timeline) -> Doubt | None:
    """An end time far past the start of the next activity on the stream: a wrong end, not an overlap."""
    acts = trace.activities
    number, worst, culprit, extra = 0, 0, -1, 0
    for members in trace.activities.streams:
        past = acts.end[members][:-1] - acts.ts[members][1:]
        wrong = np.flatnonzero(past > _OVERRUN_NS)
        wrong = wrong[past[wrong] > _OVERRUN_LENGTHS * float(np.median(acts.dur[members]))] if wrong.size else wrong
        if not wrong.size:
            continue
        number += len(wrong)
        extra += int(acts.dur[members].sum()) - union_length(acts.ts[members], acts.end[members])
        at = wrong[int(np.argmax(past[wrong]))]
        if past[at] > worst:
            worst, culprit = int(past[at]), int(members[at])
    if not number:
        return None
    event = int(trace.rows.index[acts.row[culprit]])
    return Doubt(
        "overrun",
        number,
        extra,
        f"{count_text(number, 'activity ends', 'activities end')} long after the next one on the stream began (worst: "
        f"event {event:,}, by {time_text(worst)}): such end times are wrong, and device time exceeds busy time by "
        f"{time_text(extra)} on these streams.",
    )


def clock_skew(trace: Trace, _steps: Timeline) -> Doubt | None:
    """Activity that begins before the call that launched it."""
    acts, rows = trace.activities, trace.rows
    good = np.flatnonzero(acts.linked & acts.timed)
    good = good[rows.fault[acts.launch[good]] == TimeFault.NONE]
    ahead = rows.ts[acts.launch[good]] - acts.ts[good]
    early = good[ahead > 0]
    if not early.size:
        return None
    worst = int(ahead.max())
    return Doubt(
        "clock-skew",
        len(early),
        worst,
        f"{kinds_text(trace, early)} begin before their launch does (by up to {time_text(worst)}): host and device "
        "clocks disagree by at least that much, so launch delays are not to be trusted below it.",
    )


def whole_microseconds(trace: Trace, _steps: Timeline) -> Doubt | None:
    """Times without digits below the microsecond."""
    if trace.raw.fractions or not len(trace.rows):
        return None
    acts = trace.activities
    short = int(np.count_nonzero(acts.timed & (acts.dur <= _SHORT_NS)))
    note = (
        f" {short:,} of {len(acts):,} activities last 1 us or less: ratios built on them are imprecise."
        if short
        else ""
    )
    return Doubt("whole-microseconds", len(trace.rows), 0, f"Times are whole microseconds.{note}")


def crossing_ranges(trace: Trace, _steps: Timeline) -> Doubt | None:
    """Host ranges of one thread that overlap without nesting."""
    kind = trace.rows.category[trace.host_rows]
    number = trace.host_forest.crossings((kind == Category.CPU_OP) | (kind == Category.ANNOTATION))
    if not number:
        return None
    return Doubt(
        "crossing-ranges",
        number,
        0,
        f"{count_text(number, 'op or annotation ends', 'ops or annotations end')} after the range it began in: each is "
        "placed by its start, none is dropped.",
    )
