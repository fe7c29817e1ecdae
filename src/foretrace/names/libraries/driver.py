"""Copies and fills that no kernel author wrote: the driver's own (``Memcpy DtoD (Device -> Device)``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.names.reading import Reading

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read"]

_DIRECTIONS: Final = {
    "DtoD": "within the device's memory",
    "DtoH": "from the device to the host",
    "HtoD": "from the host to the device",
    "HtoH": "within the host's memory",
    "PtoP": "from one device to another",
    "HtoA": "from the host to an array on the device",
    "AtoH": "from an array on the device to the host",
    "AtoA": "between arrays on the device",
    "AtoD": "from an array to the device's memory",
    "DtoA": "from the device's memory to an array",
}

# AMD's runtime copies with kernels and names of its own: (mark, direction).
_HIP: Final = {
    "CopyDeviceToDevice": "DtoD",
    "CopyDeviceToHost": "DtoH",
    "CopyHostToDevice": "HtoD",
    "__amd_rocclr_copyBuffer": None,
    "__amd_rocclr_copyBufferAligned": None,
    "__amd_rocclr_copyBufferRect": None,
    "__amd_rocclr_fillBuffer": None,
    "__amd_rocclr_fillBufferAligned": None,
    "FillBuffer": None,
}


def read(name: Name, _mark: str) -> Reading | None:
    """Take a copy or fill apart; None if it is neither."""
    text = name.text
    reading = Reading(name)
    if text.startswith("Memset"):
        reading.say("Memset", "fills memory with a constant; no kernel", library="driver", role="memset")
        if "Device" in text:
            reading.say("Device", "in the device's memory")
        return reading
    if text.startswith(("Memcpy", "memcpy")):
        reading.say(text[:6], "copies memory; done by the driver, no kernel", library="driver", role="copy")
        direction = next((d for d in _DIRECTIONS if d in text), None)
        if direction is not None:
            reading.say(direction, _DIRECTIONS[direction], op=direction)
        if "Pageable" in text:
            reading.say("Pageable", "pageable host memory: the copy goes through a staging buffer and waits")
        elif "Pinned" in text:
            reading.say("Pinned", "pinned host memory: the copy can run beside other work")
        return reading
    start = next((m for m in _HIP if text.startswith(m)), None)
    if start is None:
        return None
    fills = "ill" in start
    reading.say(
        start,
        "fills memory with a constant" if fills else "copies memory; AMD's runtime uses a kernel for it",
        library="driver",
        role="memset" if fills else "copy",
        op=_HIP[start],
    )
    return reading
