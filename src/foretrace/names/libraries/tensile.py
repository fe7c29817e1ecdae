"""hipBLASLt and rocBLAS: Tensile's names, ``Cijk_Alik_Bljk_BBS_BH_..._MT256x192x64_MI16x16x1_..._ISA942_...``."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import dtype_words
from foretrace.names.reading import Reading

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read"]

_LETTERS: Final = {
    "H": "fp16",
    "B": "bf16",
    "S": "fp32",
    "X": "tf32",
    "D": "fp64",
    "C": "complex64",
    "Z": "complex128",
    "I8": "int8",
    "I": "int32",
    "F8": "fp8_e4m3",
    "B8": "fp8_e5m2",
    "F8N": "fp8_e4m3",
    "B8N": "fp8_e5m2",
    "F4": "fp4_e2m1",
}


@functools.cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        # Formats, then B for a batched problem and H for a wider accumulator; with one format only, `SB` or `DB`.
        "problem": re.compile(
            r"Cijk_A(ilk|lik)_B(ljk|jlk)_(?:((?:F8N?|B8N?|F4|I8|[HBSXDCZI])+(?:_[HBSXDCZI]+?)?)_BH?|([HSDCZ])B)(?=_)"
        ),
        "letter": re.compile(r"F8N?|B8N?|F4|I8|[HBSXDCZI]"),
        "macro": re.compile(r"MT(\d+)x(\d+)x(\d+)"),
        "matrix": re.compile(r"MI(\d+)x(\d+)x(\d+)"),
        "isa": re.compile(r"ISA(\w+?)(?=_|\Z)"),
        "split": re.compile(r"GSU(\d+)(?=_|\Z)"),
        "stream": re.compile(r"_(SK([1-9]))(?=_|\Z)"),
    }


def read(name: Name, _mark: str) -> Reading | None:
    """Take a Tensile name apart."""
    patterns = _patterns()
    text = name.head
    problem = patterns["problem"].match(text)
    reading = Reading(name)
    reading.say(
        "Cijk",
        "matrix multiplication by Tensile, for hipBLASLt or rocBLAS",
        library="hipBLASLt/Tensile",
        role="gemm",
    )
    if problem is not None:
        first = "n" if problem[1] == "ilk" else "t"
        second = "n" if problem[2] == "ljk" else "t"
        how = {"n": "as it is stored", "t": "transposed"}
        reading.say(
            f"A{problem[1]}_B{problem[2]}",
            f"first input {how[first]}, second {how[second]} (column-major, as BLAS counts)",
            layout=first + second,
        )
        _say_formats(reading, problem[3] or problem[4])
    if (macro := patterns["macro"].search(text)) is not None:
        reading.say(
            macro[0],
            f"output tile of one block {macro[1]}x{macro[2]}, K tile {macro[3]}",
            tile=f"{macro[1]}x{macro[2]}",
            tile_k=int(macro[3]),
        )
    matrix = patterns["matrix"].search(text)
    if matrix is not None:
        reading.facts["matrix_cores"] = True
        reading.say(
            matrix[0],
            f"matrix-core instruction (MFMA) of {matrix[1]}x{matrix[2]}",
            unit="tensor_core",
            instruction=f"mfma {matrix[1]}x{matrix[2]}",
        )
    else:
        reading.say(
            "Cijk", "no matrix instruction (MI) in the name: multiply-adds on the vector units", unit="cuda_core"
        )
    if (isa := patterns["isa"].search(text)) is not None:
        reading.say(isa[0], f"built for gfx{isa[1].lower()}", arch=f"gfx{isa[1].lower()}")
    if (split := patterns["split"].search(text)) is not None and int(split[1]) > 1:
        reading.say(split[0], f"{split[1]} blocks share one output tile along K", split_k=True)
    if (stream := patterns["stream"].search(text)) is not None:
        reading.say(stream[1], "stream-K: blocks share the work evenly along K", split_k=True)
    return reading


def _say_formats(reading: Reading, piece: str) -> None:
    letters = _patterns()["letter"].findall(piece.replace("_", ""))
    dtypes = [_LETTERS[letter] for letter in letters]
    inputs, inside = dtypes[0], dtypes[-1] if len(dtypes) > 1 else None
    output = dtypes[-2] if len(dtypes) > 2 else None  # noqa: PLR2004
    meaning = f"inputs in {dtype_words(inputs)}"
    if output:
        meaning += f", output in {dtype_words(output)}"
    if inside:
        meaning += f", accumulated in {dtype_words(inside)}"
    reading.say(piece, meaning, input_dtype=inputs, output_dtype=output, accumulate_dtype=inside)
