"""Where a compiled call's time on the CPU goes: its ops, the check of its guards, and what stands around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.learn.words import and_list, one_unit, shown_sum, tick

if TYPE_CHECKING:
    from foretrace.learn.recorded import Recorded

__all__ = ["compiled_sentence"]

_GUARDS: Final = "TorchDynamo Cache Lookup"


def compiled_sentence(recorded: Recorded) -> str:
    """The parts of the step's time on the CPU, which add up; empty where the recording names no guards."""
    guards = sum(op.cpu_ns for op in recorded.ops if op.name == _GUARDS)
    inside = {id(child) for op in recorded.ops if op.name.startswith("aten::") for child in op.walk()[1:]}
    own = [op for op in recorded.ops if op.name.startswith("aten::") and id(op) not in inside]
    if not guards or not own:
        return ""
    ops = sum(op.cpu_ns for op in own)
    scale = one_unit(guards, ops, recorded.cpu_ns)
    rest = shown_sum([recorded.cpu_ns], scale) - shown_sum([guards, ops], scale)
    called = list(dict.fromkeys(op.name for op in own))
    names = f"{and_list(map(tick, called))} {'takes' if len(called) == 1 else 'take'}"
    return (
        f"Of these {scale(recorded.cpu_ns)}, {names} {scale(ops)}. Checking the guards, whether the inputs are "
        f"like those it was compiled for ({tick(_GUARDS)}), takes {scale(guards)}; the other {scale(rest)} go to the "
        "wrappers around the compiled code and to Python."
    )
