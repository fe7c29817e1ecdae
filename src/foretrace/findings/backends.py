"""What the dispatch rules say of the calls in a trace: which backends would take a call, and what stands in the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from foretrace.analysis.dispatch.decide import Verdict
    from foretrace.findings.facts import Facts
    from foretrace.findings.sdpa_calls import SdpaKind

__all__ = ["FUSED", "verdicts"]

FUSED: Final = ("cudnn", "flash", "efficient")
"""Backends that never write the scores."""


def verdicts(facts: Facts, kind: SdpaKind) -> dict[str, Verdict]:
    """For each backend whether it takes calls of this kind; empty where shapes or the device are not known."""
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
            known = dispatch(kind.call, arch, ran=kind.backend).backends
        facts.verdicts[kind] = known
    return known
