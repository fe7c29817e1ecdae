"""Memory-efficient attention (xformers, and PyTorch's copy of it): ``fmha_cutlassF_bf16_aligned_64x64_rf_sm80``."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import SHORT_DTYPES, dtype_words
from foretrace.names.reading import Reading

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read"]

# Architecture -> instruction of each input format. Ampere's path multiplies float32 too on tensor cores: as three
# tf32 products, which keep float32's accuracy. Without an entry the multiplications run on CUDA cores.
_INSTRUCTIONS: Final[dict[int, dict[str, str]]] = {
    70: {"fp16": "mma 8x8x4"},
    75: {"fp16": "mma 16x8x8"},
    80: {"fp16": "mma 16x8x16", "bf16": "mma 16x8x16", "fp32": "mma 16x8x8"},
}


@functools.cache
def _pattern() -> re.Pattern[str]:
    return re.compile(
        r"(fmha_cutlass([FB]))_(\w+?)_(aligned|notaligned)_(\d+)x(\d+)_(?:(rf|gmem)_)?"
        r"(?:k(\d+)_)?(?:(dropout)_)?(?:(seqaligned)_)?(sm(\d+))"
    )


def read(name: Name, _mark: str) -> Reading | None:
    """Take a memory-efficient attention name apart."""
    found = _pattern().match(name.head)
    reading = Reading(name)
    if found is None:
        return _read_template(reading, name)
    start, direction, dtype, aligned, rows, columns, where, head, dropout, _, arch, number = found.groups()
    forward = direction == "F"
    reading.say(
        start,
        "memory-efficient attention (xformers), " + ("forward" if forward else "backward") + ", built from CUTLASS",
        library="memory-efficient (xformers)",
        role="attention_forward" if forward else "attention_backward",
    )
    kind = SHORT_DTYPES.get(dtype)
    if kind:
        reading.say(dtype, f"inputs in {dtype_words(kind)}", input_dtype=kind)
    reading.say(
        aligned,
        "rows aligned for wide loads" if aligned == "aligned" else "rows not aligned: narrow loads",
    )
    tile = f"{rows}x{columns}"
    reading.say(tile, f"one block holds {rows} queries and walks over the keys {columns} at a time", tile=tile)
    if where == "rf":
        reading.say("rf", "the output is built up in registers")
    elif where == "gmem":
        reading.say("gmem", "the output is built up in global memory: the head is too wide for registers")
    _say_head(reading, name, head)
    if dropout:
        reading.say("dropout", "with dropout")
    _say_unit(reading, arch, int(number), kind)
    return reading


def _say_head(reading: Reading, name: Name, head: str | None) -> None:
    if head is not None:
        limit, piece = int(head), f"k{head}"
    else:
        # AttentionKernel<scalar, arch, aligned, queries, keys, head limit, dropout, bias>
        start = name.text.find("AttentionKernel<")
        if start < 0:
            return
        arguments = name.text[start + 16 :].split(", ", 6)
        if len(arguments) < 6 or not arguments[5].rstrip(">").isdigit():  # noqa: PLR2004
            return
        piece = arguments[5]
        limit = int(piece)
    if limit >= 65536:  # noqa: PLR2004
        reading.say(piece, "for any head dimension")
    else:
        reading.say(piece, f"for head dimensions up to {limit}", head_dim=limit)


def _say_unit(reading: Reading, arch: str, number: int, dtype: str | None) -> None:
    family = 80 if number >= 80 else 75 if number >= 75 else 70 if number >= 70 else 0  # noqa: PLR2004
    instruction = _INSTRUCTIONS.get(family, {}).get(dtype or "")
    meaning = f"built for compute capability {number // 10}.{number % 10} and later"
    if instruction is None:
        reading.say(arch, f"{meaning}: in this format it multiplies on CUDA cores", arch=arch, unit="cuda_core")
        return
    meaning += f": multiplies on tensor cores ({instruction})"
    if dtype == "fp32":
        meaning += ", float32 as three tf32 products"
        reading.note("float32 runs on tensor cores here, as three tf32 products")
    reading.say(arch, meaning, arch=arch, unit="tensor_core", instruction=instruction)


def _read_template(reading: Reading, name: Name) -> Reading | None:
    """The same kernels where only the template is named."""
    backward = "AttentionBackwardKernel" in name.text
    if not backward and "AttentionKernel" not in name.text and "fmha_cutlass" not in name.head:
        return None
    piece = (
        "AttentionBackwardKernel"
        if backward
        else "AttentionKernel"
        if "AttentionKernel" in name.text
        else "fmha_cutlass"
    )
    reading.say(
        piece,
        "memory-efficient attention (xformers), " + ("backward" if backward else "forward"),
        library="memory-efficient (xformers)",
        role="attention_backward" if backward or "fmha_cutlassB" in name.head else "attention_forward",
        unit="tensor_core",
    )
    return reading
