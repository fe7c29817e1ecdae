"""Matrix products in fp32 run on CUDA cores although the device has tensor cores for them.

## What it looks for

GEMM and convolution kernels whose name says fp32 on CUDA cores (`sgemm`, `ffma`, `simt`), on a device that has TF32
(compute capability 8.0 and later) or fp16 (7.0 and later) tensor cores, where they take at least a hundredth of the
step's device time. Matrix-vector products are left out: memory bounds them; and so are kernels of no known library that
no aten op launched, which no setting of PyTorch reaches.

## Why it matters

On a data-center card the tensor cores do TF32 several times faster than the CUDA cores do fp32, and bf16 twice as
fast again; on many a desktop card TF32 is no faster. PyTorch keeps fp32 matrix products on CUDA cores unless it is told
otherwise, and allows TF32 in convolutions unless that is switched off. Where TF32 kernels of the same kind run beside
these, it is allowed already, and the library chose fp32 for these shapes: nothing is put at stake then.

## How to confirm it

`foretrace kernel NAME` takes the name apart. Allow TF32, profile again: the name should say `tf32`, and the time
fall.

## What usually helps

`torch.set_float32_matmul_precision("high")` for TF32 in matrix products (10 bits of mantissa in the inputs, fp32
accumulation), `torch.backends.cudnn.allow_tf32 = True` in convolutions, or bf16 with `torch.autocast`. Check the
accuracy that the model needs first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import distinct
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from foretrace.findings.name_index import Bools
    from foretrace.names.decoded import Decoded
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT301", name="fp32-gemm", needs=Needs.LAUNCHES, since="0.1")

_SHARE: Final = 0.01
_TF32_SINCE: Final = (8, 0)
_FP16_SINCE: Final = (7, 0)
_VECTOR: Final = frozenset({"gemv", "dot"})
_BF16: Final = 'with torch.autocast("cuda", dtype=torch.bfloat16): ...'
_FP16: Final = 'with torch.autocast("cuda", dtype=torch.float16): ...'
_PRODUCTS: Final = f"""\
allow TF32, or run the model in bf16:
    torch.set_float32_matmul_precision("high")
    {_BF16}"""
_CONVOLUTIONS: Final = f"""\
allow TF32 (the default for convolutions: something switched it off), or run the model in bf16:
    torch.backends.cudnn.allow_tf32 = True
    {_BF16}"""
_CONVOLUTIONS_CHOSEN: Final = f"""\
let cuDNN time its kernels for each shape, or run the model in bf16:
    torch.backends.cudnn.benchmark = True
    {_BF16}"""
_IN_BF16: Final = f"""\
run the model in bf16:
    {_BF16}"""
_IN_FP16: Final = f"""\
this device has no TF32; run the model in fp16:
    {_FP16}"""
_ATEN: Final = "aten::"
_CONVOLUTION: Final = "conv"


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding for the kernels that stand alone, and one for each cause they follow from."""
    facts = facts_of(trace)
    if facts.capability is None or facts.capability < _FP16_SINCE:
        return
    slow = _within_reach(facts, facts.activities_where(_is_slow))
    if not slow.size or facts.device_ns(slow) < _SHARE * facts.step_device_ns:
        return
    for because, some in facts.by_cause(slow):
        convolves = _convolves(facts, some)
        for chosen, what in ((some[~convolves], "matrix products"), (some[convolves], "convolutions")):
            if chosen.size and facts.worth(facts.device_ns(chosen)):
                yield _finding(facts, chosen, what, because)


def _is_slow(said: Decoded) -> bool:
    return (
        said.role in ("gemm", "convolution")
        and said.unit == "cuda_core"
        and said.input_dtype == "fp32"
        and said.op not in _VECTOR
    )


def _within_reach(facts: Facts, some: I64) -> I64:
    """Without the kernels of somebody's own, which neither autocast nor a setting changes."""
    return some[_told(facts, some, lambda said: said.library != "unknown", lambda op: op.startswith(_ATEN))]


def _convolves(facts: Facts, some: I64) -> Bools:
    """Which of these compute a convolution, by their name or their op: cuDNN calls matrix products for some."""
    return _told(facts, some, lambda said: said.role == "convolution", lambda op: _CONVOLUTION in op)


def _told(facts: Facts, some: I64, by_name: Callable[[Decoded], bool], by_op: Callable[[str], bool]) -> Bools:
    """Which of these their name tells it of, or their op's name; each name is asked once."""
    flag = np.array([by_name(said) for said in facts.decoded] or [False], bool)
    told: Bools = flag[facts.activity_names.code[some]]
    owner = facts.trace.activities.owner[some]
    owned = np.flatnonzero(owner >= 0)
    told[owned] |= facts.op_names.flags(facts.op_names.matching(by_op))(owner[owned])
    return told


def _finding(facts: Facts, some: I64, what: str, because: str | None) -> Finding:
    spent = facts.device_ns(some)
    number = len(distinct(facts.activity_names.code[some]))
    first = int(some[np.argmax(facts.trace.activities.dur[some])])
    share = share_text(spent / max(1.0, facts.step_device_ns))
    short = facts.what(first).short
    which = f"{number} kinds of kernel such as {short} take" if number > 1 else f"{short} takes"
    text = f"{which} {time_text(spent)} {facts.per}, {share} of the device time. "
    beside = _in_tf32(facts, what) if because is None else 0
    way, gain, change, why = _way(facts, what, beside)
    return RULE.finding(
        f"fp32 {what} on CUDA cores, {way}",
        count=facts.per_step(len(some)),
        at_stake_ns=spent * (1 - 1 / gain) if gain else 0,
        confidence=_confidence(because, gain),
        evidence=facts.evidence_of(some),
        text=text + why,
        change=change,
        because=because,
    )


def _confidence(because: str | None, gain: float | None) -> Confidence:
    if because is not None:
        return Confidence.CERTAIN
    return Confidence.LIKELY if gain else Confidence.POSSIBLE


def _in_tf32(facts: Facts, what: str) -> int:
    """How many of the same kind run in TF32."""
    fast = facts.activities_where(lambda said: said.role in ("gemm", "convolution") and said.input_dtype == "tf32")
    if not fast.size:
        return 0
    convolutions = int(np.count_nonzero(_convolves(facts, fast)))
    return convolutions if what == "convolutions" else len(fast) - convolutions


def _way(facts: Facts, what: str, beside: int) -> tuple[str, float | None, str, str]:
    """(what is possible, how many times as fast, what to change, the sentence about it)."""
    name = facts.device_name
    if facts.capability is not None and facts.capability < _TF32_SINCE:
        return "where fp16 is possible", (gain := _gain(facts, "fp16")), _IN_FP16, _rates(name, "fp16", gain)
    convolutions = what == "convolutions"
    if beside:
        why = (
            f"TF32 is allowed: {facts.each(beside, what.removesuffix('s'))} in it beside these. The library chose "
            "fp32 for their shapes; what another choice gains is not known."
        )
        return "beside others in TF32", None, _CONVOLUTIONS_CHOSEN if convolutions else _IN_BF16, why
    gain, sixteen = _gain(facts, "tf32"), _gain(facts, "bf16")
    if gain is None and sixteen is not None:
        why = f"The {name}'s tensor cores do TF32 no faster than its CUDA cores do fp32, and {_times('bf16', sixteen)}"
        return "where bf16 is possible", sixteen, _IN_BF16, why
    change = _CONVOLUTIONS if convolutions else _PRODUCTS
    return "where TF32 or bf16 is possible", gain, change, _rates(name, "TF32", gain)


def _rates(device: str, dtype: str, gain: float | None) -> str:
    if gain is None:
        return f"What tensor cores gain is not known: the peaks of {device} are not in the table of cards."
    return f"The {device}'s tensor cores do {_times(dtype, gain)}"


def _times(dtype: str, gain: float) -> str:
    return f"{dtype} {gain:.0f} times as fast as its CUDA cores do fp32, at most."


def _gain(facts: Facts, dtype: str) -> float | None:
    """How many times faster the tensor cores' peak is; None where the device's peaks are not known."""
    from foretrace.names.peaks import peaks_of  # noqa: PLC0415 - a table of cards, for those who need it

    peaks = peaks_of(facts.device_name)
    fast, slow = (peaks.rate("tensor_core", dtype), peaks.rate("cuda_core", "fp32")) if peaks else (None, None)
    return fast / slow if fast and slow and fast > slow else None
