"""Importing torch where it is needed, with a sentence where it is missing."""

from __future__ import annotations

import os
from typing import Any

from foretrace.errors import CaptureError

__all__ = ["import_torch"]


def import_torch() -> Any:
    """The torch module. Raises ``CaptureError`` where it is not installed or does not import."""
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise CaptureError(f"torch does not import here: {error}.") from error
        raise CaptureError(
            "capturing needs torch, which is not installed here; install it with pip install 'foretrace[torch]'."
        ) from error
    except (ImportError, OSError) as error:
        raise CaptureError(f"torch does not import here: {error}.") from error
    # Kineto reports the start and stop of every recording on standard error. It reads this at its first use.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    return torch
