"""Guess first: predictions, held against a trace.

``grammar`` reads what people write, ``prediction`` is what they meant, ``outcome`` what became of it; ``evidence`` and
``explain`` say why one missed. ``files`` reads predictions from TOML.
"""

from __future__ import annotations

from foretrace.predictions.named import metrics
from foretrace.predictions.outcome import Outcome, check
from foretrace.predictions.prediction import Prediction

__all__ = ["Outcome", "Prediction", "check", "metrics"]
