"""What changed between two traces: counts before times.

``side`` prepares a trace, ``matching`` says what corresponds to what, ``activity_changes`` and ``range_changes`` what
changed of it, ``times`` and ``noise`` what that did to the times, ``summary`` what it amounts to; ``folders`` compares
recordings of several variants.
"""

from __future__ import annotations

from foretrace.differences.compare import Difference, diff

__all__ = ["Difference", "diff"]
