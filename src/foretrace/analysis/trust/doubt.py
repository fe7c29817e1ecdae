"""One line of the trust header."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from foretrace.trace.kineto import Category
from foretrace.units import count_text

if TYPE_CHECKING:
    from foretrace.trace.model import Trace

__all__ = ["Doubt", "kinds_text"]


@dataclass(frozen=True)
class Doubt:
    """What cannot be taken at face value, how often, and what it does to the numbers."""

    code: str
    count: int
    time_ns: int
    """Device or overhead time it concerns; 0 where it is no matter of time."""
    text: str

    def to_json(self) -> dict[str, Any]:
        """The keys of ``trust[]``."""
        return dict(vars(self))


def kinds_text(trace: Trace, chosen: Any) -> str:
    """``9 kernels, 2 memcpys``: some activities by kind."""
    category = trace.activities.category[chosen]
    parts = []
    for kind, noun in ((Category.KERNEL, "kernel"), (Category.MEMCPY, "memcpy"), (Category.MEMSET, "memset")):
        number = int(np.count_nonzero(category == kind))
        if number:
            parts.append(count_text(number, noun))
    return ", ".join(parts) or "no activity"
