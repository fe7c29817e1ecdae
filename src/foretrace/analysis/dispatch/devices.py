"""The architecture that a device's name, a card or a person's spelling stands for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from foretrace.analysis.dispatch.facts import Architecture
from foretrace.errors import UsageError
from foretrace.names.peaks import card_named

if TYPE_CHECKING:
    from foretrace.trace.model import Device

__all__ = ["CPU", "architecture_named", "architecture_of"]

CPU = Architecture("cpu")


def _of_text(text: str) -> Architecture | None:
    bare = text.strip().lower()
    if bare == "cpu":
        return CPU
    if bare.startswith("gfx"):
        return Architecture("hip", name=bare)
    found = re.fullmatch(r"(?:sm_?)?(\d{1,2})\.?(\d)[a-z]?", bare)
    return Architecture("cuda", int(found[1]), int(found[2])) if found else None


def architecture_named(text: str) -> Architecture:
    """The architecture of ``H200``, ``NVIDIA A100-SXM4-40GB``, ``sm90``, ``9.0``, ``gfx942``, ``MI300X`` or ``cpu``.

    Raises:
        UsageError: it is none of these.
    """
    card = card_named(text)
    found = _of_text(card.architecture if card else text)
    if found is None:
        raise UsageError(
            f"{text!r} is no device known here; give a card (H200, A100, RTX 4090, MI300X), sm90, gfx942 or cpu."
        )
    return found


def architecture_of(device: Device) -> Architecture | None:
    """The architecture of a trace's device; None where the file does not say enough."""
    card = card_named(device.name)
    if card and (found := _of_text(card.architecture)):
        return found
    if re.search(r"\b(AMD|Radeon|Instinct)\b", device.name):
        return Architecture("hip", name=device.name)
    return _of_text(device.compute_capability) if device.compute_capability else None
