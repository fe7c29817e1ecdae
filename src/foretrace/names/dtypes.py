"""Number formats: every spelling that kernel names use, and one word for each."""

from __future__ import annotations

import functools
import re
from typing import Final

__all__ = ["CPP_DTYPES", "SHORT_DTYPES", "cpp_dtype", "dtype_words", "first_cpp_dtype"]

# C++ type names (CUDA, PyTorch, CUTLASS, HIP) -> the word used everywhere in foretrace.
CPP_DTYPES: Final[dict[str, str]] = {
    "float": "fp32",
    "double": "fp64",
    "half": "fp16",
    "__half": "fp16",
    "_Float16": "fp16",
    "c10::Half": "fp16",
    "at::Half": "fp16",
    "cutlass::half_t": "fp16",
    "half_t": "fp16",
    "nv_bfloat16": "bf16",
    "__nv_bfloat16": "bf16",
    "__hip_bfloat16": "bf16",
    "hip_bfloat16": "bf16",
    "c10::BFloat16": "bf16",
    "at::BFloat16": "bf16",
    "cutlass::bfloat16_t": "bf16",
    "bfloat16_t": "bf16",
    "cutlass::tfloat32_t": "tf32",
    "tfloat32_t": "tf32",
    "c10::Float8_e4m3fn": "fp8_e4m3",
    "c10::Float8_e4m3fnuz": "fp8_e4m3",
    "c10::Float8_e5m2": "fp8_e5m2",
    "c10::Float8_e5m2fnuz": "fp8_e5m2",
    "__nv_fp8_e4m3": "fp8_e4m3",
    "__nv_fp8_e5m2": "fp8_e5m2",
    "cutlass::float_e4m3_t": "fp8_e4m3",
    "float_e4m3_t": "fp8_e4m3",
    "cutlass::float_e5m2_t": "fp8_e5m2",
    "float_e5m2_t": "fp8_e5m2",
    "cutlass::float_e2m1_t": "fp4_e2m1",
    "float_e2m1_t": "fp4_e2m1",
    "c10::complex<float>": "complex64",
    "c10::complex<double>": "complex128",
    "cuComplex": "complex64",
    "float2": "complex64",
    "cuDoubleComplex": "complex128",
    "double2": "complex128",
    "bool": "bool",
    "unsigned char": "uint8",
    "signed char": "int8",
    "int8_t": "int8",
    "short": "int16",
    "unsigned short": "uint16",
    "unsigned int": "uint32",
    "unsigned long": "uint64",
    "unsigned long long": "uint64",
    "int": "int32",
    "long": "int64",
    "long long": "int64",
}

# The short spellings inside underscore names (`cutlass_80_..._bf16`, `sm90_xmma_gemm_e4m3bf16_...`).
SHORT_DTYPES: Final[dict[str, str]] = {
    "bf16": "bf16",
    "bfloat16": "bf16",
    "f16": "fp16",
    "fp16": "fp16",
    "half": "fp16",
    "f32": "fp32",
    "fp32": "fp32",
    "float32": "fp32",
    "tf32": "tf32",
    "f64": "fp64",
    "fp64": "fp64",
    "e4m3": "fp8_e4m3",
    "e5m2": "fp8_e5m2",
    "e2m1": "fp4_e2m1",
    "s8": "int8",
    "i8": "int8",
    "int8": "int8",
    "u8": "uint8",
    "s4": "int4",
    "int4": "int4",
    "u4": "uint4",
    "b1": "bit",
    "i32": "int32",
    "s32": "int32",
    "c32": "complex64",
    "cf32": "complex64",
    "c64": "complex128",
    "cf64": "complex128",
}

_WORDS: Final[dict[str, str]] = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "tf32": "tf32 (float32 rounded to 10 mantissa bits)",
    "fp64": "float64",
    "fp8_e4m3": "fp8 (e4m3)",
    "fp8_e5m2": "fp8 (e5m2)",
    "fp4_e2m1": "fp4 (e2m1)",
    "16-bit": "a 16-bit float (float16 or bfloat16; the name has one spelling for both)",
}


def dtype_words(dtype: str) -> str:
    """A number format as a reader of PyTorch writes it, e.g. ``bfloat16`` for ``bf16``."""
    return _WORDS.get(dtype, dtype)


def cpp_dtype(text: str) -> str | None:
    """The format that a C++ type spells, const, pointers and spaces aside; None if it is no number format."""
    bare = text.removesuffix("const").strip(" *&").removesuffix(" const")
    return CPP_DTYPES.get(bare)


@functools.cache
def _floating() -> re.Pattern[str]:
    longest_first = sorted(CPP_DTYPES, key=len, reverse=True)
    return re.compile(r"(?<![\w:])(?:" + "|".join(map(re.escape, longest_first)) + r")(?![\w:])")


def first_cpp_dtype(text: str, start: int = 0, stop: int | None = None) -> tuple[str, str] | None:
    """The first C++ number format in ``text[start:stop]`` as (its spelling, the format)."""
    found = _floating().search(text, start, len(text) if stop is None else stop)
    return (found[0], CPP_DTYPES[found[0]]) if found else None
