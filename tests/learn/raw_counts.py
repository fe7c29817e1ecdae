"""What a recording holds, counted in a few lines from its JSON, without foretrace's reader."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from foretrace.learn.recorded import SHIPPED, Shelf

if TYPE_CHECKING:
    from collections.abc import Callable

_DEVICE = {"kernel": "kernels", "gpu_memcpy": "memcpys", "gpu_memset": "memsets"}


def events(name: str, folder: Path = SHIPPED) -> list[dict[str, Any]]:
    """The complete events of a recording."""
    text = gzip.decompress((folder / f"{name}.json.gz").read_bytes())
    return [event for event in json.loads(text)["traceEvents"] if event.get("ph") == "X"]


@dataclass(frozen=True)
class RawStep:
    name: str
    start: float
    end: float
    work: list[dict[str, Any]]
    """Its activities, each with ``launch``, the event of its launch; in launch order."""

    def count(self, category: str) -> int:
        return sum(event["cat"] == category for event in self.work)

    @property
    def device_us(self) -> float:
        return sum(event["dur"] for event in self.work)

    @property
    def cpu_us(self) -> float:
        return self.end - self.start

    @property
    def first(self) -> float:
        return min(event["ts"] for event in self.work)


@dataclass(frozen=True)
class RawCounts:
    steps: list[RawStep]
    unlinked: list[dict[str, Any]]
    kernels_in_file: int

    @property
    def warm(self) -> list[RawStep]:
        """Without a cold first step."""
        widths = [step.end - step.start for step in self.steps]
        others = median(widths[1:]) if len(widths) > 1 else widths[0]
        cold = len(widths) > 1 and widths[0] > 1.5 * others and widths[0] - others >= 1000
        return self.steps[1:] if cold else self.steps

    @property
    def shown(self) -> RawStep:
        """The step that lessons look at: the one nearest to the medians, the device's time counting tenfold."""
        device = median(step.device_us for step in self.warm)
        cpu = median(step.cpu_us for step in self.warm)
        return min(self.warm, key=lambda step: 10 * abs(step.device_us / device - 1) + abs(step.cpu_us / cpu - 1))

    def per_step(self, category: str) -> float:
        return median(step.count(category) for step in self.warm)

    @property
    def device_us(self) -> float:
        return self.shown.device_us

    @property
    def cpu_us(self) -> float:
        return self.shown.cpu_us

    @property
    def period_us(self) -> float:
        starts = [step.first for step in self.warm]
        return median(b - a for a, b in pairwise(starts))


def counts(name: str, folder: Path = SHIPPED) -> RawCounts:
    """Steps and their activities: an activity belongs to the step in which its launch begins."""
    every = events(name, folder)
    calls = {
        event["args"]["correlation"]: event
        for event in every
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and event["args"].get("correlation")
    }
    ranges = sorted(
        (event for event in every if event["name"].startswith("ProfilerStep#") and event["cat"] == "user_annotation"),
        key=lambda event: event["ts"],
    )
    acts = [event for event in every if event.get("cat") in _DEVICE]
    for act in acts:
        act["launch"] = calls.get(act["args"].get("correlation"))
    steps = [
        RawStep(
            each["name"],
            each["ts"],
            each["ts"] + each["dur"],
            sorted(
                (act for act in acts if act["launch"] and each["ts"] <= act["launch"]["ts"] < each["ts"] + each["dur"]),
                key=lambda act: (act["launch"]["ts"], act["ts"]),
            ),
        )
        for each in ranges
    ]
    return RawCounts(
        steps,
        [act for act in acts if act["launch"] is None],
        sum(act["cat"] == "kernel" for act in acts),
    )


def mutated(tmp_path: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None], *names: str) -> Shelf:
    """The shipped recordings, some of them (all where none is named) with each event changed or dropped."""
    folder = tmp_path / "mutated"
    shutil.copytree(SHIPPED, folder)
    for path in folder.glob("*.json.gz"):
        if names and path.name.removesuffix(".json.gz") not in names:
            continue
        content = json.loads(gzip.decompress(path.read_bytes()))
        kept = [change(event) for event in content["traceEvents"]]
        content["traceEvents"] = [event for event in kept if event is not None]
        path.write_bytes(gzip.compress(json.dumps(content).encode()))
    return Shelf(folder)
