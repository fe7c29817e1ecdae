"""Guess first, then look: what your GPU really did, read from PyTorch profiler traces."""

from foretrace._version import __version__
from foretrace.errors import (
    CaptureError,
    ForetraceError,
    MissingDataError,
    PredictionError,
    RuleError,
    TraceFormatError,
    UsageError,
)

__all__ = [
    "CaptureError",
    "ForetraceError",
    "MissingDataError",
    "PredictionError",
    "RuleError",
    "TraceFormatError",
    "UsageError",
    "__version__",
]
