"""Autocast casts the same weights in every step.

## What it looks for

Casts from fp32 to 16 bits inside `linear`, a convolution or a matrix product, of a tensor with the shape of its
weight or bias, the same in every step.

## Why it matters

Under autocast the weights stay in fp32 and are cast where they are used, once for each forward pass (each call, where
no gradients are recorded: the cache of casts is then not used). For inference the result never changes. For small
batches the casts can take longer than the products.

## How to confirm it

`foretrace read TRACE --tree` shows `aten::to` and `aten::copy_` under `aten::linear`, before the inner
`aten::linear`.

## What usually helps

For inference cast the model once, with `model.to(...)` of the dtype that autocast uses, and drop autocast. In training
the casts go with fp32 weights; on devices with bf16 (compute capability 8.0 and later) parameters in bf16 with an
optimizer that keeps fp32 copies have none. Training in fp16 needs fp32 weights: larger batches make the casts a smaller
share.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.analysis.shapes import op_inputs
from foretrace.findings.amounts import amount
from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import distinct
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT303", name="weight-cast", needs=Needs.OPS | Needs.LAUNCHES | Needs.SHAPES, since="0.1")

_HOLDERS: Final = (
    "aten::linear",
    "aten::conv1d",
    "aten::conv2d",
    "aten::conv3d",
    "aten::_convolution",
    "aten::addmm",
    "aten::conv_transpose2d",
)
_INFERENCE: Final = """\
cast the model once and drop autocast:
    model = model.to(torch.{dtype})"""
_TRAINING: Final = """\
the casts go with fp32 weights; where bf16 parameters will do:
    model = model.to(torch.bfloat16)  # with an optimizer that keeps fp32 copies"""
_TRAINING_IN_FP16: Final = """\
the casts go with fp32 weights, which training in fp16 needs, and this device has no bf16; more samples a step make \
them a smaller share"""
_BF16_SINCE: Final = (8, 0)
_DTYPES: Final = {"c10::BFloat16": "bfloat16", "c10::Half": "float16"}


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding over all weights."""
    facts = facts_of(trace)
    down = facts.casts.down
    holders = facts.op_names.of(*_HOLDERS)
    if not down.size or not holders.size:
        return
    above = facts.climb(trace.activities.owner[down], holders)
    weights = np.array([_is_weight(trace, at, op) for at, op in zip(down, above, strict=True)], bool)
    casts = down[weights]
    if casts.size and facts.worth(facts.device_ns(casts)) and _in_every_step(facts, casts):
        yield _finding(facts, casts)


def _is_weight(trace: Trace, activity: int, holder: int) -> bool:
    """Whether the cast tensor has the shape of the holder's weight or bias, and not that of its input."""
    if holder < 0:
        return False
    cast = _sizes(trace, int(trace.activities.owner[activity]))
    given = _sizes(trace, int(holder))
    operands = given[1:] if trace.op_name(int(holder)) != "aten::addmm" else [given[0], *given[2:]] if given else []
    return bool(cast) and cast[0] in operands and (not given or cast[0] != given[0])


def _sizes(trace: Trace, op: int) -> list[Any]:
    dims = op_inputs(trace, op)["dims"] or ()
    return [size for size in dims if isinstance(size, list) and size]


def _in_every_step(facts: Facts, casts: I64) -> bool:
    if facts.has_steps:
        return len(distinct(facts.trace.activities.step[casts])) == facts.steps
    return True


def _finding(facts: Facts, casts: I64) -> Finding:
    spent = facts.device_ns(casts)
    training = facts.has_backward
    repeated = facts.steps > 1
    return RULE.finding(
        f"autocast casts {amount(facts.per_step(len(casts)))} weights and biases to 16 bits {facts.per}",
        count=facts.per_step(len(casts)),
        at_stake_ns=spent,
        confidence=Confidence.POSSIBLE if training or not repeated else Confidence.LIKELY,
        evidence=facts.evidence_of(casts),
        text=(
            f"The casts take {time_text(spent)} {facts.per}, {share_text(spent / max(1.0, facts.step_device_ns))} of "
            "the device time. "
            + (
                "Backward runs here: the weights change in each step, so casting them again is right as long as they "
                "are kept in fp32."
                if training
                else "No backward runs here: the weights do not change, and neither does the result."
            )
        ),
        change=_change(facts, casts, training=training),
    )


def _change(facts: Facts, casts: I64, *, training: bool) -> str:
    dtype = _target(facts, casts)
    if not training:
        return _INFERENCE.format(dtype=dtype)
    has_bf16 = facts.capability is None or facts.capability >= _BF16_SINCE
    return _TRAINING if dtype == "bfloat16" or has_bf16 else _TRAINING_IN_FP16


def _target(facts: Facts, casts: I64) -> str:
    """What most of the casts are to, as PyTorch spells it; `copy_` takes the target first."""
    types = (op_inputs(facts.trace, int(op))["types"] for op in facts.trace.activities.owner[casts])
    return Counter(_DTYPES[some[0]] for some in types if some).most_common(1)[0][0]
