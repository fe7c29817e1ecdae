"""Kernels that belong to no library in these tables: what their words and number formats say, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import SHORT_DTYPES, dtype_words
from foretrace.names.libraries.table import say_value_dtype
from foretrace.names.reading import Reading
from foretrace.names.word_roles import find_word, role_by_words

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read"]

_MATRIX: Final = ("gemm", "convolution", "attention_forward", "attention_backward", "attention_decode")

# A compiler does not put multiply-adds on tensor cores by itself: the author asks for it, and often says so.
_TENSOR_WORDS: Final[dict[str, str]] = {
    "wgmma": "wgmma",
    "tcgen05": "tcgen05",
    "umma": "tcgen05",
    "wmma": "wmma",
    "hmma": "mma",
    "mfma": "mfma",
    "tensorop": "mma",
    "tensor_core": "mma",
    "tensorcore": "mma",
    "=mma=": "mma",
}
_LOW: Final = ("fp16", "bf16", "fp8_e4m3", "fp8_e5m2", "int8", "int4", "fp4_e2m1")


def read(name: Name, _mark: str) -> Reading:
    """Read the name's words."""
    reading = Reading(name)
    found = role_by_words(name.base) or role_by_words(name.head) or role_by_words(name.body[:300])
    if found is None:
        if name.text.strip():
            word = name.base.replace("_", "a")
            known = name.base if word.isascii() and word.isalnum() else None
            reading.say(name.base or name.text, "a name that no table knows", op=known)
        return reading
    role, piece = found
    reading.say(piece, f"the word says: {role.replace('_', ' ')}", role=role)
    say_value_dtype(reading, name)
    for word in name.base.split("_"):
        if word in SHORT_DTYPES and reading.get("input_dtype") is None:
            reading.say(word, f"values in {dtype_words(SHORT_DTYPES[word])}", input_dtype=SHORT_DTYPES[word])
    if role in _MATRIX:
        _say_unit(reading, name, piece)
    return reading


def _say_unit(reading: Reading, name: Name, piece: str) -> None:
    lower = name.head.lower()
    if len(lower) == len(name.head):
        for word, instruction in _TENSOR_WORDS.items():
            spelled = find_word(name.head, lower, word)
            if spelled is not None:
                reading.say(spelled, "on tensor cores", unit="tensor_core", instruction=instruction)
                return
    dtype = reading.get("input_dtype")
    if dtype in _LOW:
        reading.say(piece, f"in {dtype}: on tensor cores, as such kernels are written", unit="tensor_core")
    elif dtype is not None:
        reading.say(piece, f"in {dtype}, with no word of tensor cores: CUDA cores", unit="cuda_core")
