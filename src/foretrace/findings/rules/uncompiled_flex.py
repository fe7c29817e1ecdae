"""FlexAttention runs op by op because it was not compiled.

## What it looks for

An op or annotation of FlexAttention under which batched products ran and no fused Triton kernel did. The fallback may
itself lie inside a `Torch-Compiled Region`: that says nothing. K and V repeated by one there are no grouped heads.

## Why it matters

Without `torch.compile`, FlexAttention computes the whole score matrix in fp32 with ordinary ops, to be right rather
than fast. It is slower and larger than attention written out by hand.

## How to confirm it

Compile it and profile again: one kernel named `triton_tem_fused_flex_attention` should be left.

## What usually helps

`flex_attention = torch.compile(flex_attention)` once, at module level, and `create_block_mask` outside the loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import UNCOMPILED_FLEX, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code=UNCOMPILED_FLEX, name="uncompiled-flex", needs=Needs.OPS | Needs.LAUNCHES, since="0.1")

_CHANGE: Final = """\
compile it once, outside the loop:
    from torch.nn.attention.flex_attention import flex_attention
    flex_attention = torch.compile(flex_attention)"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all calls."""
    facts = facts_of(trace)
    flex = facts.flex
    inside = facts.counted[flex.of_activity >= 0] if len(flex) else np.zeros(0, np.int64)
    if not inside.size:
        return
    both = np.concatenate((inside, flex.backward))
    kept = facts.activities_where(lambda said: said.role == "gemm" and said.unit == "tensor_core", both)
    each = int(trace.activities.dur[inside].sum()) / len(flex)
    yield RULE.finding(
        f"FlexAttention is not compiled: {len(inside) / len(flex):.0f} kernels and copies a call",
        count=facts.per_step(len(flex)),
        at_stake_ns=facts.device_ns(both) - facts.device_ns(kept),
        confidence=Confidence.CERTAIN,
        evidence=facts.evidence_of_rows(flex.rows),
        text=(
            f"A call takes {time_text(each)} on the device and runs the fallback: products, a softmax and a "
            "log-sum-exp over the whole score matrix, with no fused kernel among them."
            f"{facts.backward_text(flex.backward)}"
        ),
        change=_CHANGE,
    )
