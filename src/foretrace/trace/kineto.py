"""Every spelling of the trace format, and nothing else.

The words come from Kineto's ``ActivityType`` names and metadata catalogue, from the older PyTorch releases whose
files still circulate (``Operator``, ``Kernel``, ...), and from the back-ends that spell them their own way.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

__all__ = [
    "CATEGORIES",
    "DEVICE_CATEGORIES",
    "GRAPH_LAUNCHES",
    "LAUNCH_NAME",
    "LEGACY_CPU_PROCESS",
    "MODULE_FRAME",
    "STEP_NAME",
    "SYNC_NAME",
    "Category",
]


class Category(IntEnum):
    """What a timed event is, over all spellings."""

    OTHER = 0
    CPU_OP = 1
    ANNOTATION = 2
    PYTHON = 3
    RUNTIME = 4
    DRIVER = 5
    KERNEL = 6
    MEMCPY = 7
    MEMSET = 8
    GPU_ANNOTATION = 9
    OVERHEAD = 10
    SYNC = 11
    PROFILER_RANGE = 12


# Kineto's category text -> category. Both readers are built from this one table.
CATEGORIES: Final[dict[str, Category]] = {
    "cpu_op": Category.CPU_OP,
    "Operator": Category.CPU_OP,
    "user_annotation": Category.ANNOTATION,
    "python_function": Category.PYTHON,
    "cuda_runtime": Category.RUNTIME,
    "Runtime": Category.RUNTIME,
    "hip_runtime": Category.RUNTIME,
    "xpu_runtime": Category.RUNTIME,
    "mtia_runtime": Category.RUNTIME,
    "glow_runtime": Category.RUNTIME,
    "privateuse1_runtime": Category.RUNTIME,
    "cuda_driver": Category.DRIVER,
    "hip_driver": Category.DRIVER,
    "xpu_driver": Category.DRIVER,
    "privateuse1_driver": Category.DRIVER,
    "kernel": Category.KERNEL,
    "Kernel": Category.KERNEL,
    "concurrent_kernel": Category.KERNEL,
    "gpu_memcpy": Category.MEMCPY,
    "Memcpy": Category.MEMCPY,
    "gpu_memset": Category.MEMSET,
    "Memset": Category.MEMSET,
    "gpu_user_annotation": Category.GPU_ANNOTATION,
    "overhead": Category.OVERHEAD,
    "cuda_sync": Category.SYNC,
    "xpu_sync": Category.SYNC,
    "cuda_profiler_range": Category.PROFILER_RANGE,
}

DEVICE_CATEGORIES: Final = (Category.KERNEL, Category.MEMCPY, Category.MEMSET)

# The exporter of the first autograd profiler wrote no category; its process is named like this.
LEGACY_CPU_PROCESS: Final = "CPU functions"

# Names of steps: `torch.profiler` writes the first, releases before 1.9 the second.
STEP_NAME: Final = re.compile(r"Profiler?Step#\d+\Z|ProfileStep#\d+\Z")

# Python frames that stand for the forward of an nn.Module.
MODULE_FRAME: Final = "nn.Module: "

# Runtime calls that enqueue device work, over CUDA, HIP, XPU and driver spellings. A call that device activity
# points to is a launch whatever its name; this pattern finds the launches whose activity is missing.
LAUNCH_NAME: Final = re.compile(
    r"(?:cuda|hip|xpu|cu|ur|ze|piEnqueue|urEnqueue)\w*Launch(?!HostFunc)\w*\Z"
    r"|(?:cuda|hip|cu)Mem(?:cpy|set)\w*\Z"
    r"|(?:ur|pi)Enqueue\w+\Z"
)

# One of these replays a whole captured graph: its activities share its correlation.
GRAPH_LAUNCHES: Final = frozenset({"cudaGraphLaunch", "cuGraphLaunch", "hipGraphLaunch"})

# Runtime calls in which the host waits for the device, over CUDA, HIP, XPU and driver spellings. `cudaMemcpy` without
# `Async` waits as well.
SYNC_NAME: Final = re.compile(
    r"(?:cuda|hip|xpu|cu)(?:Device|Stream|Event|Ctx|Thread)?Synchronize\w*\Z"
    r"|(?:cuda|hip|cu)Memcpy(?!\w*(?:Async|Peer))\w*\Z"
    r"|(?:ur|pi)(?:QueueFinish|EventWait|EventsWait)\Z"
    r"|ze(?:CommandQueue|Event|EventHost|Fence|FenceHost)Synchronize\Z"
)
