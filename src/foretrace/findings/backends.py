"""What the dispatch rules say of the calls in a trace: which backends would take a call, and what stands in the way."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Final

from foretrace.analysis.dispatch.call import contiguous

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foretrace.analysis.dispatch.call import Call, Operand
    from foretrace.analysis.dispatch.decide import Verdict
    from foretrace.findings.facts import Facts
    from foretrace.findings.sdpa_calls import SdpaKind

__all__ = ["FUSED", "PINS", "fused_ns", "takers", "verdicts"]

FUSED: Final = ("cudnn", "flash", "efficient")
"""Backends that never write the scores."""
_PLAIN_RATE: Final = 0.5
"""Of the peak: what a fused kernel reaches at a fair size, neither the best one nor the worst."""
_HEADS: Final = 3
"""The heads, the length and the head size come last."""
PINS: Final = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION"}
"""Their names in ``torch.nn.attention.SDPBackend``."""


def takers(found: Mapping[str, Verdict]) -> list[str]:
    """The fused backends that take the call by these verdicts, in their order."""
    return [name for name, verdict in found.items() if name in FUSED and verdict.eligible]


def fused_ns(facts: Facts, kind: SdpaKind, *, backward: bool) -> float:
    """Device time that a fused kernel at a plain rate takes for one call of this kind, or for its backward.

    In nanoseconds: twice the least that the device's peaks allow; 0 where the shapes or the peaks are not known.
    """
    if kind.call is None:
        return 0.0
    # The tables of cards and of work: only where there is a call to judge.
    from foretrace.analysis.roofline.attention import attention_work  # noqa: PLC0415
    from foretrace.analysis.roofline.bound import floor_ns  # noqa: PLC0415
    from foretrace.names.peaks import peaks_of  # noqa: PLC0415

    peaks, query, key = peaks_of(facts.device_name), kind.call.query, kind.call.key
    if peaks is None:
        return 0.0
    work = attention_work(
        query.dtype,
        prod(query.dims[:-_HEADS]),
        query.heads,
        query.length,
        query.head_dim,
        key_heads=key.heads,
        keys=key.length,
        value_size=kind.call.value.head_dim,
        causal=kind.call.causal,
        backward=backward,
    )
    return (floor_ns(work, peaks)[0] or 0.0) / _PLAIN_RATE


def verdicts(facts: Facts, kind: SdpaKind) -> dict[str, Verdict]:
    """For each backend whether it takes calls of this kind; empty where shapes or the device are not known.

    In the order in which the likeliest release tries them, those that it never tries last.
    """
    if kind.call is None or facts.device is None:
        return {}
    known = facts.verdicts.get(kind)
    if known is None:
        # The tables of all releases: only where there is a call to judge.
        from foretrace.analysis.dispatch.decide import dispatch  # noqa: PLC0415
        from foretrace.analysis.dispatch.devices import architecture_of  # noqa: PLC0415

        arch = architecture_of(facts.device)
        known = {}
        if arch is not None:
            told = dispatch(_with_strides(kind.call), arch, ran=kind.backend)
            known = {name: told.backends[name] for name in dict.fromkeys((*told.order, *told.backends))}
        facts.verdicts[kind] = known
    return known


def _with_strides(call: Call) -> Call:
    """The call, taken as contiguous where strides were not recorded: nearly all are, as far as it matters here."""

    def known(operand: Operand) -> Operand:
        return operand if operand.strides is not None else replace(operand, strides=contiguous(operand.dims))

    mask = known(call.mask) if call.mask is not None else None
    return replace(call, query=known(call.query), key=known(call.key), value=known(call.value), mask=mask)
