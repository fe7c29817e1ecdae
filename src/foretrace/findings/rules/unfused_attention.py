"""Attention written out as a product, a softmax and a product, with the scores in memory between them.

## What it looks for

`bmm`, softmax over the last dimension and `bmm` in a row on one thread, whose shapes are those of attention.
Inductor's fused softmax between two products counts as well. What SDPA's math path or FlexAttention's fallback run is
theirs.

## Why it matters

The score matrix grows with the square of the length. Written out, it goes to memory and back once for the scale, once
for the mask, once for the softmax and once for the second product; a fused kernel keeps it on the chip.

## How to confirm it

`foretrace read TRACE --tree` shows the three ops and what lies between them. Put `scaled_dot_product_attention` in
their place, compare the outputs, and profile again: one attention kernel should be left.

## What usually helps

`torch.nn.functional.scaled_dot_product_attention`, with `is_causal=True` rather than a mask where the mask is causal,
`attn_mask=bias` where something is added to the scores, and `scale=1.0` where nothing scales them (the default is one
over the root of the head size); in Hugging Face models that have an SDPA version `attn_implementation="sdpa"`.
FlexAttention (compiled) where the scores are changed in a way that SDPA has no argument for.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.findings.rules.hidden_copy import hidden_copies
from foretrace.findings.score_ops import ScoreOps, score_ops
from foretrace.trace.distinct import both, without
from foretrace.units import bytes_text, count_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.findings.unfused_attention import Scores
    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT104", name="unfused-attention", needs=Needs.OPS | Needs.LAUNCHES, since="0.1")

_OPENING: Final = "one call that never writes the scores:"
_CLOSING: Final = 'in Hugging Face models that have an SDPA version: from_pretrained(..., attn_implementation="sdpa")'
_SCALE: Final = "SDPA scales by 1/sqrt(head size) unless it is given scale=...: give it the model's own factor"
_SHOWN: Final = 3
_NOT_ARGUMENTS: Final = ScoreOps.SCALED | ScoreOps.FACTOR_UNKNOWN


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all calls."""
    facts = facts_of(trace)
    unfused = facts.unfused
    calls = np.arange(len(unfused))
    inside = unfused.activities(calls)
    if not inside.size:
        return
    between, backward = _between(facts, inside), _between(facts, unfused.backward)
    # The hidden copies among them are a finding of their own, with a smaller change.
    copies = both(between, np.concatenate([between[:0], *hidden_copies(facts).values()]))
    known = [kind for kind in unfused.kinds if kind is not None]
    largest = max(known, key=lambda scores: scores.bytes) if known else None
    size = f" over {bytes_text(largest.bytes)} of scores" if largest else ""
    yield RULE.finding(
        f"unfused attention: bmm, softmax, bmm{size}",
        count=facts.per_step(len(unfused)),
        at_stake_ns=facts.device_ns(between) + facts.device_ns(backward) - facts.device_ns(copies),
        confidence=Confidence.CERTAIN if known else Confidence.LIKELY,
        evidence=facts.evidence_of_ops(np.stack([unfused.first, unfused.softmax, unfused.second], axis=1).reshape(-1)),
        text=_text(facts, inside, between, copies, largest) + facts.backward_text(unfused.backward),
        change=_change(score_ops(facts)),
        because=_because(facts),
    )


def _between(facts: Facts, inside: I64) -> I64:
    """What a fused kernel does away with: all but the products, which it has to do as well."""
    products = facts.activities_where(lambda said: said.role == "gemm", inside)
    return without(inside, products)


def _apart(facts: Facts, copies: I64) -> str:
    if not copies.size:
        return ""
    return (
        f"Hidden copies, {time_text(facts.device_ns(copies))} {facts.per} of that, are at stake in FT101 and not here. "
    )


def _because(facts: Facts) -> str | None:
    return "FT108" if facts.weights_wanted else None


def _text(facts: Facts, inside: I64, between: I64, copies: I64, largest: Scores | None) -> str:
    calls = len(facts.unfused)
    text = (
        f"A call runs {count_text(round(len(inside) / calls), 'kernel or copy', 'kernels and copies')} in "
        f"{time_text(int(facts.trace.activities.dur[inside].sum()) / calls)}, "
        f"{time_text(int(facts.trace.activities.dur[between].sum()) / calls)} of it outside the two products. "
    ) + _apart(facts, copies)
    if largest is None:
        return text + "Told by the order of the ops alone: shapes were not recorded."
    dtype = {"c10::BFloat16": "bf16", "c10::Half": "fp16", "float": "fp32"}.get(largest.dtype, largest.dtype)
    return text + (
        f"The scores are {largest.matrices:,} matrices (batch times heads) of {largest.query_length:,} x "
        f"{largest.key_length:,} in {dtype}, {bytes_text(largest.bytes)}, written and read again on the way."
    )


def _change(calls: list[ScoreOps]) -> str:
    """One call of SDPA for each way in which the scores are treated here, the most frequent first."""
    ways = Counter(_arguments(some) for some in calls).most_common()
    lines = [_OPENING]
    for (given, note), number in ways[:_SHOWN]:
        notes = [f"{number:,} of {len(calls):,} calls"] if len(ways) > 1 else []
        comment = "; ".join([*notes, note] if note else notes)
        call = f"    out = F.scaled_dot_product_attention({', '.join(('q', 'k', 'v', *given))})"
        lines.append(f"{call}  # {comment}" if comment else call)
    if any(not some & ScoreOps.SCALED and some & ScoreOps.FACTOR_UNKNOWN for some in calls):
        lines.append(_SCALE)
    return "\n".join([*lines, _CLOSING])


def _arguments(some: ScoreOps) -> tuple[tuple[str, ...], str]:
    """What SDPA needs besides Q, K and V to compute the same, and a comment on it."""
    given, note = _masking(some)
    if some & _NOT_ARGUMENTS:
        return given, note
    unscaled = "nothing scales the scores here"
    return (*given, "scale=1.0"), f"{note}; {unscaled}" if note else unscaled


def _masking(some: ScoreOps) -> tuple[tuple[str, ...], str]:
    hidden, like_causal = some & (ScoreOps.FILLED | ScoreOps.KEPT), some & ScoreOps.ONE_PLANE
    # SDPA's mask is true where a score counts, that of `masked_fill` where it does not.
    mask, out = ("~mask", "mask") if some & ScoreOps.FILLED else ("mask", "~mask")
    if some & ScoreOps.BIAS and hidden:
        return (f'attn_mask=bias.masked_fill({out}, float("-inf"))',), ""
    if some & ScoreOps.BIAS:
        if like_causal and some & ScoreOps.TRIANGLE:
            return ("is_causal=True",), "attn_mask=bias where what is added is not the causal mask alone"
        return ("attn_mask=bias",), "is_causal=True instead where bias is the causal mask alone" if like_causal else ""
    if hidden and like_causal:
        return ("is_causal=True",), f"attn_mask={mask} where the mask is not the causal one"
    return ((f"attn_mask={mask}",), "") if hidden else ((), "")
