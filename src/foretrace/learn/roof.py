"""Words on an op under the device's roof: which peak it is held to, and which FLOPs are counted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from foretrace.report.roofline_text import rate_text

if TYPE_CHECKING:
    from foretrace.learn.recorded import Recorded

__all__ = ["counted_arithmetic", "is_causal", "peak_text"]

_S: Final = 1e9
_ALIKE: Final = 1e-6
_SKIPPED: Final = 0.75
"""A causal mask leaves about half of the pairs; below this share it is said that they are not all counted."""
_UNITS: Final = {"tensor_core": "tensor cores", "cuda_core": "CUDA cores"}
_DTYPES: Final = {"f32": "fp32", "f16": "fp16", "f64": "fp64"}
_SDPA: Final = "aten::scaled_dot_product_attention"


def peak_text(recorded: Recorded, op: str) -> str:
    """What an op is held to: ``989 TFLOP/s in bf16 on tensor cores``, ``4.8 TB/s``; empty where it is not known."""
    roof, peaks = recorded.roof(op), recorded.roofline.peaks
    if roof is None or peaks is None or not roof.floor_ns:
        return ""
    if roof.bound == "memory":
        return rate_text((roof.bytes or 0) / roof.floor_ns * _S, "B")
    rate = roof.flops / roof.floor_ns * _S
    shapes = next((each.shapes for each in recorded.ops if each.name == op), "")
    given = shapes.partition("[")[0]
    same = [place for place, peak in peaks.flops.items() if math.isclose(rate, peak, rel_tol=_ALIKE)]
    same.sort(key=lambda place: place[1] != _DTYPES.get(given, given))
    where = f" in {same[0][1]} on {_UNITS[same[0][0]]}" if same else ""
    return rate_text(rate, "FLOP") + where


def is_causal(recorded: Recorded) -> bool:
    """Whether only those pairs of a call of SDPA are counted that a causal mask leaves."""
    roof = recorded.roof(_SDPA)
    q, k, v = (recorded.dims(_SDPA, at) for at in range(3))
    if roof is None or not q or not k or not v:
        return False
    return roof.flops < _SKIPPED * 2 * math.prod(q[:-1]) * k[-2] * (q[-1] + v[-1])


def counted_arithmetic(recorded: Recorded) -> str:
    """What of a call of SDPA is counted: ``the arithmetic``, or the half of it that a causal mask leaves."""
    return "the causal half of the arithmetic" if is_causal(recorded) else "the arithmetic"
