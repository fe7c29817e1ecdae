"""Measure what this card really reaches: the rate of a large copy, and of large matrix products by dtype.

Each figure is the best of some repeats after a warm-up, timed by the device's own clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from foretrace.capture.needs_torch import import_torch
from foretrace.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Calibration", "calibrate", "calibration_toml"]

_REPEATS: Final = 10
_WARM_UPS: Final = 3
_COPY_BYTES: Final = 2 << 30
_PRODUCT: Final = 8192
# Formats that consumer cards do at a small fraction of the rate get a smaller product, so that a minute suffices.
_SMALL_PRODUCT: Final = 2048
_MS: Final = 1e-3


@dataclass(frozen=True)
class Calibration:
    """What one card reached."""

    device: str
    torch: str
    bytes_per_s: float
    """Of a copy on the device, bytes read and bytes written together."""
    tensor_core: dict[str, float]
    """FLOP/s of matrix products by dtype."""
    cuda_core: dict[str, float]


def _best_seconds(torch: Any, work: Callable[[], Any]) -> float:
    for _ in range(_WARM_UPS):
        work()
    best = float("inf")
    for _ in range(_REPEATS):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        stop.record()
        stop.synchronize()
        best = min(best, start.elapsed_time(stop) * _MS)
    return best


def _bandwidth(torch: Any) -> float:
    free, _ = torch.cuda.mem_get_info()
    size = min(_COPY_BYTES, free // 4)
    source = torch.empty(size, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    seconds = _best_seconds(torch, lambda: target.copy_(source))
    return 2.0 * float(size) / seconds


def _product_rate(torch: Any, dtype: Any, size: int) -> float:
    # Random numbers: zeros draw less power and reach a higher clock than any real work.
    left, right = (torch.randn(size, size, device="cuda", dtype=torch.float32).to(dtype) for _ in range(2))
    out = torch.empty(size, size, device="cuda", dtype=dtype)
    seconds = _best_seconds(torch, lambda: torch.mm(left, right, out=out))
    return 2.0 * float(size) ** 3 / seconds


def _fp8_rate(torch: Any, size: int) -> float | None:
    """Of float8 products; None where this card or this PyTorch has none."""
    try:
        left = torch.randn(size, size, device="cuda").to(torch.float8_e4m3fn)
        right = torch.randn(size, size, device="cuda").to(torch.float8_e4m3fn).t()
        scale = torch.ones((), device="cuda")
        seconds = _best_seconds(
            torch,
            lambda: torch._scaled_mm(left, right, scale, scale, out_dtype=torch.bfloat16),  # noqa: SLF001
        )
    except (RuntimeError, AttributeError, TypeError, ValueError):
        return None
    return 2.0 * float(size) ** 3 / seconds


def calibrate() -> Calibration:
    """Measure the first device that PyTorch sees.

    Raises:
        CaptureError: PyTorch is not installed, or sees no CUDA or ROCm device.
    """
    torch = import_torch()
    if not torch.cuda.is_available():
        raise CaptureError("there is no device to measure: PyTorch sees neither CUDA nor ROCm here.")
    allowed = torch.backends.cuda.matmul.allow_tf32
    tensor: dict[str, float] = {}
    vector: dict[str, float] = {}
    try:
        bandwidth = _bandwidth(torch)
        if torch.cuda.is_bf16_supported(including_emulation=False):
            tensor["bf16"] = _product_rate(torch, torch.bfloat16, _PRODUCT)
        tensor["fp16"] = _product_rate(torch, torch.float16, _PRODUCT)
        torch.backends.cuda.matmul.allow_tf32 = False
        vector["fp32"] = _product_rate(torch, torch.float32, _PRODUCT // 2)
        if torch.cuda.get_device_capability() >= (8, 0) and not torch.version.hip:
            torch.backends.cuda.matmul.allow_tf32 = True
            tensor["tf32"] = _product_rate(torch, torch.float32, _PRODUCT)
        # Of float64 too it is the rate of products: on data-center cards they run on tensor cores.
        tensor["fp64"] = _product_rate(torch, torch.float64, _SMALL_PRODUCT)
        if (eight := _fp8_rate(torch, _PRODUCT)) is not None:
            tensor["fp8"] = eight
    except torch.cuda.OutOfMemoryError as error:
        raise CaptureError("the device's memory does not suffice to measure it; free some and try again.") from error
    finally:
        torch.backends.cuda.matmul.allow_tf32 = allowed
    return Calibration(torch.cuda.get_device_name(), str(torch.__version__), bandwidth, tensor, vector)


def calibration_toml(found: Calibration) -> str:
    """The file of peak rates that the measurement gives, as ``foretrace`` reads it."""

    def rates(table: dict[str, float]) -> str:
        return "{ " + ", ".join(f"{dtype} = {rate:.4g}" for dtype, rate in table.items()) + " }"

    quoted = found.device.replace("\\", "\\\\").replace('"', '\\"')
    return (
        f'["{quoted}"]\n'
        f'source = "measured with torch {found.torch}: best of {_REPEATS} large copies and matrix products"\n'
        f"bandwidth = {found.bytes_per_s:.4g}\n"
        f"tensor_core = {rates(found.tensor_core)}\n"
        f"cuda_core = {rates(found.cuda_core)}\n"
    )
