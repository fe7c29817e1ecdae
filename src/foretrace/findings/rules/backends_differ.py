"""Equal attention calls run on different backends.

## What it looks for

Calls of `scaled_dot_product_attention` with the same shapes, dtypes and arguments, under which different backends
ran.

## Why it matters

Backends differ in speed, in rounding, and in what they give for a row that is masked completely (NaN or 0). A backend
that was set around a compiled call may be ignored, and the process-wide order can change while a program runs, so the
difference is often not meant.

## How to confirm it

The evidence names one call of each. `foretrace why TRACE` says what each backend asks for.

## What usually helps

Pin the backend inside the function that calls SDPA, `with sdpa_kernel(SDPBackend.FLASH_ATTENTION):`, or set the
priority once at the start.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.findings.sdpa_calls import shape_text
from foretrace.trace.distinct import either
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.analysis.dispatch.call import Call
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT117", name="backends-differ", needs=Needs.OPS | Needs.SHAPES, since="0.1")

_CHANGE: Final = """\
pin one where the call is:
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding for each call that ran on several backends."""
    facts = facts_of(trace)
    by_call: dict[Call, list[int]] = {}
    for number, kind in enumerate(facts.sdpa.kinds):
        if kind.call is not None and kind.backend is not None:
            by_call.setdefault(_asked(kind.call), []).append(number)
    for call, numbers in by_call.items():
        calls: dict[str, I64] = {}
        for number in numbers:
            backend = str(facts.sdpa.kinds[number].backend)
            some = np.flatnonzero(facts.sdpa.kind == number)
            calls[backend] = either(calls[backend], some) if backend in calls else some
        if len(calls) > 1:
            yield _finding(facts, call, calls)


def _asked(call: Call) -> Call:
    """The call as far as a caller sees it: strides and what is not known left out."""
    mask = replace(call.mask, strides=None) if call.mask else None
    query, key, value = (replace(operand, strides=None) for operand in (call.query, call.key, call.value))
    return replace(call, query=query, key=key, value=value, mask=mask, grad=None)


def _finding(facts: Facts, call: Call, calls: dict[str, I64]) -> Finding:
    acts, sdpa = facts.trace.activities, facts.sdpa
    total = {backend: int(acts.dur[sdpa.activities(some)].sum()) for backend, some in calls.items()}
    each = {backend: total[backend] / len(some) for backend, some in calls.items()}
    best = min(each.values())
    backends = sorted(calls)
    count = sum(len(some) for some in calls.values())
    rates = ", ".join(f"{backend} {time_text(each[backend])} a call" for backend in backends)
    return RULE.finding(
        f"equal attention calls ran on {' and '.join(backends)}",
        count=facts.per_step(count),
        at_stake_ns=facts.per_step(sum(total.values()) - best * count),
        confidence=Confidence.CERTAIN,
        evidence=tuple(item for some in calls.values() for item in facts.evidence_of_ops(sdpa.op[some[:1]])),
        text=(
            f"Calls on {shape_text(call)} with the same arguments ran on {' and '.join(backends)} ({rates}). They "
            "differ in rounding as well, and where a mask hides a whole row some give NaN and others 0."
        ),
        change=_CHANGE,
    )
