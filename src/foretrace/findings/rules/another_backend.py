"""Another fused backend can take this attention call; which one is faster here, only a measurement shows.

## What it looks for

Calls on a fused backend whose arguments another fused backend takes as well, by the dispatch rules of the releases.

## Why it matters

The order in which PyTorch tries backends is fixed by release and architecture; the ranking is not. On Hopper cuDNN is
often ahead of FlashAttention 2 for long training shapes and behind for short ones, on Ampere it is the other way
round, and each release moves it. The note gives the rate reached as a share of the device's peak, so that one sees
whether there is room.

## How to confirm it

`foretrace attention` at this shape measures every backend. No ranking is promised.

## What usually helps

Pin the one that measured best: `with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):`, or `sdpa_kernel([...],
set_priority=True)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.backends import FUSED, verdicts
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.findings.sdpa_calls import shape_text
from foretrace.names.decoded import ATTENTION_ROLES
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from foretrace.findings.sdpa_calls import SdpaKind
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(
    code="FT115", name="another-backend", needs=Needs.OPS | Needs.LAUNCHES | Needs.SHAPES, since="0.1", note=True
)

_TERA: Final = 1e12
_PINS: Final = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION"}


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one note, about the kind of call that takes the most time."""
    facts = facts_of(trace)
    sdpa = facts.sdpa
    best: tuple[float, int, Sequence[str]] | None = None
    for number, kind in enumerate(sdpa.kinds):
        if kind.backend not in FUSED:
            continue
        found = verdicts(facts, kind)
        others = [name for name in FUSED if name != kind.backend and name in found and found[name].eligible]
        spent = facts.device_ns(sdpa.activities(np.flatnonzero(sdpa.kind == number)))
        if others and spent and (best is None or spent > best[0]):
            best = (spent, number, others)
    if best is not None:
        yield _finding(facts, best[1], best[2])


def _finding(facts: Facts, number: int, others: Sequence[str]) -> Finding:
    sdpa = facts.sdpa
    kind, calls = sdpa.kinds[number], np.flatnonzero(sdpa.kind == number)
    return RULE.finding(
        f"{' or '.join(others)} can take this call as well as {kind.backend}: measure",
        count=facts.per_step(len(calls)),
        at_stake_ns=0,
        confidence=Confidence.POSSIBLE,
        evidence=facts.evidence_of_ops(sdpa.op[calls]),
        text=(
            f"{_rate(facts, kind, calls)} By its arguments {' and '.join(others)} can take it too; whether a release "
            "does is not in a trace. Which is faster differs by device, shape and release: this trace does not show "
            "it."
        ),
        change=f"measure it: foretrace attention at this shape, then pin the winner:\n"
        f"    with sdpa_kernel(SDPBackend.{_PINS[others[0]]}):",
    )


def _rate(facts: Facts, kind: SdpaKind, calls: I64) -> str:
    """What ran, how fast, and how near the peak that is."""
    if kind.call is None:
        return f"{kind.backend} ran."
    kernels = facts.activities_where(lambda said: said.role in ATTENTION_ROLES, facts.sdpa.activities(calls))
    spent = int(facts.trace.activities.dur[kernels].sum())
    if not spent:
        return f"{kind.backend} ran on {shape_text(kind.call)}."
    rate = kind.flops * len(calls) / (spent * 1e-9)
    from foretrace.names.peaks import peaks_of  # noqa: PLC0415 - a table of cards, for those who need it

    peaks = peaks_of(facts.device_name)
    peak = peaks.rate("tensor_core", kind.call.query.dtype) if peaks else None
    said = facts.what(int(kernels[0]))
    share = f", {share_text(rate / peak)} of the {facts.device_name}'s {peak / _TERA:,.0f}" if peak else ""
    kept = kind.flops / kind.unmasked_flops
    half = f", counting the {share_text(kept)} of the work that the causal mask leaves" if kind.call.causal else ""
    return (
        f"{kind.backend} ran {said.library} on {shape_text(kind.call)} in {time_text(spent / len(calls))} a call: "
        f"{rate / _TERA:,.0f} TFLOP/s{share}{half}."
    )
