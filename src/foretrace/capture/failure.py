"""What kind of failure an exception is: a refusal, memory, or anything else; and whether the device survives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.errors import CaptureError

if TYPE_CHECKING:
    from foretrace.capture.sweep_row import Status

__all__ = ["is_memory", "leaves_device_broken", "status_of"]

# torch's CPU allocator, CUDA's, HIP's, cuBLAS' handle creation, and a thread that could not get its stack.
_MEMORY: Final = (
    "out of memory",
    "can't allocate memory",
    "cannot allocate memory",
    "not enough memory",
    "_alloc_failed",
)
# What PyTorch says when a pinned backend, or an op on this device, cannot take the call.
_REFUSALS: Final = ("no available kernel", "no viable backend", "not implemented for", "not currently implemented")
_BROKEN: Final = ("cuda error", "hip error", "device-side assert", "illegal memory access")


def is_memory(error: BaseException) -> bool:
    """Whether memory ran out."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, (RuntimeError, OSError)) and _says(error, _MEMORY)


def status_of(error: BaseException) -> Status:
    """The status of a row whose variant raised this."""
    if is_memory(error):
        return "out-of-memory"
    if isinstance(error, (CaptureError, NotImplementedError)):
        return "unsupported"
    return "unsupported" if isinstance(error, RuntimeError) and _says(error, _REFUSALS) else "raised"


def leaves_device_broken(error: BaseException) -> bool:
    """Whether nothing can run on the device any more in this process."""
    return type(error).__name__ == "AcceleratorError" or (isinstance(error, RuntimeError) and _says(error, _BROKEN))


def _says(error: BaseException, words: tuple[str, ...]) -> bool:
    text = str(error).lower()
    return any(word in text for word in words)
