"""A small trace in a few lines. Times are microseconds, as in the files.

trace = (
    Build()
    .step(0, 0, 100)
    .op("aten::mm", 10, 30)
    .kernel("gemm", ts=50, dur=20, launched=15)
    .load()
)
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from foretrace.trace.link import link
from foretrace.trace.model import Trace
from foretrace.trace.parse import parse_events

HOST = 1
"""The process of everything on the host, and its first thread."""

SHARED = Path(__file__).parents[2] / "shared"
"""Recordings of others that only some machines have; tests over them skip elsewhere."""


class Build:
    """Events in the order they are added."""

    def __init__(self, **header: Any) -> None:
        self.header: dict[str, Any] = {"schemaVersion": 1, **header}
        self.events: list[dict[str, Any]] = []
        self._correlation = 0
        self._external = 0

    def event(self, **fields: Any) -> Build:
        """Any entry, as it stands."""
        self.events.append(fields)
        return self

    def x(self, cat: str, name: str, ts: Any, dur: Any, tid: Any = HOST, pid: Any = HOST, **args: Any) -> Build:
        """A complete event; arguments with spaces are given as a dict through ``args``."""
        return self.event(ph="X", cat=cat, name=name, pid=pid, tid=tid, ts=ts, dur=dur, args=args)

    def op(self, name: str, ts: float, dur: float, tid: Any = HOST, **args: Any) -> Build:
        """An op; ``dims``, ``types``, ``strides``, ``concrete`` are its recorded inputs."""
        self._external += 1
        words = {"dims": "Input Dims", "types": "Input type", "strides": "Input Strides", "concrete": "Concrete Inputs"}
        words |= {"sequence": "Sequence number", "forward_thread": "Fwd thread id"}
        named = {words.get(key, key): value for key, value in args.items()}
        return self.x("cpu_op", name, ts, dur, tid, **{"External id": self._external, **named})

    def annotation(self, name: str, ts: float, dur: float, tid: Any = HOST) -> Build:
        """A ``record_function`` range."""
        return self.x("user_annotation", name, ts, dur, tid)

    def step(self, number: int, ts: float, dur: float, tid: Any = HOST) -> Build:
        """``ProfilerStep#number``."""
        return self.annotation(f"ProfilerStep#{number}", ts, dur, tid)

    def frame(self, name: str, ts: float, dur: float, tid: Any = HOST) -> Build:
        """A Python frame."""
        return self.x("python_function", name, ts, dur, tid)

    def call(
        self, name: str, ts: float, dur: float = 5, tid: Any = HOST, cat: str = "cuda_runtime", **args: Any
    ) -> Build:
        """A runtime call; it gets a correlation of its own unless one is given."""
        self._correlation += 1
        return self.x(cat, name, ts, dur, tid, **{"correlation": self._correlation, **args})

    def activity(
        self,
        name: str,
        ts: Any,
        dur: Any,
        launched: float | None = None,
        cat: str = "kernel",
        launch: str = "cudaLaunchKernel",
        tid: Any = HOST,
        device: int = 0,
        stream: int = 7,
        **args: Any,
    ) -> Build:
        """Device activity, and at ``launched`` the call that launched it (None: its launch is not in the file)."""
        if launched is not None:
            self.call(launch, launched, tid=tid)
        elif "correlation" not in args:
            self._correlation += 1
        given = {"device": device, "stream": stream, "correlation": self._correlation, **args}
        return self.x(cat, name, ts, dur, stream, device, **given)

    def kernel(self, name: str, ts: Any, dur: Any, launched: float | None = None, **more: Any) -> Build:
        """A kernel."""
        return self.activity(name, ts, dur, launched, **more)

    def memcpy(self, name: str, ts: Any, dur: Any, launched: float | None = None, **more: Any) -> Build:
        """A copy, e.g. ``Memcpy DtoD (Device -> Device)``."""
        return self.activity(name, ts, dur, launched, cat="gpu_memcpy", launch="cudaMemcpyAsync", **more)

    def memset(self, ts: Any, dur: Any, launched: float | None = None, **more: Any) -> Build:
        """A memset."""
        return self.activity("Memset (Device)", ts, dur, launched, cat="gpu_memset", launch="cudaMemsetAsync", **more)

    def replay(
        self, kernels: list[str], ts: float, dur: float, launched: float, launch: str = "cudaGraphLaunch"
    ) -> Build:
        """A graph launch and its kernels, one after another."""
        self.call(launch, launched)
        for at, name in enumerate(kernels):
            self.kernel(name, ts + at * dur, dur, correlation=self._correlation)
        return self

    def gpu(self, name: str = "NVIDIA H200", **more: Any) -> Build:
        """A device in the header, an H200 unless said otherwise."""
        device = {
            "id": len(self.header.setdefault("deviceProperties", [])),
            "name": name,
            "computeMajor": 9,
            "computeMinor": 0,
            "maxThreadsPerBlock": 1024,
            "maxThreadsPerMultiprocessor": 2048,
            "regsPerBlock": 65536,
            "warpSize": 32,
            "sharedMemPerBlock": 49152,
            "numSms": 132,
            "regsPerMultiprocessor": 65536,
            "sharedMemPerBlockOptin": 232448,
            "sharedMemPerMultiprocessor": 233472,
        }
        self.header["deviceProperties"].append(device | more)
        return self

    def text(self) -> bytes:
        """The file."""
        return json.dumps({**self.header, "traceEvents": self.events}).encode()

    def load(self, step: str | None = None) -> Trace:
        """The linked trace."""
        text = self.text()
        return link(parse_events(text), path="built.json", file="built.json", size=len(text), step=step)

    def write(self, path: Path) -> Path:
        """Write the file."""
        path.write_bytes(self.text())
        return path
