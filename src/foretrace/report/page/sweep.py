"""The sweep's part of the page: for each device who wins, what the default loses, flips, failures, and every case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from foretrace.report.escape import plain
from foretrace.report.shape_words import common_words, shape_words
from foretrace.report.sweep_text import case_cells, failure_text, flip_cells, loss_text, standing_cells
from foretrace.units import count_text, share_text, time_scale

if TYPE_CHECKING:
    from foretrace.report.sweep_data import DeviceSweep, Sweep

__all__ = ["MOST_CASES", "device_part", "sweep_headline"]

MOST_CASES: Final = 500
"""Rows of the table of cases, so that the page stays small enough to mail; the JSON and the CSV hold them all."""


def sweep_headline(found: Sweep) -> str:
    """One sentence: who wins most, and what the default loses."""
    if not found.devices:
        return "This sweep holds no rows yet."
    device = found.devices[0]
    first = next(iter(device.standings), None)
    if first is None or not (first.wins or first.ties):
        return f"No variant but the default was timed in {count_text(len(device.outcomes), 'case')}."
    cases = count_text(len(device.outcomes), "case")
    text = f"{plain(first.variant)} is as fast as any in {first.wins + first.ties:,} of {cases}"
    loss = device.default_loss
    if loss is None:
        return f"{text}."
    worst = "" if loss.worst is None or loss.worst.loss is None else f", and loses up to {_longest(loss.worst.loss)}"
    return f"{text}; what PyTorch picks by itself is in {loss.within_spread:,}{worst}."


def _longest(share: float) -> str:
    return f"a factor of {1 + share:.1f}" if share >= 1 else share_text(share)


def device_part(device: DeviceSweep) -> dict[str, Any]:
    """What the template says of one device."""
    common = common_words(outcome.shape for outcome in device.outcomes)
    times = sorted(outcome.best.median for outcome in device.outcomes if outcome.best is not None)
    scale = time_scale(times[len(times) // 2]) if times else time_scale(0)
    about = device.device
    facts = [plain(device.name), count_text(len(device.outcomes), "case"), count_text(len(device.variants), "variant")]
    if about is not None and about.torch:
        facts.append(f"torch {plain(about.torch).partition('+')[0]}")
    if about is not None and about.driver:
        facts.append(f"driver {plain(about.driver)}")
    words = " ".join(text for text in common.values() if text)
    return {
        "facts": facts,
        "common": words,
        "standings": [standing_cells(each) for each in device.standings],
        "loss": None if device.default_loss is None else loss_text(device.default_loss, common),
        "flips": [flip_cells(flip, common) for flip in device.flips],
        "failures": [failure_text(failure, common) for failure in device.failures],
        "cases": [case_cells(outcome, common, scale) for outcome in device.outcomes[:MOST_CASES]],
        "left_out": max(0, len(device.outcomes) - MOST_CASES),
        "title": shape_words(device.outcomes[0].shape) if len(device.outcomes) == 1 else "",
    }
