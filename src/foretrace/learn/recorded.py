"""A lesson's recordings, and the facts that its sentences are made of."""

from __future__ import annotations

import string
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from foretrace.analysis.fingerprints import row_occupancy
from foretrace.analysis.launches import KIND_NAMES
from foretrace.analysis.roofline.recorded import trace_roofline
from foretrace.analysis.shapes import op_inputs
from foretrace.analysis.tree import step_tree
from foretrace.capture.recording import DeviceInfo  # noqa: TC001 - msgspec reads the annotation
from foretrace.errors import MissingDataError, TraceFormatError
from foretrace.learn.work import Work
from foretrace.names.decode import decode
from foretrace.report.data import reading
from foretrace.report.escape import plain
from foretrace.trace.kineto import Category
from foretrace.trace.load import load_trace
from foretrace.trace.raw import MISSING

if TYPE_CHECKING:
    from foretrace.analysis.roofline.bound import Bound
    from foretrace.analysis.roofline.recorded import TraceRoofline
    from foretrace.analysis.timeline import PerStep, Step
    from foretrace.analysis.tree import Node
    from foretrace.names.occupancy import Occupancy
    from foretrace.report.data import Reading
    from foretrace.trace.model import Trace

__all__ = ["ABOUT", "SHIPPED", "About", "Notes", "Recorded", "Shelf", "Work"]

SHIPPED: Final = Path(__file__).parent / "recordings"
"""The recordings in the package."""
ABOUT: Final = "lessons.json"
"""What a folder of recordings holds beside the traces."""

_DEVICE_FIRST: Final = 10
"""How much more a step's time on the device says about how usual it is than its time on the CPU, which varies."""
_LETTERS: Final = string.ascii_lowercase + string.ascii_uppercase


class Notes(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured beside the traces."""

    autograd: str | None = None
    """What autograd raised where a saved value was overwritten."""
    gradient_difference: float | None = None
    """Largest difference between the gradients of attention masked out of place and in place."""
    masked_rows: dict[str, str] = {}
    """Variant -> what a row without any key gives under an additive mask: ``nan``, ``zero``, ``mean``, ..."""
    peak_memory_bytes: dict[str, int] = {}
    """Recording -> the most that one call allocated."""


class About(msgspec.Struct, frozen=True, kw_only=True):
    """What ``lessons.json`` holds."""

    schema: int = 1
    foretrace: str = ""
    device: DeviceInfo | None = None
    refused: dict[str, str] = {}
    """Recording -> why it could not be made."""
    notes: Notes = Notes()


class Recorded:
    """One recording: a trace, and a step of it to look at."""

    def __init__(self, name: str, trace: Trace) -> None:
        """Raises ``MissingDataError`` for a trace without device activity."""
        self.name = name
        self.trace = trace
        if not trace.activities.linked.any():
            raise MissingDataError(
                f"{trace.file}: no device activity is tied to a launch, and lessons are about what the GPU does; "
                "record on a machine with a CUDA device."
            )

    @cached_property
    def reading(self) -> Reading:
        """Its tables."""
        return reading(self.trace)

    @property
    def per_step(self) -> PerStep:
        """Figures over the steps."""
        return self.reading.timeline.per_step

    @property
    def steps(self) -> list[Step]:
        """The steps."""
        return self.reading.timeline.steps

    @property
    def kernels(self) -> float:
        """Kernels a step."""
        return self.per_step.kernels.value

    @property
    def memcpys(self) -> float:
        """Memcpys a step."""
        return self.per_step.memcpys.value

    @property
    def device_ns(self) -> float:
        """Device time of the step to look at: what its table adds up to."""
        return self._looked_at.device_time_ns

    @property
    def cpu_ns(self) -> float:
        """The step to look at on the host, from begin to end."""
        return self._looked_at.cpu_time_ns

    @property
    def period_ns(self) -> float:
        """From one step's first device activity to the next one's; of a single step, its span on the device."""
        return self.per_step.period_ns or self.device_ns

    @property
    def busy_share(self) -> float:
        """Of the period: how much of it the step to look at keeps the device busy, 0 to 1."""
        return min(1.0, self._looked_at.busy_ns / self.period_ns) if self.period_ns else 0.0

    @property
    def bound(self) -> str:
        """``device``, ``cpu``, ``mixed`` or ``unknown``."""
        return self.per_step.bound

    @property
    def later_cpu_ns(self) -> float:
        """What the first step is compared with: the median of the later steps on the host."""
        return median(step.cpu_time_ns for step in self.steps[1:])

    @cached_property
    def shown(self) -> int:
        """The step to look at: of those that figures are over the one nearest to their medians."""
        figures = self.per_step

        def unusual(at: int) -> tuple[float, float]:
            step = self.steps[at]
            device, cpu = figures.device_time_ns.median, figures.cpu_time_ns.median
            off = abs(step.device_time_ns - device) / (device or 1), abs(step.cpu_time_ns - cpu) / (cpu or 1)
            return abs(step.kernels - figures.kernels.value), _DEVICE_FIRST * off[0] + off[1]

        return min(self.reading.timeline.used, key=unusual, default=-1)

    @property
    def _looked_at(self) -> Step:
        if self.shown >= 0:
            return self.steps[self.shown]
        window = self.reading.timeline.window
        assert window is not None  # noqa: S101 - a file without steps is one window
        return window

    @property
    def annotation(self) -> str:
        """The annotation around the first launch of the step to look at; empty where there is none."""
        node = next((root for root in self.tree if launched(root)), None)
        while node is not None and node.kind != "op":
            if node.kind == "annotation" and not node.name.startswith("ProfilerStep"):
                return plain(node.name)
            node = next((child for child in node.children if launched(child)), None)
        return ""

    def work_of(self, step: int) -> list[Work]:
        """The activities of a step in the order of their launches (of the whole file where there are no steps)."""
        trace = self.trace
        acts, rows = trace.activities, trace.rows
        chosen = np.flatnonzero((acts.step == step) & acts.linked if step >= 0 else acts.linked)
        order = chosen[np.lexsort((acts.ts[chosen], rows.ts[acts.launch[chosen]]))]
        origin = int(trace.steps.ts[step]) if step >= 0 else 0
        found = []
        for number, at in enumerate(map(int, order)):
            row, launch = int(acts.row[at]), int(acts.launch[at])
            moved = int(acts.bytes[at])
            found.append(
                Work(
                    at=at,
                    letter=_LETTERS[number] if number < len(_LETTERS) else "*",
                    name=trace.name(row),
                    kind=KIND_NAMES[Category(int(acts.category[at]))],
                    decoded=decode(trace.name(row)),
                    time_ns=int(acts.dur[at]),
                    launch=trace.name(launch),
                    launched_ns=int(rows.ts[launch]) - origin,
                    starts_ns=int(acts.ts[at]) - origin,
                    path=self._path(at),
                    bytes=None if moved == MISSING else moved,
                    graph=bool(acts.graph[at]),
                )
            )
        return found

    @cached_property
    def work(self) -> list[Work]:
        """The activities of the step to look at."""
        return self.work_of(self.shown)

    @property
    def kernel_work(self) -> list[Work]:
        """Of these, the kernels."""
        return [work for work in self.work if work.kind == "kernel"]

    def _path(self, at: int) -> tuple[str, ...]:
        acts, trace = self.trace.activities, self.trace
        if acts.owner[at] >= 0:
            return tuple(trace.op_name(op) for op in trace.op_path(int(acts.owner[at])))
        return (trace.name(int(acts.outer[at])),) if acts.outer[at] >= 0 else ()

    @cached_property
    def tree(self) -> list[Node]:
        """The op tree of the step to look at, one for each thread."""
        return step_tree(self.trace, self.shown if self.shown >= 0 else None)

    @cached_property
    def ops(self) -> list[Node]:
        """Every op of that step, each before those inside it."""
        return [node for root in self.tree for node in _in_order(root) if node.kind == "op"]

    @cached_property
    def top_ops(self) -> list[Node]:
        """Its outermost ops."""
        found: list[Node] = []
        stack = [*reversed(self.tree)]
        while stack:
            node = stack.pop()
            if node.kind == "op":
                found.append(node)
            else:
                stack.extend(reversed(node.children))
        return found

    @property
    def quiet_ops(self) -> list[Node]:
        """The ops under which nothing was launched."""
        return [node for node in self.ops if not launched(node)]

    def occupancy(self, work: Work) -> Occupancy | None:
        """Of one kernel's launch; None where the file does not give it."""
        row = next((row for row in self.reading.kernels if work.at in row.members), None)
        return None if row is None else row_occupancy(self.trace, row)

    def under(self, annotation: str) -> list[Work]:
        """The activities of the step that were launched inside an annotation of this name."""
        trace = self.trace
        rows = trace.rows
        ranges = [row for row in map(int, trace.rows_of(Category.ANNOTATION)) if trace.name(row) == annotation]
        found = []
        for work in self.work:
            launch = int(trace.activities.launch[work.at])
            thread, ts = rows.thread[launch], rows.ts[launch]
            if any(rows.thread[row] == thread and rows.ts[row] <= ts < rows.end[row] for row in ranges):
                found.append(work)
        return found

    def inputs_of(self, work: Work) -> tuple[list[object], list[str]]:
        """Sizes and types of what the op was given that launched this; empty where they were not recorded."""
        owner = int(self.trace.activities.owner[work.at])
        given = op_inputs(self.trace, owner) if owner >= 0 else {}
        return list(given.get("dims") or ()), list(given.get("types") or ())

    def dims(self, op: str, argument: int = 0) -> tuple[int, ...]:
        """The sizes of a tensor that an op of this name was given; empty where they were not recorded."""
        for at in range(len(self.trace.ops)):
            if self.trace.op_name(at) != op:
                continue
            dims = op_inputs(self.trace, at)["dims"] or ()
            given = dims[argument] if argument < len(dims) else None
            if isinstance(given, list) and all(isinstance(size, int) for size in given):
                return tuple(given)
        return ()

    @cached_property
    def roofline(self) -> TraceRoofline:
        """Its ops under the device's roof."""
        return trace_roofline(self.trace)

    def roof(self, name: str) -> Bound | None:
        """An op of the step to look at under the device's roof; None where its work or the device is not known."""
        found = next((op for op in self.roofline.ops if op.name == name), None)
        if found is None:
            return None
        times = [op.device_ns for op in self.ops if op.name == name and op.shapes == found.shapes]
        return found.bound if not any(times) else _at(found.bound, sum(times) / len(times))

    @property
    def device_name(self) -> str:
        """The device that ran it, as the file names it."""
        devices = self.trace.devices
        return plain(devices[0].name) if devices else "an unnamed device"


def _at(bound: Bound, measured_ns: float) -> Bound:
    """The same work, done in another time."""
    slower = measured_ns / bound.measured_ns if bound.measured_ns else 1.0

    def scaled(value: float | None, by: float) -> float | None:
        return None if value is None else value * by

    return replace(
        bound,
        measured_ns=measured_ns,
        over_floor=scaled(bound.over_floor, slower),
        share_of_peak=scaled(bound.share_of_peak, 1 / slower),
        achieved_flops_per_s=scaled(bound.achieved_flops_per_s, 1 / slower),
        achieved_bytes_per_s=scaled(bound.achieved_bytes_per_s, 1 / slower),
    )


def _in_order(root: Node) -> list[Node]:
    order: list[Node] = []
    stack = [root]
    while stack:
        node = stack.pop()
        order.append(node)
        stack.extend(reversed(node.children))
    return order


def launched(node: Node) -> int:
    """How many activities were launched under a node."""
    return sum(each.activity >= 0 for each in node.walk())


class Shelf:
    """A folder of recordings, each read when it is first asked for."""

    def __init__(self, folder: Path = SHIPPED) -> None:
        """Raises ``MissingDataError`` for a folder that holds no recordings of lessons."""
        self.folder = folder
        self._read: dict[str, Recorded] = {}
        try:
            text = (folder / ABOUT).read_bytes()
        except OSError as error:
            raise MissingDataError(
                f"{folder}: no recordings of lessons here; `foretrace learn --record DIR` makes them."
            ) from error
        try:
            self.about = msgspec.json.decode(text, type=About)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise TraceFormatError(f"{folder / ABOUT}: not what `foretrace learn --record` writes: {error}.") from error

    def get(self, name: str) -> Recorded | None:
        """A recording, or None where it is not there."""
        if name not in self._read:
            path = self.folder / f"{name}.json.gz"
            if not path.is_file():
                return None
            self._read[name] = Recorded(name, load_trace(path))
        return self._read[name]

    def __getitem__(self, name: str) -> Recorded:
        """A recording. Raises ``MissingDataError`` where it is not there, with the reason if one is known."""
        found = self.get(name)
        if found is None:
            why = self.about.refused.get(name)
            raise MissingDataError(
                f"{self.folder}: the recording {name} is missing"
                + (f", it could not be made: {why}" if why else "; `foretrace learn --record DIR` makes it")
                + "."
            )
        return found

    @property
    def device_name(self) -> str:
        """The device the recordings were made on."""
        device = self.about.device
        return plain(device.name) if device is not None else "an unnamed device"

    @property
    def made_with(self) -> str:
        """Device and release, for a line under a title."""
        device = self.about.device
        if device is None:
            return "recorded elsewhere"
        release = f", torch {plain(device.torch).partition('+')[0]}" if device.torch else ""
        return f"recorded on {plain(device.name)}{release}"
