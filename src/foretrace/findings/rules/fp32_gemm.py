"""Matrix products in fp32 run on CUDA cores although the device has tensor cores for them.

## What it looks for

GEMM and convolution kernels whose name says fp32 on CUDA cores (`sgemm`, `ffma`, `simt`), on a device that has TF32
(compute capability 8.0 and later) or fp16 (7.0 and later) tensor cores, where they take at least a hundredth of the
step's device time. Matrix-vector products are left out: memory bounds them.

## Why it matters

On a data-center card the tensor cores do TF32 several times faster than the CUDA cores do fp32, and bf16 twice as
fast again. PyTorch keeps fp32 matrix products on CUDA cores unless it is told otherwise.

## How to confirm it

`foretrace kernel NAME` takes the name apart. Allow TF32, profile again: the name should say `tf32`, and the time
fall.

## What usually helps

`torch.set_float32_matmul_precision("high")` for TF32 (10 bits of mantissa in the inputs, fp32 accumulation), or bf16
with `torch.autocast`. Check the accuracy that the model needs first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import distinct
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.names.decoded import Decoded
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT301", name="fp32-gemm", needs=Needs.LAUNCHES, since="0.1")

_SHARE: Final = 0.01
_TF32_SINCE: Final = (8, 0)
_FP16_SINCE: Final = (7, 0)
_VECTOR: Final = frozenset({"gemv", "dot"})
_TF32: Final = """\
allow TF32, or run the model in bf16:
    torch.set_float32_matmul_precision("high")
    with torch.autocast("cuda", dtype=torch.bfloat16): ..."""
_FP16: Final = """\
this device has no TF32; run the model in fp16:
    with torch.autocast("cuda", dtype=torch.float16): ..."""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding for the kernels that stand alone, and one for each cause they follow from."""
    facts = facts_of(trace)
    if facts.capability is None or facts.capability < _FP16_SINCE:
        return
    slow = facts.activities_where(_is_slow)
    if not slow.size or facts.device_ns(slow) < _SHARE * facts.step_device_ns:
        return
    for because, some in facts.by_cause(slow):
        yield _finding(facts, some, because)


def _is_slow(said: Decoded) -> bool:
    return (
        said.role in ("gemm", "convolution")
        and said.unit == "cuda_core"
        and said.input_dtype == "fp32"
        and said.op not in _VECTOR
    )


def _finding(facts: Facts, some: I64, because: str | None) -> Finding:
    tf32 = facts.capability is not None and facts.capability >= _TF32_SINCE
    spent = facts.device_ns(some)
    names = facts.activity_names.code[some]
    first = int(some[np.argmax(facts.trace.activities.dur[some])])
    gain = _gain(facts, "tf32" if tf32 else "fp16")
    what = "convolutions" if facts.what(first).role == "convolution" else "matrix products"
    text = (
        f"{len(distinct(names))} kernel{'s' if len(distinct(names)) > 1 else ''} such as {facts.what(first).short} "
        f"take {time_text(spent)} {facts.per}, {share_text(spent / max(1.0, facts.step_device_ns))} of the device "
        "time. "
    )
    if gain:
        text += (
            f"The {facts.device_name}'s tensor cores do {'TF32' if tf32 else 'fp16'} {gain:.0f} times as fast as its "
            "CUDA cores do fp32, at most."
        )
    return RULE.finding(
        f"fp32 {what} on CUDA cores, where {'TF32 or bf16' if tf32 else 'fp16'} is possible",
        count=facts.per_step(len(some)),
        at_stake_ns=spent * (1 - 1 / gain) if gain else spent,
        confidence=Confidence.LIKELY if because is None else Confidence.CERTAIN,
        evidence=facts.evidence_of(some),
        text=text,
        change=_TF32 if tf32 else _FP16,
        because=because,
    )


def _gain(facts: Facts, dtype: str) -> float | None:
    """How many times faster the tensor cores' peak is; None where the device's peaks are not known."""
    from foretrace.names.peaks import peaks_of  # noqa: PLC0415 - a table of cards, for those who need it

    peaks = peaks_of(facts.device_name)
    fast, slow = (peaks.rate("tensor_core", dtype), peaks.rate("cuda_core", "fp32")) if peaks else (None, None)
    return fast / slow if fast and slow and fast > slow else None
