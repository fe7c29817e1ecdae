"""Which way a memcpy goes, read from its name."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["DIRECTIONS", "direction"]

DIRECTIONS: Final = ("HtoD", "DtoH", "DtoD", "PtoP", "other")
"""Host to device, device to host, within a device, between devices, and what a name does not say."""

_SHORT: Final = re.compile(r"\b([HDAP]) ?to ?([HDAP])\b", re.IGNORECASE)
_LONG: Final = re.compile(r"(host|device|peer)\s*to\s*(host|device|peer)", re.IGNORECASE)
_ENDS: Final = re.compile(r"\(\s*(\w+)\s*->\s*(\w+)\s*\)")


def direction(name: str) -> str:
    """``HtoD``, ``DtoH``, ``DtoD``, ``PtoP`` or ``other``, e.g. of ``Memcpy DtoH (Device -> Pinned)``.

    Arrays (``A``) lie on the device. HIP's ``CopyHostToDevice`` and bare ``(Device -> Device)`` are understood.
    """
    found = _SHORT.search(name) or _LONG.search(name) or _ENDS.search(name)
    if found is None:
        return "other"
    source, target = (_side(end) for end in found.groups())
    if "P" in (source, target):
        return "PtoP"
    way = f"{source}to{target}"
    return way if way in DIRECTIONS else "other"


def _side(end: str) -> str:
    word = end.lower()
    if word in ("h", "host", "pageable", "pinned"):
        return "H"
    if word in ("d", "a", "device", "array"):
        return "D"
    return "P" if word in ("p", "peer") else "?"
