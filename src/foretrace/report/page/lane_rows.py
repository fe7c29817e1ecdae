"""Which events the page's lanes hold, and in which order: threads over streams, each nested or in time order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.report.escape import plain
from foretrace.trace.distinct import distinct, is_among
from foretrace.trace.kineto import Category
from foretrace.trace.model import TimeFault
from foretrace.trace.nesting import forest
from foretrace.trace.raw import MISSING
from foretrace.units import count_text

if TYPE_CHECKING:
    from foretrace.analysis.timeline import Timeline
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

__all__ = ["MOST_EVENTS", "Group", "LaneRows", "lane_rows"]

MOST_EVENTS: Final = 400_000
"""More than this make a page slow to open and large to mail; the lanes then hold some steps only."""

_HOST: Final = (
    Category.CPU_OP,
    Category.ANNOTATION,
    Category.RUNTIME,
    Category.DRIVER,
    Category.OVERHEAD,
    Category.PYTHON,
)


@dataclass(frozen=True)
class Group:
    """A thread or a stream: a label, and how many of the ordered events are its own."""

    label: str
    kind: str
    """``thread`` or ``stream``."""
    events: int

    def to_json(self) -> list[Any]:
        """As the page has it."""
        return [self.label, self.kind, self.events]


@dataclass(frozen=True, eq=False)
class LaneRows:
    """The events of the lanes, group after group."""

    host: I64
    """Rows of the trace, by thread, in nesting order."""
    threads: list[Group]
    activities: I64
    """Positions in ``trace.activities``, by stream, in time order."""
    streams: list[Group]
    left_out: str | None
    """One sentence about what the lanes leave out, if anything."""


def lane_rows(trace: Trace, steps: Timeline, most: int = MOST_EVENTS) -> LaneRows:
    """Choose and order the events of the lanes; at most about ``most`` of them, but never less than one step."""
    host = trace.rows_of(*_HOST)
    host = host[trace.rows.fault[host] == TimeFault.NONE]
    host = host[~is_among(host, trace.steps.row)]
    activities = np.flatnonzero(trace.activities.timed)
    left_out = None
    if len(host) + len(activities) > most:
        host, activities, left_out = _fewer(trace, steps, host, activities, most)
    ordered, threads = _threads(trace, host)
    streaming, streams = _streams(trace, activities)
    return LaneRows(ordered, threads, streaming, streams, left_out)


def _fewer(trace: Trace, steps: Timeline, host: I64, activities: I64, most: int) -> tuple[I64, I64, str | None]:
    """Without Python frames; if that is not enough, some steps only, or the beginning of a file without steps."""
    whole = len(host) + len(activities)
    python = trace.rows.category[host] == Category.PYTHON
    host = host[~python]
    without = " without Python frames" if python.any() else ""
    if len(host) + len(activities) <= most:
        return host, activities, f"The lanes leave out {count_text(int(python.sum()), 'Python frame')}."
    if trace.has_steps:
        host, activities, what = _some_steps(trace, steps, host, activities, most)
    else:
        host, activities, what = _beginning(trace, host, activities, most)
    sentence = (
        f"The lanes hold {what}{without}: {len(host) + len(activities):,} of {whole:,} events. "
        "The tables are over the whole file; --max-events raises this bound."
    )
    return host, activities, sentence


def _some_steps(trace: Trace, steps: Timeline, host: I64, activities: I64, most: int) -> tuple[I64, I64, str]:
    used = steps.used or list(range(len(trace.steps)))
    first = used[0]
    number = np.searchsorted(trace.steps.ts, trace.rows.ts[host], side="right") - 1
    weight = np.bincount(number[number >= 0], minlength=len(trace.steps))
    step = trace.activities.step[activities]
    weight = weight + np.bincount(step[step >= 0], minlength=len(trace.steps))
    fitting = int(np.count_nonzero(np.cumsum(weight[first:]) <= most))
    last = first + max(1, fitting) - 1
    start, end = int(trace.steps.ts[first]), int(trace.steps.end[last])
    host = host[(trace.rows.ts[host] >= start) & (trace.rows.ts[host] < end)]
    own = (step >= first) & (step <= last)
    reach = max(end, int(trace.activities.end[activities[own]].max(initial=0)))
    # Other steps' activities that run meanwhile stay: without them the device would look idle.
    meanwhile = (trace.activities.ts[activities] >= start) & (trace.activities.ts[activities] < reach)
    names = trace.step_names
    what = plain(names[first]) if first == last else f"{plain(names[first])} to {plain(names[last])}"
    return host, activities[own | meanwhile], what


def _beginning(trace: Trace, host: I64, activities: I64, most: int) -> tuple[I64, I64, str]:
    acts = trace.activities
    asked = np.where(acts.linked, trace.rows.ts[np.maximum(acts.launch, 0)], acts.ts)[activities]
    times = np.concatenate((trace.rows.ts[host], asked))
    cut = int(np.partition(times, most)[most])
    return host[trace.rows.ts[host] < cut], activities[asked < cut], "the beginning of the file"


def _threads(trace: Trace, host: I64) -> tuple[I64, list[Group]]:
    """Nesting order within each thread; that of the steps first, then those that launch most."""
    rows = trace.rows
    woods = forest(rows.thread[host], rows.ts[host], rows.end[host])
    ordered = host[woods.original]
    launches = np.zeros(len(rows), bool)
    launches[trace.launches] = True
    stepping = set(rows.thread[trace.steps.row].tolist())

    def rank(thread: int) -> tuple[bool, int, int]:
        low, high = woods.bounds[thread]
        return thread not in stepping, -int(np.count_nonzero(launches[ordered[low:high]])), int(rows.ts[ordered[low]])

    spans = [woods.bounds[thread] for thread in sorted(woods.bounds, key=rank)]
    labels = _thread_labels(trace, [int(ordered[low]) for low, _ in spans])
    groups = [Group(label, "thread", high - low) for label, (low, high) in zip(labels, spans, strict=True)]
    parts = [ordered[low:high] for low, high in spans]
    return (np.concatenate(parts) if parts else ordered), groups


def _thread_labels(trace: Trace, rows: list[int]) -> list[str]:
    """The threads' names; with the process where one name stands for several."""
    labels = [plain(trace.thread_label(row)) for row in rows]
    return [
        label if labels.count(label) == 1 else f"{label} of process {plain(trace.thread(row)[0])}"
        for label, row in zip(labels, rows, strict=True)
    ]


def _streams(trace: Trace, activities: I64) -> tuple[I64, list[Group]]:
    acts = trace.activities
    order = np.lexsort((acts.ts[activities], acts.stream[activities], acts.device[activities]))
    ordered = activities[order]
    if not len(ordered):
        return ordered, []
    device, stream = acts.device[ordered], acts.stream[ordered]
    cuts = np.flatnonzero((np.diff(device) != 0) | (np.diff(stream) != 0)) + 1
    several = len(distinct(device)) > 1
    groups = []
    for part in np.split(np.arange(len(ordered)), cuts):
        number, at = int(stream[part[0]]), int(device[part[0]])
        label = "GPU" if not several else f"GPU {at}" if at != MISSING else "GPU (unnumbered)"
        label += f", stream {number}" if number != MISSING else ""
        groups.append(Group(label, "stream", len(part)))
    return ordered, groups
