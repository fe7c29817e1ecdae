"""Terminal, JSON and page: what a person sees.

The package is itself the function: ``foretrace.report(trace, "page.html")`` is a call of this module, so that the name
means the same whether or not one of the modules below it has been imported.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from foretrace.differences.compare import Difference
    from foretrace.differences.folders import FolderDifference
    from foretrace.predictions import Prediction
    from foretrace.report.comparison import Comparison
    from foretrace.report.data import Reading
    from foretrace.trace.model import Trace


class _CallableModule(ModuleType):
    def __call__(
        self,
        source: str | Path | Trace | Reading | Comparison | Difference | FolderDifference,
        output: str | Path,
        *,
        step: str | None = None,
        expect: Sequence[str | Prediction] = (),
        charts: bool = True,
        max_events: int | None = None,
    ) -> Path:
        """Write a trace, a reading or a comparison as one HTML file: see ``foretrace.report.html.report``."""
        from foretrace.report.html import report  # noqa: PLC0415 - importing the package costs nothing

        return report(source, output, step=step, expect=expect, charts=charts, max_events=max_events)


report = sys.modules[__name__]
report.__class__ = _CallableModule
