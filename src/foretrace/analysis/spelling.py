"""Names without what changes from run to run: numbers of compiled regions, hashes of graphs, counters of annotations.

Two recordings of one program must line up, so names are compared in this spelling and shown in their own.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = ["is_range", "kernel_key", "range_key"]

# Ranges that torch.compile and the autograd engine open around code: they are recorded as ops or as annotations.
_RANGES: Final = (
    "Torch-Compiled Region",
    "TorchDynamo",
    "Pregraph bytecode",
    "AOTDispatcher",
    "## Call CompiledFxGraph",
    "CompiledFxGraph",
    "CompiledFunction",
    "Inductor",
)
_REGION: Final = re.compile(r"(Torch-Compiled Region)[:\s].*", re.DOTALL)
_GRAPH: Final = re.compile(r"(?:## )?Call CompiledFxGraph .*", re.DOTALL)
_ADDRESS: Final = re.compile(r"0x[0-9a-fA-F]+")
_DIGITS: Final = re.compile(r"\d+")
_TRITON_NUMBER: Final = re.compile(r"\A(triton_\w*?)_\d+\Z")


def is_range(name: str) -> bool:
    """A range that a compiler opens around code, though it is recorded like an op."""
    return name.startswith(_RANGES)


@lru_cache(maxsize=65536)
def range_key(name: str, *, is_op: bool) -> str:
    """The spelling by which ranges of two recordings are told to be the same; of annotations, without numbers."""
    if is_range(name):
        return _REGION.sub(r"\1", _GRAPH.sub("CompiledFxGraph", name))
    if is_op:
        return kernel_key(name)
    return _DIGITS.sub("#", name)


@lru_cache(maxsize=65536)
def kernel_key(name: str) -> str:
    """The spelling by which kernels are told to be the same: Inductor's kernels without their number in the graph."""
    numbered = _TRITON_NUMBER.match(name)
    return numbered[1] if numbered is not None else _ADDRESS.sub("0x", name)
