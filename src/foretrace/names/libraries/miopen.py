"""MIOpen: AMD's cuDNN. Convolutions, batch norm, layout changes."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import SHORT_DTYPES, dtype_words
from foretrace.names.libraries.table import Function, read_table
from foretrace.names.reading import Reading

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read"]

_FUNCTIONS: Final[tuple[Function, ...]] = (
    Function("batched_transpose", "copy", "transpose", "changes an image layout"),
    Function("transpose", "copy", "transpose", "changes an image layout"),
    Function("SubTensorOpWithCast", "cast", None, "copies and converts a tensor"),
    Function("SubTensorOpWithScalar", "elementwise", "scale", "sets or scales a tensor"),
    Function("SubTensorOp", "elementwise", None, "pointwise"),
    Function("Im2d2Col", "copy", "im2col", "lays image patches out as a matrix"),
    Function("Im3d2Col", "copy", "im2col", "lays image patches out as a matrix"),
    Function("Col2Im", "scatter", "col2im", "adds patches back into an image"),
    Function("BatchNorm", "normalization", "batch_norm", "batch norm"),
    Function("Softmax", "softmax", None, "softmax"),
    Function("Pooling", "reduction", "pooling", "pooling"),
    Function("Sp3AsmConv", "convolution", "fprop", "Winograd convolution", "cuda_core"),
    Function("naive_conv", "convolution", None, "plain convolution", "cuda_core"),
    Function("AsmConv", "convolution", None, "direct convolution", "cuda_core"),
    Function("convolution", "convolution", None, "convolution", "cuda_core"),
    Function("OpTensor", "elementwise", None, "pointwise"),
    Function("dTensor", "elementwise", None, "pointwise"),
)

_DIRECTIONS: Final = {
    "fwd": ("fprop", "forward"),
    "bwd": ("dgrad", "gradient of the input"),
    "wrw": ("wgrad", "gradient of the weights"),
}


@functools.cache
def _igemm() -> re.Pattern[str]:
    return re.compile(
        r"(igemm)_(fwd|bwd|wrw)_(gtcx?\d*)_(n\w{1,20}?)_(bf16|fp16|fp32|int8)_\w{0,60}?"
        r"(bt(\d+)x(\d+)x(\d+))_(wt(\d+)x(\d+)x(\d+))"
    )


def read(name: Name, mark: str) -> Reading | None:
    """Take a MIOpen name apart."""
    found = _igemm().match(name.head)
    if found is None:
        return read_table(
            name, "MIOpen", mark, "MIOpen, AMD's cuDNN", _FUNCTIONS, matrix_unit="cuda_core", why="on the vector units"
        )
    reading = Reading(name)
    start, direction, kind, layout, dtype, block, m, n, k, wave, wm, wn, wk = found.groups()
    reading.say(start, "convolution computed as a matrix multiplication (MIOpen)", library="MIOpen", role="convolution")
    op, words = _DIRECTIONS[direction]
    reading.say(direction, words, op=op)
    if "x" in kind:
        reading.facts["matrix_cores"] = True
        reading.say(kind, "with matrix-core instructions (MFMA)", unit="tensor_core")
    else:
        reading.say(kind, "on the vector units", unit="cuda_core")
    reading.say(layout, f"images stored {layout.upper()}", layout=layout)
    reading.say(dtype, f"inputs in {dtype_words(SHORT_DTYPES[dtype])}", input_dtype=SHORT_DTYPES[dtype])
    reading.say(block, f"output tile of one block {m}x{n}, K tile {k}", tile=f"{m}x{n}", tile_k=int(k))
    if "x" in kind:
        shape = f" {wm}x{wn}x{wk}" if wm == wn else ""
        reading.say(wave, f"tile of one wave: {wm}x{wn}x{wk}", instruction=f"mfma{shape}")
    return reading
