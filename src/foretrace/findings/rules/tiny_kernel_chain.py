"""Chains of tiny elementwise kernels that one kernel could do.

## What it looks for

At least eight elementwise, copy or reduction kernels in a row on one thread, each shorter than ten microseconds, with
no matrix product, attention or collective between them.

## Why it matters

Each of them costs a launch (5 to 10 microseconds of CPU), and reads and writes its tensor. Fused, the chain is one
launch, one read and one write.

## How to confirm it

`foretrace read TRACE --tree` shows the chain. Compile the function that makes it, profile again: a few kernels named
`triton_...` should be left.

## What usually helps

`torch.compile` on the function or module around them. For normalization, rotary embedding and activations there are
fused ops: `torch.nn.functional.rms_norm`, `F.silu` and the like; for optimizers see the single-tensor one. Where the
chain fills gradients with zeros, `zero_grad(set_to_none=True)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.host_bound import follows_launches
from foretrace.findings.launch_order import Chains, chains
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.findings.spans import Spans
from foretrace.trace.distinct import distinct
from foretrace.trace.kineto import Category
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace

RULE = Rule(code="FT202", name="tiny-kernel-chain", needs=Needs.OPS | Needs.LAUNCHES, since="0.1")

_FUSIBLE: Final = frozenset({"elementwise", "copy", "cast", "reduction", "softmax", "normalization", "random"})
# Shorter than a launch from eager PyTorch takes, or not much longer.
_TINY_NS: Final = 10_000
# Fewer than this happen in any model, around every product.
_LEAST: Final = 8
# Kernels of PyTorch's own ops; those of libraries belong to their products, and Triton's are fused already.
_EAGER: Final = frozenset({"ATen"})
_ZERO_GRAD: Final = "Optimizer.zero_grad#"
_MAIN_SHARE: Final = 0.5
# Files in whole microseconds have kernels of none.
_RESOLUTION_NS: Final = 1_000
_NO_ZEROS: Final = (
    "optimizer.zero_grad(set_to_none=True)  # the default since 2.0: drops gradients rather than fills them"
)
_CHANGE: Final = """\
compile the function around them:
    @torch.compile
    def f(x): ..."""


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all chains."""
    facts = facts_of(trace)
    order = facts.in_launch_order
    acts = trace.activities
    if len(order) < _LEAST:
        return
    fusible = np.array([said.role in _FUSIBLE and said.library in _EAGER for said in facts.decoded] or [False], bool)[
        facts.activity_names.code[order]
    ]
    tiny = fusible & (acts.dur[order] < _TINY_NS) & (acts.category[order] == Category.KERNEL) & ~acts.graph[order]
    tiny &= ~facts.in_optimizer[np.searchsorted(facts.counted, order)]
    found = chains(facts, tiny, _LEAST)
    if found.number:
        yield _finding(facts, found)


def _finding(facts: Facts, found: Chains) -> Finding:
    acts, rows = facts.trace.activities, facts.trace.rows
    kernels = len(found.members)
    saved = kernels - found.number
    owners = acts.owner[found.members]
    ops = distinct(facts.trace.ops.row[owners[owners >= 0]])
    cpu = int(rows.dur[ops].sum()) * saved / kernels
    device = int(acts.dur[found.members].sum()) * saved / kernels
    zeros = _fills_gradients(facts, found)
    because = follows_launches(facts)
    cpu_bound = because is not None
    longest = int(np.bincount(found.chain).max())
    chained = "one chain" if found.number == facts.steps else facts.each(found.number, "chain", said=True)
    median = max(_RESOLUTION_NS, float(np.median(acts.dur[found.members])))
    return RULE.finding(
        f"{facts.each(kernels, 'tiny kernel')} would fuse: {chained}",
        count=facts.per_step(found.number),
        at_stake_ns=facts.per_step(cpu if cpu_bound else device),
        confidence=Confidence.LIKELY,
        evidence=facts.evidence_of(found.members[found.chain == found.chain[0]]),
        text=(
            f"The longest chain has {longest} kernels; half of all take at most {time_text(median)}, and their ops "
            f"cost the CPU {time_text(facts.per_step(int(rows.dur[ops].sum())))} {facts.per}. "
            + ("Most of them fill gradients with zeros. " if zeros else "")
            + (
                "The CPU bounds the step, so it is the launches that count."
                if cpu_bound
                else "What counts is that each reads and writes its tensor."
            )
        ),
        change=_NO_ZEROS if zeros else _CHANGE,
        because=None if zeros else because,
    )


def _fills_gradients(facts: Facts, found: Chains) -> bool:
    """Whether most of the kernels are of an optimizer's `zero_grad`."""
    rows = facts.ranges_named(_ZERO_GRAD)
    if not rows.size:
        return False
    table, launch = facts.trace.rows, facts.trace.activities.launch[found.members]
    spans = Spans(table.thread[rows], table.ts[rows], table.end[rows])
    return bool((spans.holding(table.thread[launch], table.ts[launch]) >= 0).mean() >= _MAIN_SHARE)
