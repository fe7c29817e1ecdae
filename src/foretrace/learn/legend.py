"""What the marks of a drawing mean: those that it has, and no others."""

from __future__ import annotations

from typing import Final

__all__ = ["LAUNCH_MARK", "SECOND_THREAD", "legend_text"]

LAUNCH_MARK: Final = "▾"
"""A launch, in a drawing without letters."""
SECOND_THREAD: Final = "CPU, 2"
"""The label of the first row of another thread."""


def legend_text(drawing: str, *, lettered: bool, at_length: bool = False) -> str:
    """The legend of a drawing.

    Args:
        drawing: its lines.
        lettered: whether each piece of device work has a letter.
        at_length: in sentences, for who sees one for the first time.

    """
    lines = drawing.splitlines()
    device = "".join(line for line in lines if line.startswith(" GPU"))
    fills = " ".join(mark for mark in "█▓" if mark in device)
    others = []
    if "▒" in device:
        others.append("▒ a copy or a memset")
    if "·" in device:
        others.append("· work of another step")
    if any(line.startswith(f" {SECOND_THREAD}") for line in lines):
        others.append(f"{SECOND_THREAD}: another thread")
    if at_length:
        turns = ", in turns with ▓" if "▓" in fills else ""
        told = (
            "How to read this: ▌ begins an op, ░ is its length on the CPU, and what it calls stands below. A letter is "
            f"a piece of device work, at its launch and where it runs; █ is its length there{turns}. What is too short "
            "for a column gets one all the same."
        )
        return " ".join([told, *(f"{other[0].upper()}{other[1:]}." for other in others)])
    work = "letters: device work, at its launch and where it runs" if lettered else f"{LAUNCH_MARK} a launch"
    kernels = [f"{fills} kernels" + (", in turns" if " " in fills else "")] if fills else []
    return "; ".join(["▌░ ops on the CPU", work, *kernels, *others]) + "."
