"""Communication: NCCL and RCCL, PyTorch's symmetric memory, NVSHMEM and DeepEP, vLLM's own all-reduce."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import dtype_words
from foretrace.names.libraries.table import Function, read_table
from foretrace.names.reading import Reading

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read"]

_COLLECTIVES: Final = {
    "AllReduce": "all_reduce",
    "AllGather": "all_gather",
    "ReduceScatter": "reduce_scatter",
    "AllToAll": "all_to_all",
    "Broadcast": "broadcast",
    "SendRecv": "send and receive",
    "Reduce": "reduce",
    "Scatter": "scatter",
    "Gather": "gather",
    "Generic": None,
}

_PROTOCOLS: Final = {
    "LL": "low-latency protocol, for small messages",
    "LL128": "low-latency protocol in 128-byte lines",
    "SIMPLE": "protocol for large messages",
}

_ALGORITHMS: Final = {
    "RING": "along a ring",
    "TREE": "along a tree",
    "COLLNET": "reduced inside the network",
    "COLLNET_DIRECT": "reduced inside the network",
    "NVLS": "reduced inside the NVLink switch",
    "PAT": "by parallel aggregated trees",
}

_DTYPES: Final = {
    "float": "fp32",
    "f32": "fp32",
    "double": "fp64",
    "f64": "fp64",
    "half": "fp16",
    "f16": "fp16",
    "bf16": "bf16",
    "int8": "int8",
    "i8": "int8",
    "u8": "uint8",
    "int32": "int32",
    "int64": "int64",
    "f8e4m3": "fp8_e4m3",
    "f8e5m2": "fp8_e5m2",
}

_OTHERS: Final[tuple[Function, ...]] = (
    Function("get_dispatch_layout", "setup", "expert layout", "counts the tokens of each expert and rank"),
    Function("notify_dispatch", "communication", "notify", "tells the other ranks how many tokens will come"),
    Function("cached_notify", "communication", "notify", "tells the other ranks that buffers are free"),
    Function("dispatch", "communication", "dispatch", "sends tokens to the ranks of their experts"),
    Function("combine", "communication", "combine", "collects the experts' results"),
    Function("multimem_all_reduce", "communication", "all_reduce", "all-reduce inside the NVLink switch"),
    Function("multimem_all_gather", "communication", "all_gather", "all-gather through the NVLink switch"),
    Function("all_reduce", "communication", "all_reduce", "all-reduce"),
    Function("allreduce", "communication", "all_reduce", "all-reduce"),
    Function("cross_device_reduce", "communication", "all_reduce", "vLLM's all-reduce over NVLink"),
    Function("reduce_scatter", "communication", "reduce_scatter", "reduce-scatter"),
    Function("all_gather", "communication", "all_gather", "all-gather"),
    Function("barrier", "communication", "barrier", "waits for the other devices"),
    Function("put_signal", "communication", "signal", "signals another device"),
    Function("wait_signal", "communication", "wait", "waits for a signal"),
    Function("", "communication", None, "communication between devices"),
)


# Mark -> whose kernel it is; without an entry, PyTorch's symmetric memory.
_OWNERS: Final = {
    "nccl": ("NCCL", "NCCL: communication between devices"),
    "rccl": ("RCCL", "RCCL, AMD's NCCL: communication between devices"),
    "msccl": ("RCCL", "MSCCL, in RCCL: communication between devices"),
    "deep_ep": ("DeepEP", "expert-parallel communication (DeepEP)"),
    "::ep::": ("DeepEP", "expert-parallel communication (DeepEP)"),
    "nvshmem": ("NVSHMEM", "NVSHMEM: memory shared between devices"),
    "cross_device_reduce": ("vLLM", "vLLM's communication over NVLink"),
    "allreduce_fusion": ("TensorRT-LLM", "TensorRT-LLM's communication over NVLink"),
}


@functools.cache
def _kernel() -> re.Pattern[str]:
    # ncclKernel_AllReduce_RING_LL_Sum_float, ncclDevKernel_AllGather_RING_LL, ncclSymkDevKernel_...
    return re.compile(r"((?:nccl|rccl|msccl)\w*?Kernel)_(\w+)")


def _read_kernel(name: Name, found: re.Match[str]) -> Reading:
    reading = Reading(name)
    start = found[1]
    library = "RCCL" if start.startswith(("rccl", "msccl")) else "NCCL"
    meaning = "NCCL" if library == "NCCL" else "RCCL, AMD's NCCL"
    reading.say(start, f"{meaning}: communication between devices", library=library, role="communication")
    for piece in found[2].split("_"):
        if piece in _COLLECTIVES:
            op = _COLLECTIVES[piece]
            reading.say(piece, op or "several operations in one kernel; the name does not say which", op=op)
        elif piece in _ALGORITHMS:
            reading.say(piece, _ALGORITHMS[piece])
        elif piece in _PROTOCOLS:
            reading.say(piece, _PROTOCOLS[piece])
        elif piece in ("Sum", "Prod", "Max", "Min", "Avg", "PreMulSum", "SumPostDiv"):
            reading.say(piece, "how values are combined")
        elif piece in _DTYPES:
            dtype = _DTYPES[piece]
            reading.say(piece, f"values in {dtype_words(dtype)}", input_dtype=dtype)
    return reading


def read(name: Name, mark: str) -> Reading | None:
    """Take the name of a communication kernel apart."""
    found = _kernel().match(name.head)
    if found is not None:
        return _read_kernel(name, found)
    library, meaning = _OWNERS.get(mark, ("ATen", "PyTorch's symmetric memory"))
    if "vllm" in name.head:
        library, meaning = "vLLM", "vLLM"
    elif "flashinfer" in name.head:
        library, meaning = "FlashInfer", "FlashInfer"
    return read_table(name, library, mark, meaning, _OTHERS)
