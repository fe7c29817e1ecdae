"""Every error foretrace raises on purpose.

    ForetraceError
    ├── UsageError           an option or argument that makes no sense
    ├── TraceFormatError     a file that is no readable PyTorch trace
    ├── MissingDataError     a question the trace holds no data for
    ├── CaptureError         a program or variant that could not be profiled
    ├── PredictionError      a prediction that does not parse
    └── RuleError            a rule that failed while it looked at a trace

Each carries one sentence that says what happened, where, and what to do; the command line prints that
sentence and exits with 2. Nothing else is meant to reach a user.
"""

from __future__ import annotations

__all__ = [
    "CaptureError",
    "ForetraceError",
    "MissingDataError",
    "PredictionError",
    "RuleError",
    "TraceFormatError",
    "UsageError",
]


class ForetraceError(Exception):
    """The root: catching it catches every error foretrace raises on purpose."""


class UsageError(ForetraceError):
    """An option or argument that makes no sense."""


class TraceFormatError(ForetraceError):
    """A file that is no readable PyTorch profiler trace."""


class MissingDataError(ForetraceError):
    """A question the trace holds no data for."""


class CaptureError(ForetraceError):
    """A program or variant that could not be profiled."""


class PredictionError(ForetraceError):
    """A prediction that does not parse."""


class RuleError(ForetraceError):
    """A rule that failed while it looked at a trace."""
