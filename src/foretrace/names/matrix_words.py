"""The words that BLAS-like names use for their inner loop: ``s16816gemm``, ``sgemm``, ``i16832gemm``, ``sfprop``.

The letter is the accumulator, the digits are the matrix instruction run together (16816 is 16x8x16), the end is
what is computed. No digits: the multiply-adds run one by one, on CUDA cores.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import SHORT_DTYPES, dtype_words

if TYPE_CHECKING:
    from foretrace.names.reading import Reading

__all__ = ["ACCUMULATORS", "MatrixWord", "matrix_word", "say_matrix_word", "tensor_instruction"]

# Digits as names write them -> M x N x K of one instruction.
_SHAPES: Final[dict[str, str]] = {
    "884": "8x8x4",
    "1684": "16x8x4",
    "1688": "16x8x8",
    "16816": "16x8x16",
    "16832": "16x8x32",
    "16864": "16x8x64",
    "168128": "16x8x128",
    "168256": "16x8x256",
    "8816": "8x8x16",
    "8832": "8x8x32",
    "88128": "8x8x128",
    "161616": "16x16x16",
    "32816": "32x8x16",
    "83216": "8x32x16",
}

# The BLAS letter of the accumulator.
ACCUMULATORS: Final[dict[str, str]] = {
    "s": "fp32",
    "h": "fp16",
    "d": "fp64",
    "i": "int32",
    "c": "complex64",
    "z": "complex128",
    "gc": "complex64",
    "gz": "complex128",
}

_OPS: Final[dict[str, tuple[str, str | None, str]]] = {
    "gemm": ("gemm", None, "matrix multiplication"),
    "cudnn": ("convolution", None, "convolution"),
    "fprop": ("convolution", "fprop", "convolution, forward"),
    "dgrad": ("convolution", "dgrad", "convolution, gradient of the input"),
    "wgrad": ("convolution", "wgrad", "convolution, gradient of the weights"),
    "deconv": ("convolution", "dgrad", "transposed convolution"),
    "syrk": ("gemm", "syrk", "rank-k update of a symmetric matrix"),
    "herk": ("gemm", "herk", "rank-k update of a Hermitian matrix"),
    "syr2k": ("gemm", "syr2k", "rank-2k update of a symmetric matrix"),
    "her2k": ("gemm", "her2k", "rank-2k update of a Hermitian matrix"),
    "symm": ("gemm", "symm", "multiplication by a symmetric matrix"),
    "hemm": ("gemm", "hemm", "multiplication by a Hermitian matrix"),
    "trmm": ("gemm", "trmm", "multiplication by a triangular matrix"),
    "gemv": ("gemm", "gemv", "matrix-vector product"),
}


@dataclass(frozen=True, slots=True)
class MatrixWord:
    """One such word, read."""

    accumulate: str
    shape: str | None
    """M x N x K of the instruction; None where the name has no digits."""
    math: str | None
    """Format of the multiplication where the word names it (``s1688tf32gemm``)."""
    sparse: bool
    role: str
    op: str | None
    words: str


@functools.cache
def _pattern() -> re.Pattern[str]:
    return re.compile(
        r"(gc|gz|[shdicz])(\d{3,6}|\d+x\d+x\d+)?(tf32|bf16|f16)?(sp)?"
        r"(gemm|cudnn|fprop|dgrad|wgrad|deconv|syrk|herk|syr2k|her2k|symm|hemm|trmm|gemv)\Z"
    )


def matrix_word(piece: str) -> MatrixWord | None:
    """The word read, or None if the piece is no such word."""
    found = _pattern().match(piece)
    if found is None:
        return None
    letter, digits, math, sparse, end = found.groups()
    shape = None
    if digits:
        shape = _SHAPES.get(digits, digits if "x" in digits else None)
        if shape is None:
            return None
    role, op, words = _OPS[end]
    return MatrixWord(
        accumulate=ACCUMULATORS[letter],
        shape=shape,
        math=SHORT_DTYPES.get(math) if math else None,
        sparse=bool(sparse),
        role=role,
        op=op,
        words=words,
    )


def tensor_instruction(shape: str | None, accumulate: str | None, family: str = "mma") -> str:
    """The tensor-core instruction by name: fp64 has ``dmma``, integers ``imma``, the rest ``mma``."""
    if family in ("mma", "wmma") and accumulate in ("fp64", "complex128"):
        family = "dmma"
    elif family in ("mma", "wmma") and accumulate == "int32":
        family = "imma"
    return f"{family} {shape}" if shape else family


def say_matrix_word(reading: Reading, piece: str, word: MatrixWord, *, family: str = "mma", simt: bool = False) -> None:
    """Say the word with everything it proves; ``simt`` is True where the name says so elsewhere."""
    tensor = word.shape is not None and not simt
    instruction: str | None
    if tensor:
        instruction = tensor_instruction(word.shape, word.accumulate, family)
        meaning = (
            f"{word.words}, accumulated in {dtype_words(word.accumulate)}, by the tensor-core instruction {word.shape}"
        )
        if word.sparse:
            meaning += " for 2:4 sparse inputs"
    else:
        instruction = _scalar_instruction(word.accumulate)
        meaning = f"{word.words} in {dtype_words(word.accumulate)}, multiply-adds on CUDA cores"
    if word.math:
        meaning += f"; inputs rounded to {word.math}"
    reading.say(
        piece,
        meaning,
        role=word.role,
        op=word.op,
        accumulate_dtype=word.accumulate,
        input_dtype=word.math,
        instruction=instruction,
        unit="tensor_core" if tensor else "cuda_core",
    )


def _scalar_instruction(accumulate: str) -> str | None:
    return {"fp32": "ffma", "fp64": "dfma", "fp16": "hfma2", "complex64": "ffma", "complex128": "dfma"}.get(accumulate)
