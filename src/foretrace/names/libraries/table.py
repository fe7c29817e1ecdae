"""How a library with readable function names is read: its own table first, then the plain words of the name."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from foretrace.names.dtypes import dtype_words, first_cpp_dtype
from foretrace.names.reading import Reading
from foretrace.names.word_roles import role_by_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foretrace.names.spelling import Name

__all__ = ["Function", "read_table", "say_value_dtype", "settle_matrix_unit"]

_MATRIX = ("gemm", "convolution", "attention_forward", "attention_backward", "attention_decode")
# Formats of indices and raw bits: as template arguments they say nothing about the values.
_INDEX = ("bool", "int16", "uint16", "int32", "uint32", "int64", "uint64")
_FULL = ("fp32", "fp64", "complex64", "complex128")


class Function(NamedTuple):
    """One row of a library's table: a piece of a function's name, and what it says."""

    piece: str
    role: str
    op: str | None = None
    meaning: str | None = None
    unit: str | None = None
    instruction: str | None = None


def say_value_dtype(reading: Reading, name: Name, formats: Iterable[str] = ()) -> None:
    """Say the first number format among the template arguments (of ``formats`` only, if given)."""
    if reading.get("input_dtype") is not None:
        return
    if name.opening >= 0:
        start, text = name.opening, name.text
    else:
        start, text = len(name.text) - len(name.body), name.text
    found = first_cpp_dtype(text, start, start + 2_000)
    wanted = tuple(formats)
    if found is None or (wanted and found[1] not in wanted) or found[1] in _INDEX:
        return
    reading.say(found[0], f"values in {dtype_words(found[1])}", input_dtype=found[1])


def settle_matrix_unit(reading: Reading, default: str, why: str) -> None:
    """A matrix kernel whose name gives no unit: float32 runs on CUDA cores, else ``default``, because ``why``."""
    role = reading.get("role")
    if role not in _MATRIX or reading.get("unit") is not None:
        return
    proof = reading.proof("role")
    if reading.get("input_dtype") in _FULL and default == "tensor_core":
        reading.add(proof, "in full precision, with no tensor-core word: CUDA cores", unit="cuda_core")
    else:
        reading.add(proof, why, unit=default)


def read_table(
    name: Name,
    library: str,
    mark: str,
    meaning: str,
    functions: Iterable[Function],
    *,
    where: str | None = None,
    matrix_unit: str = "tensor_core",
    why: str = "such kernels multiply on tensor cores",
) -> Reading:
    """Read ``name`` with a library's table; ``mark`` is the piece that shows whose it is.

    The table is looked up in the function's path (of a mangled name, in all its identifiers), or in ``where``.
    """
    reading = Reading(name)
    reading.say(mark, meaning, library=library)
    whole = where or (name.head if not name.text.startswith("_Z") else f"{name.head} {name.body}")
    for entry in functions:
        if entry.piece in whole:
            reading.say(
                entry.piece,
                entry.meaning or entry.op or entry.role.replace("_", " "),
                role=entry.role,
                op=entry.op,
                unit=entry.unit,
                instruction=entry.instruction,
            )
            break
    else:
        found = role_by_words(name.base) or role_by_words(name.head) or role_by_words(name.body[:300])
        if found is not None:
            role, piece = found
            reading.say(piece, f"the word says: {role.replace('_', ' ')}", role=role)
    say_value_dtype(reading, name)
    settle_matrix_unit(reading, matrix_unit, why)
    return reading
