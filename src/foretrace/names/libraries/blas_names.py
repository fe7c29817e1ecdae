"""Names in the BLAS style that cuBLAS, CUTLASS and older cuDNN share: words between underscores.

ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn
cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x1_tn_align8
cudnn_infer_volta_scudnn_128x64_stridedB_splitK_xregs_large_nn_v1
cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_f16_f16_128x128x64_1x1x1_0_tnn_align8
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import SHORT_DTYPES, dtype_words
from foretrace.names.matrix_words import matrix_word, say_matrix_word

if TYPE_CHECKING:
    from foretrace.names.reading import Reading

__all__ = ["ARCHITECTURES", "read_words", "say_architecture", "say_layout"]

# Family names that open a BLAS-style name -> what they were built for.
ARCHITECTURES: Final[dict[str, str]] = {
    "kepler": "compute capability 3.x (K80)",
    "maxwell": "compute capability 5.x and later (no tensor cores)",
    "pascal": "compute capability 6.x (P100)",
    "volta": "compute capability 7.0 (V100) and later",
    "turing": "compute capability 7.5 (T4) and later",
    "ampere": "compute capability 8.x (A100 family) and later",
    "ada": "compute capability 8.9",
    "hopper": "compute capability 9.0 (H100, H200)",
    "blackwell": "compute capability 10.0 and later",
}

_EXACT: Final[dict[str, str]] = {
    "relu": "can apply a ReLU before it writes its output",
    "gelu": "applies a GELU before it writes its output",
    "bias": "adds a bias before it writes its output",
    "f2f": "the epilogue converts from float to float",
    "xregs": "variant that uses more registers",
    "small": "variant for small images",
    "medium": "variant for medium images",
    "large": "variant for large images",
    "interior": "variant that leaves out the border checks",
    "stridedB": "the second input is read with a stride",
    "exp": "variant for inputs that need explicit padding",
    "winograd": "by the Winograd transform: fewer multiplications, more additions",
    "3dconv": "three spatial dimensions",
    "optimized": "index arithmetic done ahead, on the host",
    "analytic": "index arithmetic done in the kernel",
    "unity": "stride of one",
    "grouped": "many problems of different shapes in one launch",
    "unity_stride": "stride of one",
    "warpspecialized": "some warps only load, others only multiply",
    "cooperative": "two groups of warps share one output tile",
    "pingpong": "two groups of warps take turns, one multiplies while the other writes",
    "tma": "writes its output through the tensor memory accelerator",
    "nosmem": "writes its output without shared memory",
    "epi": "how the output is written follows",
    "sparse": "2:4 sparse input",
    "planar": "real and imaginary parts apart",
    "complex": "complex numbers",
    "array": "an array of pointers to matrices",
}

_TRANSPOSED: Final = {"n": "as it is stored", "t": "transposed"}


@functools.cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "pair": re.compile(r"(\d+)x(\d+)\Z"),
        "triple": re.compile(r"(\d+)x(\d+)x(\d+)\Z"),
        "layout": re.compile(r"[nt]{2}[nt]?\Z"),
        "align": re.compile(r"align([abc]?)(\d+)\Z"),
        "ldg": re.compile(r"ldg(\d+)\Z"),
        "sliced": re.compile(r"sliced(\d+)x(\d+)\Z"),
        "split": re.compile(r"(?i:splitk)(\d*)\Z"),
        "images": re.compile(r"n(?:hwc|chw|dhwc|cdhw)(?:2n(?:hwc|chw))?\Z"),
        "version": re.compile(r"v\d+\Z"),
    }


def say_architecture(reading: Reading, piece: str) -> bool:
    """Say ``ampere`` and its kin; True if the piece was one."""
    built_for = ARCHITECTURES.get(piece)
    if built_for is None:
        return False
    reading.say(piece, f"built for {built_for}", arch=piece)
    return True


def say_layout(reading: Reading, piece: str) -> None:
    """Say ``nn``, ``tn``, ..., in BLAS's column-major sense."""
    first, second = piece[0], piece[1]
    if first == second:
        meaning = "neither input transposed" if first == "n" else "both inputs transposed"
    else:
        meaning = "the first input transposed" if first == "t" else "the second input transposed"
    reading.say(piece, f"{meaning} (column-major, as BLAS counts)", layout=piece[:2])


def read_words(reading: Reading, words: list[str]) -> None:
    """Walk over the words of the name and say each that means something."""
    patterns = _patterns()
    tensor_op: bool | None = None
    family = "mma"
    seen_matrix = False
    pending: list[tuple[str, str]] = []
    index = 0
    while index < len(words):
        piece = words[index]
        index += 1
        if not piece or say_architecture(reading, piece):
            continue
        if piece in ("tensorop", "sptensorop", "bwtensorop"):
            tensor_op = True
            reading.say(piece, "multiplies on tensor cores", unit="tensor_core")
        elif piece == "simt":
            tensor_op = False
            reading.say(piece, "multiplies on CUDA cores, one multiply-add a thread", unit="cuda_core")
        elif piece == "wmma":
            family = "wmma"
            reading.say(piece, "through the wmma interface (16x16x16 tiles of warps)")
        elif (word := matrix_word(piece)) is not None:
            seen_matrix = True
            if reading.get("arch") in ("sm90", "hopper") and word.shape and word.shape.startswith("64x"):
                family = "wgmma"
            elif word.shape and word.shape.split("x")[0] in ("128", "256") and tensor_op:
                family = "tcgen05"
            for text, dtype in pending:
                reading.say(text, f"output in {dtype_words(dtype)}", output_dtype=dtype)
            pending.clear()
            say_matrix_word(reading, piece, word, family=family, simt=tensor_op is False)
        elif piece in SHORT_DTYPES:
            _say_dtype(reading, piece, seen_matrix=seen_matrix, pending=pending)
        elif piece == "stages" and index < len(words) and (pair := patterns["pair"].match(words[index])) is not None:
            _say_pair(reading, f"stages_{words[index]}", pair)
            index += 1
        elif (pair := patterns["pair"].match(piece)) is not None:
            _say_pair(reading, piece, pair)
        elif (triple := patterns["triple"].match(piece)) is not None:
            if reading.get("tile") is None:
                reading.say(
                    piece,
                    f"output tile of one block {triple[1]}x{triple[2]}, K tile {triple[3]}",
                    tile=f"{triple[1]}x{triple[2]}",
                    tile_k=int(triple[3]),
                )
            else:
                reading.say(piece, "cluster: blocks that share their loads", cluster=piece)
        elif patterns["layout"].match(piece):
            say_layout(reading, piece)
        else:
            _say_variant(reading, piece)
    for text, dtype in pending:
        reading.say(text, f"inputs in {dtype_words(dtype)}", input_dtype=dtype)
    _fill_from_letter(reading, tensor_op=tensor_op)


def _say_dtype(reading: Reading, piece: str, *, seen_matrix: bool, pending: list[tuple[str, str]]) -> None:
    dtype = SHORT_DTYPES[piece]
    if not seen_matrix:
        pending.append((piece, dtype))
    elif reading.get("input_dtype") is None:
        reading.say(piece, f"inputs in {dtype_words(dtype)}", input_dtype=dtype)
    elif reading.get("input_dtype") != dtype or reading.get("library") == "CUTLASS":
        reading.say(piece, f"{dtype_words(dtype)}: a further operand")


def _say_pair(reading: Reading, piece: str, pair: re.Match[str]) -> None:
    if reading.get("tile") is None and not piece.startswith("stages"):
        reading.say(piece, "output tile of one block", tile=piece)
    elif reading.get("stages") is None:
        step, depth = int(pair[1]), int(pair[2])
        in_flight = "one stage" if depth == 1 else f"{depth} stages in flight"
        reading.say(piece, f"K tile {step}, {in_flight}", tile_k=step, stages=depth)
    else:
        reading.say(piece, "a further tile size")


def _say_variant(reading: Reading, piece: str) -> None:
    patterns = _patterns()
    if piece in _EXACT:
        reading.say(piece, _EXACT[piece])
    elif (align := patterns["align"].match(piece)) is not None:
        which = f" of {align[1].upper()}" if align[1] else ""
        many = "1 element" if align[2] == "1" else f"{align[2]} elements"
        reading.say(piece, f"rows{which} aligned to {many}")
    elif (load := patterns["ldg"].match(piece)) is not None:
        reading.say(piece, f"loads {load[1]} elements at a time")
    elif (sliced := patterns["sliced"].match(piece)) is not None:
        reading.say(piece, f"{sliced[2]} groups of warps in a block share one output tile along K")
    elif patterns["split"].match(piece):
        reading.say(piece, "several blocks share one output tile along K", split_k=True)
    elif patterns["images"].match(piece):
        reading.say(piece, f"images stored {piece.upper()}", layout=piece)
    elif patterns["version"].match(piece):
        reading.say(piece, "version of the kernel")


def _fill_from_letter(reading: Reading, *, tensor_op: bool | None) -> None:
    """Names without an input format say it through the accumulator's letter."""
    if reading.get("input_dtype") is not None:
        return
    accumulate = reading.get("accumulate_dtype")
    instruction = reading.get("instruction") or ""
    index = next((i for i, t in enumerate(reading.tokens) if "accumulate_dtype" in (t.fact or "")), None)
    if accumulate is None or index is None:
        return
    token = reading.tokens[index]
    if accumulate == "fp32" and (tensor_op or instruction.startswith("mma")):
        # fp32 on tensor cores exists as tf32 only; its instructions are 16x8x8 and 16x8x4.
        if "16x8x8" not in instruction and "16x8x4" not in instruction:
            return
        dtype, meaning = "tf32", token.meaning + "; no format is named: float32 inputs, rounded to tf32"
    elif accumulate in ("fp32", "fp64", "fp16", "complex64", "complex128"):
        dtype, meaning = accumulate, token.meaning
    else:
        return
    reading.facts["input_dtype"] = dtype
    reading.tokens[index] = type(token)(token.text, meaning, f"{token.fact}, input_dtype")
