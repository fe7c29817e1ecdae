"""Every named number of a trace: the metrics, and the findings by code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.analysis import metrics as measured
from foretrace.analysis.metrics.measure import ground_of
from foretrace.errors import MissingDataError
from foretrace.predictions.explain import nearest
from foretrace.predictions.findings_counted import finding_metrics

if TYPE_CHECKING:
    from foretrace.analysis.metrics import Metrics
    from foretrace.trace.model import Trace

__all__ = ["metrics"]


def metrics(trace: Trace, *, op: str | None = None, annotation: str | None = None) -> Metrics:
    """Every metric of a trace, narrowed to an op or an annotation if one is named; findings are of the whole.

    Raises:
        UsageError: both an op and an annotation are named.
        MissingDataError: none of that name ran in the steps.
    """
    found = measured.metrics(trace, op=op, annotation=annotation)
    if found.scope is not None:
        first = found.all[0]
        if first.figure.vacuous:
            raise MissingDataError(f"{trace.file}: {first.figure.note}{nearest(ground_of(trace), first.quantity)}")
        return found
    return measured.Metrics(trace, None, (*found.all, *finding_metrics(trace)))
