"""What follows from a comparison, in sentences: the same in the terminal and in the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.report.comparison_pin import default_row, fastest_backend, gain_beyond_spread
from foretrace.report.escape import plain
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from foretrace.report.comparison import Comparison
    from foretrace.report.comparison_pin import Pin

__all__ = ["MASKED_ROWS", "comparison_notes", "speedup_text"]

MASKED_ROWS: Final = {"nan": "NaN", "zero": "0", "unmasked": "unmasked", "mean": "mean", "other": "other"}
"""What a row without any key gives, in a table."""
_MASKED_WORDS: Final = MASKED_ROWS | {
    "unmasked": "what it would be without the mask",
    "mean": "the mean of all values",
    "other": "some other values",
}


def comparison_notes(found: Comparison) -> list[str]:
    """What to know of the figures, and which variant is the fastest."""
    lines = (_steps_note(found), _error_note(found), *_masked_notes(found), _fastest(found))
    return [line for line in lines if line]


def speedup_text(times: float | None) -> str:
    """How many times as fast, or a dash."""
    if times is None:
        return "-"
    return f"{times:.0f}x" if times >= 10 else f"{times:.1f}x"  # noqa: PLR2004


def _steps_note(found: Comparison) -> str | None:
    bare = [row.name for row in found.rows if row.per_step is not None and not row.per_step.steps]
    if not bare:
        return None
    return f"No steps were recorded for {plain(', '.join(bare))}: its figures are of the whole file."


def _error_note(found: Comparison) -> str | None:
    heads, of_heads = found.recording.error_heads, found.recording.error_of_heads
    if heads is None or of_heads is None or heads == of_heads:
        return None
    return f"The error is over the first {heads:,} of {of_heads:,} heads of the batch."


def _masked_notes(found: Comparison) -> list[str]:
    """Variants whose row without any key depends on how the mask is given."""
    differing: dict[tuple[str, str], list[str]] = {}
    for row in found.rows:
        added, boolean = row.record.masked_row, row.record.masked_row_boolean
        if added is not None and boolean is not None and added != boolean:
            differing.setdefault((added, boolean), []).append(plain(row.name))
    return [
        f"A row without any key depends on the mask in {', '.join(names)}: {_MASKED_WORDS[added]} under an additive "
        f"mask of -inf, {_MASKED_WORDS[boolean]} under a boolean one."
        for (added, boolean), names in differing.items()
    ]


def _fastest(found: Comparison) -> str | None:
    """The fastest variant and what to pin, if anything; `auto` is the yardstick, never the winner."""
    timed = [row for row in found.rows if row.time_ns and row.name != "auto"]
    if len(timed) < 2:  # noqa: PLR2004 - nothing to compare
        return None
    best = min(timed, key=lambda row: row.time_ns or 0)
    by = "device time" if found.on_device else "wall time"
    text = f"Fastest here by {by}: {plain(best.name)}."
    auto = default_row(found)
    if auto is None:
        return text
    if best.backend == auto.backend:
        return f"{text} PyTorch picks it by default at this shape; nothing to pin."
    if found.pin is not None:
        return f"{text} {_pin_text(found.pin, 'a step' if found.on_device else 'a call')}"
    picks = f"PyTorch picks {auto.backend} by default"
    if gain_beyond_spread(best, auto) is None:
        return f"{text} {picks}, as fast within the spread; nothing to pin."
    slower = speedup_text((auto.time_ns or 0) / (best.time_ns or 1))
    text = f"{text} {picks} at this shape, which takes {slower} as long"
    return f"{text}; no other backend of SDPA is faster: nothing to pin." if fastest_backend(found) else f"{text}."


def _pin_text(pin: Pin, each: str) -> str:
    saved = f"{time_text(pin.gain_ns)} {each} ({share_text(pin.gain)})"
    return f"Pin {pin.variant} at this shape on this card: it saves {saved} over {pin.instead_of}, which PyTorch picks."
