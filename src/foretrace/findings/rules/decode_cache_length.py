"""Decoding attends over the whole cache buffer: the key length is the same in every step.

## What it looks for

Calls with a few new queries over many keys whose key length does not grow from step to step.

## Why it matters

With a static cache, K and V are passed as the whole buffer. Attention then reads all of it, and its cost follows the
length of the buffer, not the number of tokens so far. That is the price of fixed shapes (for CUDA graphs and
`torch.compile`), and often meant.

## How to confirm it

Halve the buffer and profile again: attention should take half the time.

## What usually helps

A buffer no longer than needed, or a kernel that is told the valid length: paged or variable-length attention,
FlexAttention with a block mask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import distinct
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.findings.sdpa_calls import SdpaKind
    from foretrace.trace.model import Trace

RULE = Rule(
    code="FT119", name="decode-cache-length", needs=Needs.OPS | Needs.SHAPES | Needs.STEPS, since="0.1", note=True
)

# Up to this many new tokens at a time it is decoding (one, or a few that are guessed ahead).
_NEW_TOKENS: Final = 8
_MANY_KEYS: Final = 64


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one note."""
    facts = facts_of(trace)
    sdpa = facts.sdpa
    calls = sdpa.where(_decodes)
    if not calls.size:
        return
    rows = trace.ops.row[sdpa.op[calls]]
    steps = facts.step_of(trace.rows.ts[rows])
    lengths = np.array([_key_length(sdpa.kinds[int(number)]) for number in sdpa.kind[calls]])
    if len(distinct(steps)) < 2 or len(distinct(lengths)) > 1:  # noqa: PLR2004 - one step shows no growth
        return
    spent = facts.device_ns(sdpa.activities(calls))
    yield RULE.finding(
        f"decoding attends over {int(lengths[0]):,} keys in every step",
        count=facts.per_step(len(calls)),
        at_stake_ns=0,
        confidence=Confidence.LIKELY,
        evidence=facts.evidence_of_ops(sdpa.op[calls]),
        text=(
            f"The key length stays {int(lengths[0]):,} over {len(distinct(steps))} steps, as that of a cache buffer "
            f"does, so attention ({time_text(spent)} a step) costs what the buffer's length costs, not what the "
            "tokens so far do."
        ),
    )


def _decodes(kind: SdpaKind) -> bool:
    call = kind.call
    return call is not None and call.query.length <= _NEW_TOKENS and call.key.length >= _MANY_KEYS


def _key_length(kind: SdpaKind) -> int:
    return kind.call.key.length if kind.call else 0
