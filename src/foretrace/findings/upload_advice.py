"""What to change about copies from the host that it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.findings.idle_causes import loader_rows

if TYPE_CHECKING:
    from foretrace.findings.facts import Facts

__all__ = ["ONCE", "may_move_once", "pin"]

ONCE: Final = " Parameters of a model move once: if these are, record later."
"""What may be true of copies in a file that shows no loop."""

_LOADED: Final = """\
pin the memory, and copy without waiting:
    loader = DataLoader(dataset, pin_memory=True)
    batch = batch.to("cuda", non_blocking=True)"""
_OWN: Final = """\
keep what is copied in pinned memory, and copy without waiting:
    buffer = torch.empty(shape, pin_memory=True)  # once; or tensor.pin_memory()
    x = buffer.to("cuda", non_blocking=True)"""


def pin(facts: Facts) -> str:
    """How to pin what is copied: a loader does so for its batches."""
    return _LOADED if loader_rows(facts).size else _OWN


def may_move_once(facts: Facts) -> bool:
    """Whether the copies may be a model on its way to the device: the file has neither steps nor a loader."""
    return not facts.has_steps and not loader_rows(facts).size
