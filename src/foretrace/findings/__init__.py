"""What is odd in a trace, why, and what to change.

The package is itself the function: ``foretrace.findings(trace)`` is a call of this module, so that the name means the
same whether or not one of the modules below it has been imported.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.findings.rule import Finding
    from foretrace.trace.model import Trace


class _CallableModule(ModuleType):
    def __call__(self, trace: Trace, *, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> list[Finding]:
        """What is odd in a trace: see ``foretrace.findings.engine.findings``."""
        from foretrace.findings.engine import findings  # noqa: PLC0415 - importing the package costs nothing

        return findings(trace, select=select, ignore=ignore)


findings = sys.modules[__name__]
findings.__class__ = _CallableModule
