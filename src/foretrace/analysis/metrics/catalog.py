"""Every metric there is: its name, unit, one sentence, what it needs and which conditions it takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto
from typing import TYPE_CHECKING, Final

from foretrace.analysis.metrics import counts, times
from foretrace.analysis.metrics.attention import backend
from foretrace.analysis.metrics.memory import peak_memory
from foretrace.analysis.metrics.metric import Unit
from foretrace.analysis.metrics.units_used import fp32_gemms, tensor_core_share
from foretrace.trace.kineto import Category

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretrace.analysis.metrics.basis import Basis
    from foretrace.analysis.metrics.metric import Figure
    from foretrace.analysis.metrics.quantity import Select

__all__ = ["ACTIVITY", "CATALOG", "COPY", "KERNEL", "NAME", "Definition", "Needs"]


class Needs(Flag):
    """What a trace must hold for a metric to have a value."""

    NOTHING = 0
    DEVICE = auto()
    """Device activity that is tied to its launch."""
    CALLS = auto()
    """Runtime calls."""
    OPS = auto()
    """Ops."""
    HOST = auto()
    """Anything timed on the host."""


KERNEL: Final = ("pattern", "regex", "role", "unit", "library", "dtype", "launch")
"""Conditions on kernels."""
COPY: Final = ("pattern", "regex", "direction", "launch")
"""Conditions on memcpys."""
ACTIVITY: Final = (*KERNEL, "direction")
"""Conditions on any device activity."""
NAME: Final = ("pattern", "regex")
"""Conditions on ops and runtime calls."""


@dataclass(frozen=True)
class Definition:
    """One metric."""

    name: str
    unit: Unit
    text: str
    measure: Callable[[Basis, Select], Figure]
    needs: Needs = Needs.DEVICE
    takes: tuple[str, ...] = ()
    """The conditions that choose its events."""
    narrows: bool = True
    """It can be narrowed to an op or an annotation."""
    counts: tuple[Category, ...] | None = None
    """The kinds of device activity it counts; None is all of them."""
    whole: bool = False
    """It is of the whole recording, not of a step."""
    listed: bool = True
    """It is among all metrics of a trace; else only of a scope."""


_WAYS: Final = {
    "HtoD": "from host to device",
    "DtoH": "from device to host",
    "DtoD": "within a device",
    "PtoP": "between devices",
}


_ALL: Final = (
    Definition("steps", Unit.COUNT, "Steps that figures are over, a cold first one left out.", counts.steps,
               Needs.NOTHING, narrows=False, whole=True),
    Definition("calls", Unit.COUNT, "Calls of the op or annotation that figures are narrowed to.", counts.calls,
               Needs.NOTHING, listed=False),
    Definition("kernels", Unit.COUNT, "Kernels.", counts.activity_count(Category.KERNEL), takes=KERNEL,
               counts=(Category.KERNEL,)),
    Definition("memcpys", Unit.COUNT, "Copies by the driver, in any direction.",
               counts.activity_count(Category.MEMCPY), takes=COPY, counts=(Category.MEMCPY,)),
    Definition("memsets", Unit.COUNT, "Fills by the driver.", counts.activity_count(Category.MEMSET),
               takes=("pattern", "regex", "launch"), counts=(Category.MEMSET,)),
    Definition("launches", Unit.COUNT, "Runtime calls that enqueue device work.", counts.launches, Needs.CALLS, NAME),
    Definition("syncs", Unit.COUNT, "Runtime calls in which the host waits for the device.", counts.syncs, Needs.CALLS,
               NAME),
    Definition("ops", Unit.COUNT, "Ops on the host, with those inside others.", counts.ops, Needs.OPS, NAME),
    Definition("device_time", Unit.NS, "Sum of the durations of device activity.", times.device_time, takes=ACTIVITY),
    Definition("busy", Unit.NS, "Time in which the busiest device works, each moment once.", times.busy,
               takes=ACTIVITY),
    Definition("busy_share", Unit.SHARE, "Busy time over the period.", times.busy_share, takes=ACTIVITY),
    Definition("cpu_time", Unit.NS, "Length of the step, or of the narrowed calls, on the host.", times.cpu_time,
               Needs.HOST),
    Definition("period", Unit.NS, "Median distance between the first device activities of successive steps.",
               times.period, narrows=False),
    Definition("lag", Unit.NS, "Longest wait between a launch and its activity.", times.lag, narrows=False),
    Definition("bound", Unit.TEXT, "What limits a step: device, cpu or mixed.", times.bound, narrows=False),
    *(
        Definition(f"memcpys_{way.lower()}", Unit.COUNT, f"Memcpys {text}.", counts.copies(way), takes=NAME,
                   counts=(Category.MEMCPY,))
        for way, text in _WAYS.items()
    ),
    *(
        Definition(f"copied_bytes_{way.lower()}", Unit.BYTES, f"Bytes that memcpys move {text}.",
                   counts.copied_bytes(way), takes=NAME, counts=(Category.MEMCPY,))
        for way, text in _WAYS.items()
    ),
    Definition("copied_bytes", Unit.BYTES, "Bytes that all memcpys move.", counts.copied_bytes(), takes=COPY,
               counts=(Category.MEMCPY,)),
    Definition("tensor_core_share", Unit.SHARE, "Share of GEMM and attention time that runs on tensor cores.",
               tensor_core_share, takes=KERNEL),
    Definition("fp32_cuda_core_gemms", Unit.COUNT, "GEMM kernels in fp32 on CUDA cores.", fp32_gemms, takes=KERNEL,
               counts=(Category.KERNEL,)),
    Definition("attention_calls", Unit.COUNT, "Attention calls.", counts.attention_calls, Needs.OPS),
    Definition("backend", Unit.TEXT, "What computed the attention calls.", backend, Needs.OPS),
    Definition("peak_memory", Unit.BYTES, "The most that PyTorch's allocator held at once.", peak_memory,
               Needs.NOTHING, narrows=False, whole=True),
    Definition("unlinked", Unit.COUNT, "Device activity in the file whose launch is not, in no step and no op.",
               counts.unlinked, Needs.NOTHING, narrows=False, whole=True),
)  # fmt: skip

CATALOG: Final[dict[str, Definition]] = {definition.name: definition for definition in _ALL}
