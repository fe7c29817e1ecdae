"""Another fused backend can take this attention call; which one is faster here, only a measurement shows.

## What it looks for

Calls on a fused backend whose arguments another fused backend takes as well, by the dispatch rules of the releases.
Calls of a few microseconds are left out where they are a small part of the step, or the CPU bounds it.

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

from foretrace.findings.backends import FUSED, PINS, takers, verdicts
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.findings.sdpa_calls import shape_text
from foretrace.names.decoded import ATTENTION_ROLES
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from foretrace.analysis.dispatch.decide import Verdict
    from foretrace.findings.sdpa_calls import SdpaKind
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(
    code="FT115", name="another-backend", needs=Needs.OPS | Needs.LAUNCHES | Needs.SHAPES, since="0.1", note=True
)

_TERA: Final = 1e12
# From here a TFLOP/s is told without its decimals.
_TENS: Final = 10
# Shorter calls matter by their number alone: where they are a part of the step that the device bounds.
_SHORT_NS: Final = 10_000
_SHARE: Final = 0.1


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one note, about the kind of call that takes the most time."""
    facts = facts_of(trace)
    sdpa = facts.sdpa
    best: tuple[float, int] | None = None
    for number, kind in enumerate(sdpa.kinds):
        if kind.backend not in FUSED or set(takers(verdicts(facts, kind))) <= {kind.backend}:
            continue
        calls = np.flatnonzero(sdpa.kind == number)
        spent = facts.device_ns(sdpa.activities(calls))
        if _matters(facts, spent, facts.per_step(len(calls))) and (best is None or spent > best[0]):
            best = (spent, number)
    if best is not None:
        yield _finding(facts, best[1])


def _matters(facts: Facts, spent: float, calls: float) -> bool:
    """Whether another kernel could make a difference to the step: device time and calls, both of a step."""
    if spent >= _SHORT_NS * calls:
        return facts.worth(spent)
    step = facts.timeline.per_step
    return step.bound != "cpu" and spent >= _SHARE * (step.period_ns or facts.step_device_ns)


def _finding(facts: Facts, number: int) -> Finding:
    sdpa = facts.sdpa
    kind, calls = sdpa.kinds[number], np.flatnonzero(sdpa.kind == number)
    found = verdicts(facts, kind)
    others = [name for name in takers(found) if name != kind.backend]
    sure = [name for name in others if found[name].certain]
    maybe = [name for name in others if name not in sure]
    return RULE.finding(
        f"{_named(sure, maybe)} can take this call as well as {kind.backend}: measure",
        count=facts.per_step(len(calls)),
        at_stake_ns=0,
        confidence=Confidence.POSSIBLE,
        evidence=facts.evidence_of_ops(sdpa.op[calls]),
        text=(
            f"{_rate(facts, kind, calls)} {_takes(found, sure, maybe)} Which is faster differs by device, shape and "
            "release: this trace does not show it."
        ),
        change=f"measure it: foretrace attention at this shape, then pin the winner:\n"
        f"    with sdpa_kernel(SDPBackend.{PINS[sure[0] if sure else maybe[0]]}):",
    )


def _named(sure: Sequence[str], maybe: Sequence[str]) -> str:
    perhaps = f"perhaps {' or '.join(maybe)}"
    if not sure:
        return perhaps
    return f"{' or '.join(sure)}, {perhaps}," if maybe else " or ".join(sure)


def _takes(found: Mapping[str, Verdict], sure: Sequence[str], maybe: Sequence[str]) -> str:
    """Which others take the call, told apart by whether every release does."""
    said = []
    if sure:
        said.append(f"By the dispatch rules of every release known here {' and '.join(sure)} can take it too.")
    if maybe:
        depends = "; ".join(f"{name}: {found[name].text}" for name in maybe)
        said.append(f"For {' and '.join(maybe)} it depends on the release ({depends}).")
    return " ".join([*said, "Which release ran is not in a trace."])


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
        f"{_tera_text(rate)} TFLOP/s{share}{half}."
    )


def _tera_text(rate: float) -> str:
    tera = rate / _TERA
    return f"{tera:,.0f}" if tera >= _TENS else f"{tera:.2g}"
