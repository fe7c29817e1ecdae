"""Names in the xmma style that cuBLAS and cuDNN share since Ampere.

sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute...
sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off...
sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize64x128x64_warpgroupsize1x1x1_g1_...
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import SHORT_DTYPES, dtype_words
from foretrace.names.libraries.blas_names import say_layout
from foretrace.names.matrix_words import tensor_instruction
from foretrace.names.reading import Reading

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read_xmma"]

_FORMAT: Final = r"(tf32|bf16|cf32|cf64|f16|f32|f64|c32|c64|i8|s8|u8|i32|s32|i4|s4|u4|e4m3|e5m2|e2m1|b1)"

_OPS: Final = {
    "gemm": ("gemm", None, "matrix multiplication"),
    "fprop": ("convolution", "fprop", "convolution, forward"),
    "dgrad": ("convolution", "dgrad", "convolution, gradient of the input"),
    "wgrad": ("convolution", "wgrad", "convolution, gradient of the weights"),
    "deconv": ("convolution", "dgrad", "transposed convolution"),
    "syrk": ("gemm", "syrk", "rank-k update of a symmetric matrix"),
    "syr2k": ("gemm", "syr2k", "rank-2k update of a symmetric matrix"),
    "herk": ("gemm", "herk", "rank-k update of a Hermitian matrix"),
    "trmm": ("gemm", "trmm", "multiplication by a triangular matrix"),
    "symm": ("gemm", "symm", "multiplication by a symmetric matrix"),
    "convolution": ("convolution", None, "convolution"),
}

# The second kernel of a split: it carries the name of the first, multiplies nothing and adds up the parts. (The
# first ends in `execute_kernel`, `execute_segment_k_off_kernel`, ...)
_SUM_OF_PARTS: Final = "execute_split_k_kernel"

_MEANINGS: Final = {
    "xmma": "NVIDIA's generator of matrix kernels, shared by cuBLAS and cuDNN",
    "implicit": "the convolution is computed as a matrix multiplication, without building that matrix",
    "indexed": "addresses come from a table",
    "sparse": "2:4 sparse input",
    "g1": "one group",
    "t1r1s1": "1x1 filter",
    "bias": "adds a bias before it writes its output",
    "relu": "applies a ReLU before it writes its output",
    "gelu": "applies a GELU before it writes its output",
}

_SCALAR: Final = {
    "ffma": "multiply-adds in float32 on CUDA cores",
    "dfma": "multiply-adds in float64 on CUDA cores",
    "hfma2": "multiply-adds of pairs of float16 on CUDA cores",
    "dp4a": "dot products of four int8 values on CUDA cores",
}


@functools.cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "formats": re.compile(_FORMAT + _FORMAT + r"\Z"),
        "tile": re.compile(r"tilesize(\d+)x(\d+)x(\d+)\Z"),
        "stage": re.compile(r"stage(\d+)\Z"),
        "tensor": re.compile(r"(sp)?tensor(\d+x\d+x\d+)\Z"),
        "warps": re.compile(r"warpsize(\d+)x(\d+)x(\d+)\Z"),
        "groups": re.compile(r"warpgroupsize(\d+)x(\d+)x(\d+)\Z"),
        "arch": re.compile(r"sm(\d)(\d)\Z|sm(\d\d)(\d)\Z"),
        "layout": re.compile(r"[nt]{2}\Z"),
        "align": re.compile(r"align([abc])(\d+)\Z"),
        "images": re.compile(r"n(?:hwc|chw|dhwc|cdhw)(?:krsc|kcrs|ktrsc|kctrs|krst)?\Z"),
        "slices": re.compile(r"splitk(\d*)\Z|split_k\Z", re.IGNORECASE),
    }


def read_xmma(name: Name) -> Reading:
    """Take an xmma name apart. Its end says which library ships it."""
    patterns = _patterns()
    reading = Reading(name)
    words = name.head.split("_")
    if _SUM_OF_PARTS in name.head:
        reading.say(
            _SUM_OF_PARTS,
            "the second step of a split-K kernel: adds up the partial products, on CUDA cores",
            role="reduction",
            op="split-K sum",
            unit="cuda_core",
            split_k=True,
        )
    formats = 0
    for index, piece in enumerate(words):
        if piece in _OPS:
            role, op, meaning = _OPS[piece]
            known = reading.get("role")
            # `depthwise_convolution_wgrad`, `fprop_implicit_gemm`: the direction of a convolution may come second.
            if known is None or (known == role and reading.get("op") is None):
                reading.say(piece, meaning, role=role, op=op)
        elif piece in _MEANINGS:
            reading.say(piece, _MEANINGS[piece])
        elif piece in _SCALAR:
            reading.say(piece, _SCALAR[piece], unit="cuda_core", instruction=piece)
        elif (arch := patterns["arch"].match(piece)) is not None and index == 0:
            major, minor = arch[1] or arch[3], arch[2] or arch[4]
            reading.say(piece, f"built for compute capability {major}.{minor}", arch=piece)
        elif (pair := patterns["formats"].match(piece)) is not None:
            formats += 1
            _say_formats(reading, piece, pair, formats)
        elif (tile := patterns["tile"].match(piece)) is not None:
            reading.say(
                piece,
                f"output tile of one block {tile[1]}x{tile[2]}, K tile {tile[3]}",
                tile=f"{tile[1]}x{tile[2]}",
                tile_k=int(tile[3]),
            )
        elif (stage := patterns["stage"].match(piece)) is not None:
            reading.say(piece, f"{stage[1]} K tiles in flight", stages=int(stage[1]))
        elif (tensor := patterns["tensor"].match(piece)) is not None:
            instruction = tensor_instruction(tensor[2], reading.get("accumulate_dtype"))
            sparse = ", 2:4 sparse" if tensor[1] else ""
            multiplies = reading.get("unit") is None
            reading.say(
                piece,
                f"tensor-core instruction {tensor[2]}{sparse}" + ("" if multiplies else ", in the first step"),
                unit="tensor_core",
                instruction=instruction if multiplies else None,
            )
        elif patterns["warps"].match(piece):
            reading.say(piece, "warps of one block along rows, columns and K")
        elif patterns["groups"].match(piece):
            reading.say(
                piece,
                "groups of four warps that share one wgmma instruction, along rows, columns and K",
                unit="tensor_core",
                instruction="wgmma" if reading.get("unit") is None else None,
            )
        elif patterns["layout"].match(piece) and reading.get("layout") is None:
            say_layout(reading, piece)
        elif patterns["images"].match(piece):
            reading.say(piece, f"images (and filters) stored {piece.upper()}", layout=piece[:4])
        elif (align := patterns["align"].match(piece)) is not None:
            reading.say(piece, f"rows of {align[1].upper()} aligned to {align[2]} elements")
        elif patterns["slices"].match(piece):
            reading.say(piece, "several blocks share one output tile along K", split_k=True)
        elif piece in ("cublas", "cublasLt", "cudnn", "cusparselt", "cusparseLt"):
            library = "cuDNN" if piece == "cudnn" else "cuSPARSELt" if "sparse" in piece else "cuBLAS"
            reading.say(piece, f"shipped with {library}", library=library)
    if reading.get("library") == "unknown":
        library = "cuDNN" if reading.get("role") == "convolution" else "cuBLAS"
        reading.say("xmma", f"such kernels ship with {library}", library=library)
    _settle_unit(reading)
    return reading


def _say_formats(reading: Reading, piece: str, pair: re.Match[str], which: int) -> None:
    first, second = SHORT_DTYPES.get(pair[1], pair[1]), SHORT_DTYPES.get(pair[2], pair[2])
    if which == 1:
        # The format it multiplies in comes second; float32 may be read and tf32 multiplied.
        reading.say(
            piece,
            f"inputs in {dtype_words(first)}, output in {dtype_words(second)}",
            output_dtype=second,
            input_dtype=first if first.startswith("complex") else None,
        )
    elif which == 2:  # noqa: PLR2004
        reading.say(
            piece,
            f"multiplies {dtype_words(first)}, accumulates in {dtype_words(second)}",
            input_dtype=first,
            accumulate_dtype=second,
        )


def _settle_unit(reading: Reading) -> None:
    """Older names leave out the instruction; the format it multiplies in decides."""
    if reading.get("unit") is not None:
        return
    dtype = reading.get("input_dtype")
    if dtype is None:
        return
    scalar = dtype in ("fp32", "fp64", "complex64", "complex128")
    reading.add(
        reading.proof("input_dtype"),
        "such multiplications run on CUDA cores" if scalar else "such multiplications run on tensor cores",
        unit="cuda_core" if scalar else "tensor_core",
    )
