"""What to change about one thing that the host is in while the device idles."""

from __future__ import annotations

from typing import Final

from foretrace.findings.idle_gaps import NOTHING
from foretrace.trace.kineto import SYNC_NAME

__all__ = ["LOADER", "WARM_UP", "is_loader", "unblock"]

LOADER: Final = "let the loader work ahead: DataLoader(..., num_workers=8, pin_memory=True, prefetch_factor=4)"
WARM_UP: Final = """\
run a few steps before the recording, so that code is loaded and contexts and streams are made:
    torch.profiler.schedule(wait=1, warmup=3, active=3)"""
_WAIT: Final = "do not wait for the device inside the step: read values later, or every N steps"


def is_loader(name: str) -> bool:
    """Whether a host range is a `DataLoader` that is asked for its next batch."""
    return "DataLoader" in name


def unblock(name: str, *, has_stacks: bool) -> str:
    """What to try where a host range of this name (or `NOTHING`) fills the gap.

    ``has_stacks``: the file holds Python stacks, so recording them is no news.
    """
    if is_loader(name):
        return LOADER
    if SYNC_NAME.match(name):
        return _WAIT
    if has_stacks:
        return "see what runs in it: the file holds Python stacks, and their frames in the longest gap name the lines"
    if name == NOTHING:
        return "record Python stacks, torch.profiler.profile(with_stack=True), to see what runs there"
    return "see what runs in it: torch.profiler.profile(with_stack=True) names the Python lines"
