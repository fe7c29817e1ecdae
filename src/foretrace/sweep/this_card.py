"""The GPU of this machine by name, without torch."""

from __future__ import annotations

import shutil
import subprocess

__all__ = ["local_card"]


def local_card() -> str | None:
    """The name of the first NVIDIA GPU; None where there is none, or its driver does not say."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    try:
        said = subprocess.run(  # noqa: S603 (a fixed command line)
            [tool, "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True, timeout=10, check=True
        ).stdout.splitlines()
    except (OSError, subprocess.SubprocessError):
        return None
    return said[0].strip() if said else None
