"""A model runs as several compiled regions a step, with eager code between them.

## What it looks for

Consecutive `Torch-Compiled Region`s on one thread of a step that have little between them: at most eight eager
launches, or none at all and another frame's number.

## Why it matters

Each break ends the graph: nothing fuses across it, guards are checked again after it, and its own launches are eager.
Attention between two regions (a backend set with a context manager, a package's kernel without a custom op) is the
usual one.

## How to confirm it

`torch._dynamo.explain(model)(x)` lists the breaks with their reasons; `fullgraph=True` turns the first one into an
error.

## What usually helps

Move the context manager outside the compiled function, replace `.item()` and prints, register kernels of your own
with `torch.library.custom_op`. Several regions are fine where they were meant: one for each layer, say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.amounts import amount
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import either
from foretrace.units import count_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT209", name="graph-breaks", needs=Needs.OPS, since="0.1")

# More eager launches than this between two regions are a part of the program of its own, not a break.
_BETWEEN: Final = 8
_CHANGE: Final = """\
see the reasons, then make the first one an error:
    print(torch._dynamo.explain(model)(x))
    model = torch.compile(model, fullgraph=True)"""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all breaks."""
    facts = facts_of(trace)
    breaks = _breaks(facts)
    if breaks.size:
        yield _finding(facts, breaks)


def _breaks(facts: Facts) -> I64:
    """Positions of the regions that are followed by another after a break."""
    regions, rows = facts.regions, facts.trace.rows
    if len(regions) < 2:  # noqa: PLR2004 - a break has two sides
        return np.zeros(0, np.int64)
    thread, begin, end = regions.spans.thread, regions.spans.begin, regions.spans.end
    step = facts.step_of(begin)
    near = np.flatnonzero((thread[1:] == thread[:-1]) & (step[1:] == step[:-1]))
    launch = facts.trace.activities.launch[facts.in_launch_order]
    found = []
    for at in near:
        mine = rows.ts[launch[rows.thread[launch] == thread[at]]]
        between = int(np.searchsorted(mine, begin[at + 1]) - np.searchsorted(mine, end[at]))
        other = regions.frame(int(at)) != regions.frame(int(at) + 1)
        if 0 < between <= _BETWEEN or (between == 0 and other):
            found.append(int(at))
    return np.array(found, np.int64)


def _finding(facts: Facts, breaks: I64) -> Finding:
    regions = facts.regions
    gaps = regions.spans.begin[breaks + 1] - regions.spans.end[breaks]
    frames = {regions.frame(int(at)) for at in either(breaks, breaks + 1)}
    around = _attention_between(facts, breaks)
    text = (
        f"{count_text(round(facts.per_step(len(regions))), 'compiled region')} {facts.per}, with eager code between "
        f"them {amount(facts.per_step(len(breaks)))} times, {time_text(facts.per_step(int(gaps.sum())))} of it on the "
        "CPU. "
    )
    if around:
        text += (
            f"{around} of the breaks are around attention: its backend may be set, or its kernel called, outside the "
            "graph."
        )
    return RULE.finding(
        f"{facts.each(len(breaks), 'graph break')} between compiled regions",
        count=facts.per_step(len(breaks)),
        at_stake_ns=facts.per_step(int(gaps.sum())),
        confidence=Confidence.LIKELY if len(frames) > 1 and None not in frames else Confidence.POSSIBLE,
        evidence=facts.evidence_of_rows(regions.rows[either(breaks, breaks + 1)]),
        text=text.strip(),
        change=_CHANGE,
    )


def _attention_between(facts: Facts, breaks: I64) -> int:
    """How many of the breaks have an attention call in them."""
    regions, rows = facts.regions, facts.trace.rows
    calls = facts.trace.ops.row[facts.sdpa.op]
    number = 0
    for at in breaks:
        on = rows.thread[calls] == regions.spans.thread[at]
        inside = (rows.ts[calls] >= regions.spans.end[at]) & (rows.ts[calls] < regions.spans.begin[at + 1])
        number += bool((on & inside).any())
    return number
