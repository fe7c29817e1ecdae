"""`nn.MultiheadAttention` computes attention weights that nothing seems to read.

## What it looks for

`aten::_native_multi_head_attention` called with `need_weights=True`; or attention written out whose weights are then
averaged over the heads, as `nn.MultiheadAttention` does when weights are asked for (which is its default).

## Why it matters

To hand out the weights it has to write them: attention falls back to products and a softmax over the whole score
matrix, and `is_causal` is ignored. Most callers throw the weights away.

## How to confirm it

Look at the call: `out, _ = mha(...)` throws them away. Pass `need_weights=False` and profile again.

## What usually helps

`mha(query, key, value, need_weights=False)`, which admits the fused kernels. In `nn.TransformerEncoderLayer` it is
already so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT108", name="unread-attention-weights", needs=Needs.OPS | Needs.LAUNCHES | Needs.SHAPES, since="0.1")

_CHANGE: Final = "out, _ = mha(query, key, value, need_weights=False)  # the default computes and averages the weights"


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all calls."""
    facts = facts_of(trace)
    wanted = facts.weights_wanted
    if wanted is None:
        return
    inside = _inside(facts, wanted.native)
    calls = len(wanted.native) + len(wanted.averaged)
    if wanted.averaged.size:
        inside_too = facts.unfused.activities(wanted.averaged)
        stake = facts.device_ns(inside) + facts.device_ns(inside_too)
    else:
        stake = facts.device_ns(inside)
    products = facts.activities_where(lambda said: said.role == "gemm", inside)
    yield RULE.finding(
        "MultiheadAttention computes weights that nothing seems to read",
        count=facts.per_step(calls),
        at_stake_ns=stake - facts.device_ns(products),
        confidence=Confidence.LIKELY,
        evidence=facts.evidence_of_ops(wanted.ops),
        text=(
            "need_weights=True is the default of nn.MultiheadAttention: it writes the weights of all heads, averages "
            f"them and hands them out, which rules out the fused kernels ({time_text(stake)} {facts.per}). "
            "Where weights are asked for, is_causal is ignored. A trace cannot show whether someone reads them."
        ),
        change=_CHANGE,
    )


def _inside(facts: Facts, ops: I64) -> I64:
    return facts.counted[facts.under(ops) >= 0] if ops.size else facts.counted[:0]
