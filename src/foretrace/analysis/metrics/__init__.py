"""Named numbers of a trace, with units and one sentence each: what predictions bound, diffs compare and sweeps keep.

``catalog`` is the list of all there are; adding one there gives it to everything. ``quantity`` says which one is
meant and of which events, ``basis`` what it is measured over, ``measure`` measures.
"""

from __future__ import annotations

from foretrace.analysis.metrics.measure import Metrics, measure, metrics
from foretrace.analysis.metrics.metric import Metric, Unit
from foretrace.analysis.metrics.quantity import Quantity, Scope, Select

__all__ = ["Metric", "Metrics", "Quantity", "Scope", "Select", "Unit", "measure", "metrics"]
