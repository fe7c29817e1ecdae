"""cuFFT: Fourier transforms."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import dtype_words, first_cpp_dtype
from foretrace.names.reading import Reading

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read"]

_KINDS: Final = {"r2c": "real to complex", "c2r": "complex to real", "c2c": "complex to complex"}


def read(name: Name, mark: str) -> Reading | None:
    """Take a cuFFT name apart."""
    reading = Reading(name)
    reading.say(mark, "cuFFT: a pass of a fast Fourier transform", library="cuFFT", role="fft")
    near = (name.head + name.body[:200]).lower()
    kind = next((k for k in _KINDS if k in near and k in name.text), None)
    if kind is not None:
        reading.say(kind, _KINDS[kind], op=kind)
    length = re.match(r"<(\d+)u", name.body)
    if length is not None:
        reading.say(f"<{length[1]}u", f"transforms of {length[1]} points")
    for argument in name.arguments(16):
        dtype = first_cpp_dtype(argument)
        if dtype is not None and dtype[1] in ("fp32", "fp64", "fp16", "bf16"):
            reading.say(dtype[0], f"values in {dtype_words(dtype[1])}", input_dtype=dtype[1])
            break
    return reading
