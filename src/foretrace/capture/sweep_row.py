"""A row of a sweep: one variant at one case, measured, or the reason why not. Needs no torch.

A case is a shape; a sweep is cases times variants. Rows are written as JSON lines, each complete in itself (shape,
device and releases included), so that rows of several sweeps can be read together.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from foretrace.capture.recording import DeviceInfo, ShapeInfo, WallTime  # noqa: TC001 - msgspec reads the types

__all__ = ["DTYPE_WORDS", "FAILURES", "Status", "SweepRow", "case_name"]

Status = Literal["ok", "unsupported", "raised", "out-of-memory", "timed-out", "crashed"]

FAILURES: Final[dict[Status, str]] = {
    "unsupported": "cannot run",
    "raised": "raised an error",
    "out-of-memory": "ran out of memory",
    "timed-out": "ran into the time limit",
    "crashed": "took its worker process down",
}

DTYPE_WORDS: Final = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "float64": "fp64"}


class SweepRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One variant at one case."""

    case: str
    """``case_name`` of the shape."""
    variant: str
    status: Status
    reason: str | None = None
    """Why there is no time; of a row that has one, what is wrong with the result."""
    backend: str | None = None
    """The SDPA backend that ran; for ``auto`` the one that PyTorch's dispatch chose."""
    shape: ShapeInfo
    time_ns: WallTime | None = None
    """Time of one call on the device (on a CPU: by the clock); each of ``runs`` is the mean of a block of calls."""
    host_ns: int | None = None
    """The least time the host took to enqueue one call; above ``time_ns`` a loop of such calls waits for the host."""
    samples_ns: tuple[int, ...] | None = None
    """The runs of ``time_ns`` one by one, where they were asked for."""
    peak_memory_bytes: int | None = None
    """The most that one call allocated beyond what was allocated before it."""
    max_abs_error: float | None = None
    """Of the output, against float64."""
    kernels: int | None = None
    """Kernels a call, from the trace."""
    memcpys: int | None = None
    memsets: int | None = None
    trace: str | None = None
    """Name of the trace in the folder ``traces``."""
    device: DeviceInfo | None = None
    """What it ran on, with driver and releases; None where no worker ever came up."""

    @property
    def key(self) -> tuple[str, str]:
        """What makes the row the only one of its kind in a sweep."""
        return self.case, self.variant


def case_name(shape: ShapeInfo) -> str:
    """The case's name, e.g. ``forward-b8-h16-l1024-d64-bf16-causal``; what is as usual is left out."""
    heads = f"h{shape.heads}" + (f"kv{shape.kv_heads}" if shape.kv_heads != shape.heads else "")
    length = f"l{shape.length}" + (f"kv{shape.kv_length}" if shape.kv_length != shape.length else "")
    parts = ["training" if shape.training else "forward", f"b{shape.batch}", heads, length, f"d{shape.head_dim}"]
    parts += [DTYPE_WORDS.get(shape.dtype, shape.dtype), "causal" if shape.causal else "full"]
    if shape.mask != "none":
        parts.append(shape.mask)
    return "-".join(parts)
