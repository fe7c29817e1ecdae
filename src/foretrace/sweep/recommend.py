"""The backend for one shape, from a sweep: what was measured there, or an estimate between what was measured near it.

Everything is judged relative to the backend that PyTorch would pick by itself. A pin is advised only where it saves
more than the spread, and more than the estimate may be off.
"""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.capture.recording import ShapeInfo, shape_info
from foretrace.capture.shapes import AttentionShape, dtype_name
from foretrace.capture.sweep_row import case_name
from foretrace.capture.ties import LEAST_SPREAD, YARDSTICK, spread_between
from foretrace.errors import MissingDataError, UsageError
from foretrace.names.peaks import card_named
from foretrace.report.recommendation import Alternative, Evidence, Recommendation
from foretrace.report.shape_dispatch import default_dispatch
from foretrace.report.sweep_data import Sweep
from foretrace.sweep.kriging import estimate
from foretrace.sweep.nearness import comparable, nearest, place
from foretrace.sweep.results import load_sweep, shipped_sweeps
from foretrace.sweep.this_card import local_card

if TYPE_CHECKING:
    from pathlib import Path

    from foretrace.analysis.dispatch.decide import Dispatch
    from foretrace.report.recommendation import Sureness
    from foretrace.report.sweep_data import DeviceSweep
    from foretrace.report.sweep_outcome import CaseOutcome
    from foretrace.sweep.kriging import Estimate

__all__ = ["recommend", "recommended"]

_CASES: Final = 32  # the nearest ones; more change nothing
_SHOWN: Final = 4
_SURE: Final = 0.95
_LIKELY: Final = 0.8
_FAR: Final = 2.5  # doublings from the nearest case: beyond this no pin is advised
_NEAR: Final = 1.5  # and beyond this nobody is sure


def recommend(
    shape: AttentionShape | None = None,
    *,
    batch: int | None = None,
    heads: int | None = None,
    kv_heads: int | None = None,
    length: int | None = None,
    kv_length: int | None = None,
    head_dim: int | None = None,
    dtype: str = "bf16",
    causal: bool = True,
    mask: str = "none",
    training: bool = False,
    source: Sweep | str | Path | None = None,
    gpu: str | None = None,
) -> Recommendation:
    """The backend for one shape, by measured evidence, as `foretrace recommend` gives it.

    Args:
        shape: The shape; or its sizes, of which batch, heads, length and head_dim are needed.
        batch: Batch size.
        heads: Query heads.
        kv_heads: Key and value heads; as many as ``heads`` unless given.
        length: Query length.
        kv_length: Key length; as long as ``length`` unless given.
        head_dim: Size of a head.
        dtype: Of the inputs.
        causal: Causal attention.
        mask: Kind of mask tensor.
        training: Forward and backward.
        source: A sweep, where it lies, or the name of one in the package; the latter's for this card unless given.
        gpu: The device, where the sweep has several: ``H200``, or a part of its name.

    Raises:
        UsageError: The sizes do not fit together, or the device is not in the sweep.
        MissingDataError: There is no sweep to judge by.
    """
    if shape is None:
        sizes = {"batch": batch, "heads": heads, "length": length, "head_dim": head_dim}
        absent = [name for name, size in sizes.items() if size is None]
        if absent:
            raise UsageError(f"the shape lacks its {absent[0].replace('_', ' ')}; give batch, heads, length, head dim.")
        shape = AttentionShape(
            batch=batch or 0,
            heads=heads or 0,
            kv_heads=(heads or 0) if kv_heads is None else kv_heads,
            length=length or 0,
            kv_length=(length or 0) if kv_length is None else kv_length,
            head_dim=head_dim or 0,
            dtype=dtype_name(dtype),
            causal=causal,
            mask=mask,
            training=training,
        )
    here = local_card() if source is None or gpu is None else None
    sweep = source if isinstance(source, Sweep) else load_sweep(source if source is not None else _shipped(gpu or here))
    return recommended(shape_info(shape), sweep, gpu=gpu, here=here)


def recommended(shape: ShapeInfo, sweep: Sweep, *, gpu: str | None = None, here: str | None = None) -> Recommendation:
    """The recommendation from one sweep; ``here`` is the card of this machine, where it is known.

    Raises ``UsageError`` when the device is not in the sweep.
    """
    device = _device(sweep, gpu, here)
    rules = default_dispatch(shape, device.device)
    exact = next((outcome for outcome in device.outcomes if outcome.case == case_name(shape)), None)
    near = nearest(shape, [each for each in comparable(shape, device.outcomes) if each.winners], _CASES)
    common: dict[str, Any] = {
        "shape": shape,
        "device": device.device,
        "sweep": sweep.place,
        "evidence": tuple(Evidence(far, outcome) for far, outcome in near[:_SHOWN]),
        "elsewhere": here if here is not None and gpu is None and not _same_card(here, device.name) else None,
    }
    if exact is not None and exact.winners and exact.default is not None:
        return Recommendation(**common, **_measured(exact))
    return Recommendation(**common, **_estimated(shape, near, rules))


def _measured(outcome: CaseOutcome) -> dict[str, Any]:
    """What the case itself says."""
    default = outcome.default
    time = None if default is None else default.time_ns
    alternatives: list[Alternative] = []
    for row in outcome.rows:
        if time is not None and row.time_ns is not None and row.reason is None and row.variant != YARDSTICK:
            gain = 1 - row.time_ns.median / time.median
            alternatives.append(Alternative(row.variant, gain, spread_between(time, row.time_ns) / time.median))
    alternatives.sort(key=lambda each: -each.gain)
    return {
        "pin": None if outcome.default_is_best else outcome.winners[0].variant,
        "sure": "measured",
        "probability": None,
        "default_backend": None if default is None else default.backend,
        "alternatives": tuple(alternatives),
        "cases": 1,
    }


def _estimated(shape: ShapeInfo, near: list[tuple[float, CaseOutcome]], rules: Dispatch | None) -> dict[str, Any]:
    """What the cases around it say."""
    backend = _default_backend(near, rules)
    unknown = {
        "pin": None,
        "sure": "unknown",
        "probability": None,
        "default_backend": backend,
        "alternatives": (),
        "cases": 0,
    }
    if not near:
        return unknown
    found: dict[str, Estimate] = {}
    used = 0
    for variant in dict.fromkeys(row.variant for _, outcome in near for row in outcome.rows):
        if variant == YARDSTICK or _refused(variant, rules) or _fails_nearest(variant, near):
            continue
        points, gains, noise = _gains(variant, backend, near)
        if gains:
            found[variant] = estimate(np.array(points), np.array(gains), place(shape), noise)
            used = max(used, len(gains))
    if not found:
        return unknown
    alternatives = [Alternative(name, 1 - exp(-each.mean), each.sd * exp(-each.mean)) for name, each in found.items()]
    alternatives.sort(key=lambda each: -each.gain)
    rivals = {name: each.above(LEAST_SPREAD) for name, each in found.items() if name != backend}
    best = max(rivals, key=lambda name: (rivals[name], found[name].mean), default=None)
    chance = 0.0 if best is None else rivals[best]
    pin = best if chance >= _LIKELY and near[0][0] <= _FAR else None
    probability = chance if pin is not None else 1 - chance
    return {
        "pin": pin,
        "sure": _sureness(probability, near[0][0]),
        "probability": probability,
        "default_backend": backend,
        "alternatives": tuple(alternatives),
        "cases": used,
    }


def _sureness(probability: float, distance: float) -> Sureness:
    if probability >= _SURE and distance <= _NEAR:
        return "sure"
    return "likely" if probability >= _LIKELY and distance <= _FAR else "unsure"


def _default_backend(near: list[tuple[float, CaseOutcome]], rules: Dispatch | None) -> str | None:
    """What dispatch picks: by its rules where they are certain, else what it picked at the nearest case."""
    if rules is not None and rules.certain and rules.backend != "error":
        return rules.backend
    picked = (outcome.default.backend for _, outcome in near if outcome.default is not None)
    return next((backend for backend in picked if backend is not None), None)


def _refused(variant: str, rules: Dispatch | None) -> bool:
    """PyTorch would raise."""
    verdict = None if rules is None else rules.backends.get(variant)
    return verdict is not None and not verdict.eligible


def _fails_nearest(variant: str, near: list[tuple[float, CaseOutcome]]) -> bool:
    """At the nearest case that has a row of it, it has no good time."""
    for _, outcome in near:
        for row in outcome.rows:
            if row.variant == variant:
                return row.time_ns is None or row.reason is not None
    return True


def _gains(
    variant: str, backend: str | None, near: list[tuple[float, CaseOutcome]]
) -> tuple[list[Any], list[float], float]:
    """Where it was measured, how much faster than the default backend (as a logarithm), and the noise of that."""
    points: list[Any] = []
    gains: list[float] = []
    noises: list[float] = []
    for _, outcome in near:
        times = {row.variant: row.time_ns for row in outcome.rows if row.time_ns is not None and row.reason is None}
        default = outcome.default
        reference = times.get(backend or YARDSTICK)
        if reference is None and default is not None and (backend is None or default.backend == backend):
            reference = default.time_ns
        time = times.get(variant)
        if reference is None or time is None:
            continue
        points.append(place(outcome.shape))
        gains.append(log(reference.median / time.median))
        noises.append(spread_between(reference, time) / min(reference.median, time.median))
    return points, gains, float(np.median(noises)) if noises else 0.0


def _device(sweep: Sweep, gpu: str | None, here: str | None) -> DeviceSweep:
    """The part of the sweep that is of the device: the one that is asked for, that of this machine, or the only one."""
    devices = sweep.devices
    if not devices:
        raise MissingDataError(f"{sweep.place} holds no rows of a sweep; run `foretrace sweep` first.")
    if gpu is not None:
        found = [device for device in devices if _same_card(gpu, device.name) or gpu.lower() in device.name.lower()]
        if not found:
            names = ", ".join(dict.fromkeys(device.name for device in devices))
            raise UsageError(f"{sweep.place} has no measurements on {gpu!r}, only on {names}.")
        return found[0]
    return next((device for device in devices if here is not None and _same_card(here, device.name)), devices[0])


def _same_card(one: str, other: str) -> bool:
    card = card_named(one)
    return one.lower() == other.lower() or (card is not None and card == card_named(other))


def _shipped(card: str | None) -> str:
    """The sweep in the package that fits the card best. Raises ``MissingDataError``."""
    names = shipped_sweeps()
    if not names:
        raise MissingDataError(
            "there is no sweep to judge by; make one with `foretrace sweep`, and give it with --from."
        )
    return next((name for name in names if card is not None and name.lower() in card.lower()), names[0])
