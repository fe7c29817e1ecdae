"""Many shapes times many variants, on one device or many, and an answer for one shape.

The package is itself the function: ``foretrace.sweep(...)`` is a call of this module, so that the name means the same
whether or not one of the modules below it has been imported.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from foretrace.report.sweep_data import Sweep


class _CallableModule(ModuleType):
    def __call__(self, output: str | Path, **options: Any) -> Sweep:
        """Measure variants at many shapes: see ``foretrace.sweep.run.sweep``."""
        from foretrace.sweep.run import sweep  # noqa: PLC0415 - importing the package costs nothing

        return sweep(output, **options)


sweep = sys.modules[__name__]
sweep.__class__ = _CallableModule
