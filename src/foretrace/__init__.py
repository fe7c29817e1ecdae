"""Guess first, then look: what your GPU really did, read from PyTorch profiler traces.

    import foretrace

    trace = foretrace.read("trace.json.gz")
    reading = foretrace.reading(trace)
    reading.timeline.per_step.kernels.value  # kernels a step
    reading.tables["kernels"].to_pandas()

Names are loaded when they are first used, so that importing this package costs nothing and needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

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

if TYPE_CHECKING:
    from foretrace.analysis.dispatch.why import why
    from foretrace.analysis.roofline.recorded import trace_roofline as roofline
    from foretrace.api import attention
    from foretrace.capture.calibrate import calibrate
    from foretrace.capture.profile import profile, profile_callable
    from foretrace.differences import Difference, diff
    from foretrace.findings.engine import findings
    from foretrace.names.decode import decode
    from foretrace.predictions import Outcome, Prediction, check, metrics
    from foretrace.report.data import Reading, reading
    from foretrace.report.html import report
    from foretrace.sweep.recommend import recommend
    from foretrace.sweep.results import load_sweep
    from foretrace.sweep.run import sweep
    from foretrace.trace.load import load_trace as read
    from foretrace.trace.model import Trace

__all__ = [
    "CaptureError",
    "Difference",
    "ForetraceError",
    "MissingDataError",
    "Outcome",
    "Prediction",
    "PredictionError",
    "Reading",
    "RuleError",
    "Trace",
    "TraceFormatError",
    "UsageError",
    "__version__",
    "attention",
    "calibrate",
    "check",
    "decode",
    "diff",
    "findings",
    "load_sweep",
    "metrics",
    "profile",
    "profile_callable",
    "read",
    "reading",
    "recommend",
    "report",
    "roofline",
    "sweep",
    "why",
]

# Name: (module, name there). A public name is one line here, one above, and one in __all__.
_LAZY: Final[dict[str, tuple[str, str]]] = {
    "Difference": ("foretrace.differences", "Difference"),
    "Outcome": ("foretrace.predictions", "Outcome"),
    "Prediction": ("foretrace.predictions", "Prediction"),
    "Reading": ("foretrace.report.data", "Reading"),
    "Trace": ("foretrace.trace.model", "Trace"),
    "attention": ("foretrace.api", "attention"),
    "calibrate": ("foretrace.capture.calibrate", "calibrate"),
    "check": ("foretrace.predictions", "check"),
    "decode": ("foretrace.names.decode", "decode"),
    "diff": ("foretrace.differences", "diff"),
    "findings": ("foretrace.findings", "findings"),
    "load_sweep": ("foretrace.sweep.results", "load_sweep"),
    "metrics": ("foretrace.predictions", "metrics"),
    "profile": ("foretrace.capture.profile", "profile"),
    "profile_callable": ("foretrace.capture.profile", "profile_callable"),
    "read": ("foretrace.trace.load", "load_trace"),
    "reading": ("foretrace.report.data", "reading"),
    "recommend": ("foretrace.sweep.recommend", "recommend"),
    "report": ("foretrace.report", "report"),
    "roofline": ("foretrace.analysis.roofline.recorded", "trace_roofline"),
    "sweep": ("foretrace.sweep", "sweep"),
    "why": ("foretrace.analysis.dispatch.why", "why"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'foretrace' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    _offer_notebook()
    return value


def _offer_notebook() -> None:
    """Let traces show themselves in a notebook as their readings do; the layer of traces knows none above it."""
    showing = importlib.import_module("foretrace.trace.showing")
    showing.show_with(lambda trace: importlib.import_module("foretrace.report.notebook").trace_html(trace))


def __dir__() -> list[str]:
    return __all__
