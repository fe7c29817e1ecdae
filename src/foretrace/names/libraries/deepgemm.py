"""DeepGEMM: fp8 and bf16 matrix multiplication, compiled when first used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import dtype_words
from foretrace.names.libraries.table import Function, read_table

if TYPE_CHECKING:
    from foretrace.names.reading import Reading
    from foretrace.names.spelling import Name

__all__ = ["read"]

_FUNCTIONS: Final[tuple[Function, ...]] = (
    Function("transpose", "copy", "transpose", "transposes scales"),
    Function("pack_", "copy", "pack", "packs scales"),
    Function("mqa_logits", "gemm", None, "scores of queries and keys"),
    Function("gemm", "gemm", None, "matrix multiplication"),
)


def read(name: Name, mark: str) -> Reading | None:
    """Take a DeepGEMM name apart."""
    mark = "deep_gemm" if "deep_gemm" in name.text else "fp8_gemm"
    reading = read_table(name, "DeepGEMM", mark, "DeepGEMM, fp8 matrix multiplication", _FUNCTIONS)
    for piece, dtype in (("fp8", "fp8_e4m3"), ("bf16", "bf16")):
        if piece in name.head and reading.get("role") == "gemm":
            reading.say(piece, f"inputs in {dtype_words(dtype)}", input_dtype=dtype)
            break
    arch = re.search(r"sm(\d{2,3})", name.head)
    if arch is not None:
        number = int(arch[1])
        instruction = "tcgen05" if number >= 100 else "wgmma"  # noqa: PLR2004
        if reading.get("role") != "gemm":
            reading.say(arch[0], f"built for compute capability {number // 10}.{number % 10}", arch=arch[0])
        else:
            reading.say(
                arch[0],
                f"built for compute capability {number // 10}.{number % 10}: {instruction}",
                arch=arch[0],
                instruction=instruction,
            )
    return reading
