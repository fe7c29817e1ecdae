"""SDPA runs its math path: op by op, the scores in memory, fp32 where the inputs are 16-bit.

## What it looks for

Calls of `scaled_dot_product_attention` under which `_scaled_dot_product_attention_math` ran on the device.

## Why it matters

The math path is the reference, there for the calls that no fused kernel takes. It casts 16-bit inputs up to fp32,
writes the whole score matrix several times, builds a causal mask at each call, and its fp32 products run on CUDA
cores unless TF32 is allowed. A fused backend does the same in one kernel that never writes the scores. At stake is
what the calls take beyond such a kernel at half of the device's peak.

## How to confirm it

`foretrace why TRACE` gives, for each call, the first thing that keeps every other backend from it. Change that,
profile again: one attention kernel should be left of the twenty.

## What usually helps

Where nothing in the arguments stands in the way, the path was pinned: remove `sdpa_kernel(SDPBackend.MATH)` or
`enable_math_sdp` around the call. Otherwise change the argument that the finding names: the dtype (bf16 or fp16), a
mask that `is_causal` replaces, unequal head counts in fp32 (cast, or repeat K and V first), a head size that is no
multiple of 8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.backends import FUSED, PINS, fused_ns, takers, verdicts
from foretrace.findings.facts import MATH_PATH, Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.findings.sdpa_calls import SdpaKind, mask_text, shape_text
from foretrace.trace.distinct import distinct, is_among
from foretrace.units import bytes_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from foretrace.analysis.dispatch.call import Call
    from foretrace.analysis.dispatch.decide import Verdict
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code=MATH_PATH, name="math-path", needs=Needs.OPS | Needs.LAUNCHES, since="0.1")

_FP32_BYTES: Final = 4
_BYTES: Final = {"bf16": 2, "fp16": 2, "fp32": 4, "fp64": 8}
_PINNED: Final = "let SDPA choose: remove sdpa_kernel(SDPBackend.MATH) or enable_math_sdp around the call"
# What to change for the first thing that stands in the way.
_CHANGES: Final[dict[str, str]] = {
    "dtype": "cast q, k and v to bf16 before the call (autocast does not always cover it)",
    "attn_mask": "pass no mask: is_causal=True for a causal one, nested or packed sequences for padding",
    "mask_dtype": "give the mask q's dtype, or make it bool",
    "head_dim": "pad the head size to a multiple of 8 once, in the weights",
    "last_dim_stride": "make the last dimension of q, k and v contiguous",
    "dropout": "set dropout_p=0.0 outside training",
    "num_heads": "pass enable_gqa=True with 16-bit inputs, or repeat K and V before the call",
    "grad": "run inference under torch.inference_mode(), where no gradient is needed",
}
_GQA_FP32: Final = """\
cast to bf16, which admits flash and cuDNN, or expand K and V first:
    k, v = (x.repeat_interleave(groups, dim=1) for x in (k, v))"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding for each thing that kept the fused backends away."""
    facts = facts_of(trace)
    sdpa = facts.sdpa
    calls = facts.math_calls
    acts = facts.trace.activities
    by_reason: dict[str | None, list[int]] = {}
    for number in distinct(sdpa.kind[calls]):
        by_reason.setdefault(_reason(facts, sdpa.kinds[number]), []).append(int(number))
    for reason, numbers in by_reason.items():
        some = calls[is_among(sdpa.kind[calls], numbers)]
        inside = sdpa.activities(some)
        if not inside.size:
            continue
        times = [int(acts.dur[sdpa.activities(some[sdpa.kind[some] == number])].sum()) for number in numbers]
        yield _finding(facts, some, inside, sdpa.kinds[numbers[int(np.argmax(times))]], reason)


def _reason(facts: Facts, kind: SdpaKind) -> str | None:
    """The first thing in the way of the fused backends; None: one surely takes the call. "" is not known."""
    found = verdicts(facts, kind)
    if not found:
        return ""
    takes = takers(found)
    if any(found[name].certain for name in takes):
        return None
    reasons = [found[name].reason for name in ("flash", "efficient", "cudnn") if name in found]
    refused = [reason for reason in reasons if reason not in (None, "arch")]
    if refused:
        return refused[0]
    return None if takes else "arch"


def _finding(facts: Facts, calls: I64, inside: I64, kind: SdpaKind, reason: str | None) -> Finding:
    sdpa, found = facts.sdpa, verdicts(facts, kind)
    kernels, backward = len(inside) / len(calls), sdpa.backward(calls)
    call = kind.call
    gqa = call is not None and call.query.heads != call.key.heads and call.query.dtype == "fp32"
    change = _pinned(call, found) if reason is None else _GQA_FP32 if gqa else _CHANGES.get(reason)
    upcast = is_among(facts.casts.up, inside).any()
    size = _FP32_BYTES if upcast else _BYTES.get(call.query.dtype if call else "", _FP32_BYTES)
    return RULE.finding(
        f"SDPA on the math path: {kernels:.0f} kernels and copies a call",
        count=facts.per_step(len(calls)),
        at_stake_ns=_at_stake(facts, calls, inside, backward),
        confidence=Confidence.CERTAIN,
        evidence=facts.evidence_of_ops(sdpa.op[calls]),
        text=f"{_text(call, found, reason, size)}{facts.backward_text(backward)}",
        change=change,
    )


def _pinned(call: Call | None, found: Mapping[str, Verdict]) -> str:
    """What to do where the path was pinned: the backends that can take the call, by name, around the call as it is."""
    names = [f"SDPBackend.{PINS[name]}" for name in takers(found)]
    pin = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
    return f"{_PINNED}, or name what can take it:\n    with sdpa_kernel({pin}):\n        {_call_text(call)}"


def _call_text(call: Call | None) -> str:
    """The call as it was recorded; a scale was not."""
    given = ["q", "k", "v"]
    if call is None:
        given.append("...")
    else:
        given += ["attn_mask=mask"] if call.mask else []
        given += [f"dropout_p={call.dropout:g}"] if call.dropout else []
        given += ["is_causal=True"] if call.causal else []
        given += ["enable_gqa=True"] if call.gqa else []
    return f"out = F.scaled_dot_product_attention({', '.join(given)})"


def _at_stake(facts: Facts, calls: I64, inside: I64, backward: I64) -> float:
    """Device time a step beyond what a fused kernel takes for the same; no more than a step takes."""
    sdpa = facts.sdpa
    both = np.concatenate((inside, backward))
    fused = 0.0
    for number, count in zip(*np.unique(sdpa.kind[calls], return_counts=True), strict=True):
        for way in (False, True) if backward.size else (False,):
            fused += int(count) * fused_ns(facts, sdpa.kinds[int(number)], backward=way)
    left = facts.device_ns(both) - max(facts.device_ns(_kept(facts, both)), facts.per_step(fused))
    step = facts.timeline.per_step.device_time_ns.median
    return max(0.0, min(left, step or left))


def _kept(facts: Facts, inside: I64) -> I64:
    """What a fused kernel has to do as well: the products that already run on tensor cores."""
    return facts.activities_where(lambda said: said.role == "gemm" and said.unit == "tensor_core", inside)


def _text(call: Call | None, found: Mapping[str, Verdict], reason: str | None, size: int) -> str:
    if call is None:
        return "Shapes were not recorded, so what kept the fused backends away is not known."
    scores = int(np.prod(call.query.dims[:-1])) * call.key.length * size
    text = (
        f"The call on {shape_text(call)} with {mask_text(call)} holds its whole score matrix in memory, "
        f"{bytes_text(scores)} of it. "
    )
    if not found:
        return text + "The device is not described in the file, so why no fused backend ran is not known."
    takes = takers(found)
    refused = [f"{name}: {said.text}" for name, said in found.items() if name in FUSED and name not in takes]
    if reason is None:
        text += (
            f"Nothing in its arguments stands in the way of {' or '.join(takes)}, so the path was pinned or the others "
            f"were switched off.{' Not ' + '; '.join(refused) + '.' if refused else ''}"
        )
    else:
        maybe = [f"{name} {found[name].text}" for name in takes]
        text += f"Why no other ran: {'; '.join(refused)}." if refused else ""
        text += f" It depends on the release: {'; '.join(maybe)}." if maybe else ""
    return text.strip()
