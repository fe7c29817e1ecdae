"""CUTLASS: named kernels (``cutlass_80_tensorop_...``), and template kernels of CUTLASS 2 and 3."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import CPP_DTYPES, dtype_words
from foretrace.names.libraries.blas_names import read_words
from foretrace.names.reading import Reading
from foretrace.names.word_roles import role_by_words

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read", "read_named", "read_template"]


@functools.cache
def _named() -> re.Pattern[str]:
    return re.compile(r"cutlass(?:3x)?_(?=[a-z0-9])[\w]+")


@functools.cache
def _details() -> dict[str, re.Pattern[str]]:
    return {
        "tuple": re.compile(r"cute::tuple<((?:cute::C<\d+>(?:, )?){3})"),
        "shape": re.compile(r"GemmShape<(\d+), (\d+), (\d+)>"),
        "number": re.compile(r"\d+"),
        "arch": re.compile(r"(?:arch::Sm|Sm|sm_?)(\d{2,3})(?!\d)"),
        "element": re.compile(r"(?:cutlass::)?(?:half_t|bfloat16_t|tfloat32_t|float_e4m3_t|float_e5m2_t|float_e2m1_t)"),
        "instruction": re.compile(r"SM(\d{2,3})_(\d+x\d+x\d+)_"),
    }


# Pieces of template kernels that say what is computed; the first that is found counts.
_KINDS: Final[tuple[tuple[str, str, str | None, str], ...]] = (
    ("ReduceSplitK", "reduction", "split-K sum", "adds up the partial products of a split-K kernel"),
    ("Wgrad", "convolution", "wgrad", "convolution, gradient of the weights"),
    ("Dgrad", "convolution", "dgrad", "convolution, gradient of the input"),
    ("ImplicitGemmConvolution", "convolution", None, "convolution computed as a matrix multiplication"),
    ("ConvUniversal", "convolution", None, "convolution computed as a matrix multiplication"),
    ("DepthwiseDirectConv", "convolution", None, "depthwise convolution"),
    ("GroupProblemShape", "gemm", "grouped", "many matrix multiplications of different shapes in one launch"),
    ("GemmGrouped", "gemm", "grouped", "many matrix multiplications of different shapes in one launch"),
    ("grouped_gemm", "gemm", "grouped", "many matrix multiplications of different shapes in one launch"),
    ("PtrArray", "gemm", "grouped", "many matrix multiplications in one launch"),
    ("MoeFCGemm", "gemm", "moe", "matrix multiplications of a mixture of experts"),
    ("Gemv", "gemm", "gemv", "matrix-vector product"),
    ("GemmUniversal", "gemm", None, "matrix multiplication"),
    ("GemmKernel", "gemm", None, "matrix multiplication"),
    ("Gemm", "gemm", None, "matrix multiplication"),
    ("gemm", "gemm", None, "matrix multiplication"),
)

# How CUTLASS says where it multiplies; the order is from the particular to the general.
_UNITS: Final[tuple[tuple[str, str, str | None, str], ...]] = (
    ("Sm100Tma", "tensor_core", "tcgen05", "main loop for Blackwell: tcgen05 instructions fed by TMA"),
    ("Umma", "tensor_core", "tcgen05", "main loop for Blackwell: tcgen05 instructions"),
    ("UMMA", "tensor_core", "tcgen05", "main loop for Blackwell: tcgen05 instructions"),
    ("Sm120Tma", "tensor_core", "mma", "main loop for consumer Blackwell: mma instructions fed by TMA"),
    ("Gmma", "tensor_core", "wgmma", "main loop for Hopper: wgmma instructions"),
    ("GMMA", "tensor_core", "wgmma", "main loop for Hopper: wgmma instructions"),
    ("OpClassSimt", "cuda_core", None, "multiplies on CUDA cores"),
    ("MmaSimt", "cuda_core", None, "multiplies on CUDA cores"),
    ("OpClassWmmaTensorOp", "tensor_core", "wmma", "multiplies on tensor cores through the wmma interface"),
    ("OpClassTensorOp", "tensor_core", None, "multiplies on tensor cores"),
    ("MmaTensorOp", "tensor_core", None, "multiplies on tensor cores"),
    ("TensorOpMultiplicand", "tensor_core", None, "shared memory laid out for tensor cores"),
)


def read_named(reading: Reading, named: str, library: str | None = None) -> None:
    """Say the words of ``cutlass_...``; ``library`` is whose it is, where nothing else says that."""
    words = named.split("_")
    reading.say(words[0], "built from CUTLASS, NVIDIA's templates for matrix kernels", library=library)
    rest = words[1:]
    if rest and rest[0].isdigit():
        major, minor = divmod(int(rest[0]), 10)
        reading.say(rest[0], f"built for compute capability {major}.{minor} and later", arch=f"sm{rest[0]}")
        rest = rest[1:]
    elif rest and rest[0].startswith("sm") and rest[0][2:].isdigit():
        major, minor = divmod(int(rest[0][2:]), 10)
        reading.say(rest[0], f"built for compute capability {major}.{minor}", arch=rest[0])
        rest = rest[1:]
    read_words(reading, rest)


def read_template(reading: Reading, body: str) -> None:
    """Say what a template kernel's arguments give: kind, unit, formats, tile, architecture."""
    for mark, role, op, meaning in _KINDS:
        if mark in body:
            reading.say(mark, meaning, role=role, op=op)
            break
    details = _details()
    if reading.get("role") in ("gemm", "convolution"):
        for mark, unit, instruction, meaning in _UNITS:
            if mark in body:
                reading.say(mark, meaning, unit=unit, instruction=instruction)
                break
    if (arch := details["arch"].search(body)) is not None:
        major, minor = divmod(int(arch[1]), 10)
        reading.say(arch[0], f"for compute capability {major}.{minor} and later", arch=f"sm{arch[1]}")
    if (element := details["element"].search(body)) is not None:
        dtype = CPP_DTYPES[element[0]]
        reading.say(element[0], f"values in {dtype_words(dtype)}", input_dtype=dtype)
    if (tile := details["tuple"].search(body)) is not None:
        m, n, k = details["number"].findall(tile[1])[:3]
        if int(m) >= 16:  # noqa: PLR2004 - a smaller first tuple is the cluster, not the tile
            reading.say(
                tile[0],
                f"output tile of one block {m}x{n}, K tile {k}",
                tile=f"{m}x{n}",
                tile_k=int(k),
            )
    elif (shape := details["shape"].search(body)) is not None:
        reading.say(
            shape[0],
            f"output tile of one block {shape[1]}x{shape[2]}, K tile {shape[3]}",
            tile=f"{shape[1]}x{shape[2]}",
            tile_k=int(shape[3]),
        )
    _settle_unit(reading, body)


def _settle_unit(reading: Reading, body: str) -> None:
    """A CUTLASS matrix kernel that names no unit: the format decides."""
    if reading.get("role") not in ("gemm", "convolution") or reading.get("unit"):
        return
    proof = reading.proof("role")
    dtype = reading.get("input_dtype")
    if dtype is None and ("float" in body or "double" in body) and "fp8" not in body:
        reading.add(proof, "no 8 or 16-bit format is named, so CUDA cores", unit="cuda_core")
    else:
        reading.add(proof, "CUTLASS multiplies such formats on tensor cores", unit="tensor_core")


def read(name: Name, _mark: str) -> Reading | None:
    """Take a CUTLASS name apart; None if it says nothing that CUTLASS's tables know."""
    reading = Reading(name)
    named = _named().search(name.text[:2000])
    if named is not None and not name.text.startswith("_Z") and "::" not in named[0]:
        read_named(reading, named[0], "CUTLASS")
        if reading.get("role") is not None:
            return reading
        reading = Reading(name)
    if "cutlass" not in name.head:
        return None
    reading.say("cutlass", "built from CUTLASS, NVIDIA's templates for matrix kernels", library="CUTLASS")
    read_template(reading, name.body)
    if reading.get("role") is None and (found := role_by_words(name.body[:400])) is not None:
        role, piece = found
        reading.say(piece, f"the word says: {role.replace('_', ' ')}", role=role)
        if role in ("gemm", "convolution") or role.startswith("attention"):
            reading.add(piece, "CUTLASS multiplies on tensor cores", unit="tensor_core")
    return reading
