"""How a trace shows itself in a notebook: in short, unless a layer above offers more (the package itself does)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from foretrace.trace.model import Trace

__all__ = ["in_short", "show", "show_with"]


def in_short(trace: Trace) -> str:
    """A paragraph: the file, its devices, events and steps."""
    from html import escape  # noqa: PLC0415 - brings a table of entities, which only notebooks need

    devices = ", ".join(dict.fromkeys(device.name for device in trace.devices)) or "no device listed"
    text = f"{trace.file}: {devices}, {trace.events:,} events, {len(trace.steps):,} steps, {trace.kernels:,} kernels"
    printable = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return f"<p>{escape(printable)}</p>"


_shown: list[Callable[[Trace], str]] = [in_short]


def show(trace: Trace) -> str:
    """The trace as HTML."""
    return _shown[-1](trace)


def show_with(function: Callable[[Trace], str]) -> None:
    """From now on traces show themselves so."""
    _shown[:] = [function]
