"""`is_causal` is used with unequal query and key lengths: which corner the mask starts from is a convention.

## What it looks for

Calls with `is_causal` true whose query and key lengths differ.

## Why it matters

`scaled_dot_product_attention` aligns the causal mask to the top left: with one query and 512 keys, only the first key
is seen. The flash-attn package (2.1 and later) aligns it to the bottom right: the query sees all 512. Code that moves
between the two computes something else, with no error.

## How to confirm it

Compare the call with an explicit mask of either kind on a few small tensors.

## What usually helps

For one new token over a cache no mask is needed: `is_causal=False`. For chunks,
`torch.nn.attention.bias.causal_lower_right(Lq, Lk)` says which corner is meant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.findings.sdpa_calls import SdpaKind
    from foretrace.trace.model import Trace

RULE = Rule(code="FT113", name="causal-unequal-lengths", needs=Needs.OPS | Needs.SHAPES, since="0.1")

_CHANGE: Final = """\
say which corner is meant (decoding one token over a cache needs no mask):
    from torch.nn.attention.bias import causal_lower_right
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(Lq, Lk))"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all calls."""
    facts = facts_of(trace)
    sdpa = facts.sdpa
    calls = sdpa.where(_unequal)
    if not calls.size:
        return
    kind = sdpa.kinds[int(np.bincount(sdpa.kind[calls]).argmax())]
    lengths = (kind.call.query.length, kind.call.key.length) if kind.call else (0, 0)
    seen = min(1, lengths[1])
    yield RULE.finding(
        f"is_causal with {lengths[0]:,} queries and {lengths[1]:,} keys: which corner?",
        count=facts.per_step(len(calls)),
        at_stake_ns=0,
        confidence=Confidence.CERTAIN,
        evidence=facts.evidence_of_ops(sdpa.op[calls]),
        text=(
            f"scaled_dot_product_attention aligns the mask to the top left: the first query sees {seen} key of "
            f"{lengths[1]:,}. The flash-attn package aligns it to the bottom right: the last query sees all of them. "
            "This is a matter of results, not of time."
        ),
        change=_CHANGE,
    )


def _unequal(kind: SdpaKind) -> bool:
    call = kind.call
    return call is not None and call.causal and call.query.length != call.key.length
