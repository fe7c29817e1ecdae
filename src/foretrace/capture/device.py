"""The device under the profiler: which one, and the driver and releases that a recording should name."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from foretrace.capture.needs_torch import import_torch
from foretrace.capture.recording import DeviceInfo
from foretrace.errors import CaptureError

if TYPE_CHECKING:
    import torch

__all__ = ["choose_device", "describe_device", "synchronize"]

_TYPES = ("cpu", "cuda", "xpu")


def choose_device(name: str | None) -> torch.device:
    """The device of that name, or the accelerator that is here, or the CPU. Raises ``CaptureError``."""
    torch = import_torch()
    if name is None:
        for kind in ("cuda", "xpu"):
            module = getattr(torch, kind, None)
            if module is not None and module.is_available():
                return _of(kind)
        return _of("cpu")
    kind = name.partition(":")[0]
    if kind not in _TYPES:
        raise CaptureError(f"no device {name!r}; use one of {', '.join(_TYPES)}, or cuda:1 and the like.")
    if kind == "cpu":
        return _of("cpu")
    module = getattr(torch, kind, None)
    if module is None or not module.is_available():
        raise CaptureError(f"no {kind} device here; leave --device out, or use --device cpu.")
    device = _of(name)
    if device.index >= module.device_count():
        raise CaptureError(f"no device {name!r}; there are {module.device_count()} here, counted from 0.")
    return device


def _of(name: str) -> torch.device:
    import torch

    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise CaptureError(f"no device {name!r}; use cpu, cuda, or cuda:1 and the like.") from error
    if device.type == "cpu" or ":" in name:
        return device
    return torch.device(device.type, getattr(torch, device.type).current_device())


def synchronize(device: torch.device) -> None:
    """Wait until the device has done all it was given; nothing to wait for on a CPU."""
    if device.type != "cpu":
        getattr(import_torch(), device.type).synchronize(device)


def describe_device(device: torch.device) -> DeviceInfo:
    """What to write down about the device and the software above it."""
    torch = import_torch()
    if device.type == "cpu":
        return DeviceInfo(
            type="cpu",
            name=_cpu_name(),
            threads=torch.get_num_threads(),
            torch=str(torch.__version__),
            python=platform.python_version(),
        )
    properties = getattr(torch, device.type).get_device_properties(device)
    major, minor = getattr(properties, "major", None), getattr(properties, "minor", None)
    return DeviceInfo(
        type=device.type,
        name=str(properties.name),
        compute_capability=None if major is None or torch.version.hip else f"{major}.{minor}",
        sms=getattr(properties, "multi_processor_count", None),
        memory_bytes=int(properties.total_memory),
        driver=_driver(),
        torch=str(torch.__version__),
        runtime=_runtime(),
        cudnn=str(torch.backends.cudnn.version()) if torch.backends.cudnn.is_available() else None,
        python=platform.python_version(),
    )


def _runtime() -> str | None:
    torch = import_torch()
    if torch.version.hip:
        return f"HIP {torch.version.hip}"
    return f"CUDA {torch.version.cuda}" if torch.version.cuda else None


def _cpu_name() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name" and value.strip():
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "CPU"


def _driver() -> str | None:
    """The NVIDIA driver's release, which torch does not know; None where ``nvidia-smi`` does not say."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    try:
        answer = subprocess.run(  # noqa: S603 (a fixed command line)
            [tool, "--query-gpu=driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        ).stdout.split()
    except (OSError, subprocess.SubprocessError):
        return None
    return answer[0] if answer else None
