"""Runtime calls in which the driver allocates or frees memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from foretrace.findings.counted_trace import CountedTrace

__all__ = ["allocation_calls"]

# cudaMallocAsync and cuMemAllocAsync hand out pooled memory: they are what the others should be.
_CALLS: Final = re.compile(
    r"(?:cuda|hip)(?:Malloc|Free|HostAlloc|MallocHost|FreeHost|HostRegister|HostFree|HostMalloc|ExtMallocWithFlags)\Z"
    r"|cu(?:MemAlloc|MemFree|MemCreate|MemMap|MemUnmap|MemRelease)(?:_v2)?\Z"
)


def allocation_calls(facts: CountedTrace) -> list[str]:
    """The names of such calls that occur in the file."""
    return facts.call_names.matching(lambda name: _CALLS.match(name) is not None)
