"""nvjet: cuBLASLt's kernels for Hopper and later, named ``nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT``."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import dtype_words
from foretrace.names.reading import Reading

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read"]

# One letter a format: `tst` is bf16 in, fp32 inside, bf16 out; `qqtst` names both inputs and the added matrix.
_LETTERS: Final = {
    "t": "bf16",
    "h": "fp16",
    "s": "fp32",
    "d": "fp64",
    "q": "fp8_e4m3",
    "r": "fp8_e5m2",
    "o": "fp4_e2m1",
    "i": "int32",
    "b": "int8",
}

_EXACT: Final = {
    "h": "neighboring blocks walk along rows",
    "v": "neighboring blocks walk along columns",
    "bz": "beta is zero: what lay in the output is not read back and added",
    "badd": "adds a matrix to the product (beta is not zero)",
    "bias": "adds a bias before it writes its output",
    "relu": "applies a ReLU before it writes its output",
    "gelu": "applies a GELU before it writes its output",
    "ovscale": "scales rows and columns of the product (fp8 with a scale for each row)",
    "aux": "writes a second output for the backward pass",
    "coopA": "two groups of warps share one tile, each half of its rows",
    "coopB": "two groups of warps share one tile, each half of its columns",
}


@functools.cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "arch": re.compile(r"sm(\d{2,3})[af]?\Z"),
        "formats": re.compile(r"[thsdqroib]{3,5}\Z"),
        "pair": re.compile(r"(\d+)x(\d+)\Z"),
        "triple": re.compile(r"(\d+)x(\d+)x(\d+)\Z"),
        "layout": re.compile(r"[NT]{2,3}\Z"),
        "algo": re.compile(r"algo\d+\Z"),
        "pairs": re.compile(r"(\d+)cta\Z"),
    }


def read(name: Name, _mark: str) -> Reading | None:
    """Take an nvjet name apart."""
    patterns = _patterns()
    reading = Reading(name)
    reading.say(
        "nvjet",
        "cuBLASLt's kernels for Hopper and later: matrix multiplication on tensor cores",
        library="cuBLASLt nvjet",
        role="gemm",
        unit="tensor_core",
    )
    for piece in name.head.split("_")[1:]:
        if (arch := patterns["arch"].match(piece)) is not None:
            _say_arch(reading, piece, int(arch[1]))
        elif patterns["formats"].match(piece) and reading.get("accumulate_dtype") is None:
            _say_formats(reading, piece)
        elif (triple := patterns["triple"].match(piece)) is not None:
            _say_triple(reading, piece, triple)
        elif (pair := patterns["pair"].match(piece)) is not None:
            _say_pair(reading, piece, pair)
        elif piece.isdecimal() and reading.get("stages") is None and reading.get("tile") is not None:
            reading.say(piece, f"{piece} stages in flight", stages=int(piece))
        elif patterns["layout"].match(piece):
            _say_layout(reading, piece)
        elif (ctas := patterns["pairs"].match(piece)) is not None:
            reading.say(
                piece,
                f"{ctas[1]} blocks run one tensor-core instruction together (Blackwell)",
                instruction="tcgen05",
            )
        elif piece.lower().startswith("splitk"):
            reading.say(piece, "several blocks share one output tile along K", split_k=True)
        elif piece in _EXACT:
            reading.say(piece, _EXACT[piece])
        elif patterns["algo"].match(piece):
            reading.say(piece, "one of several algorithms for the same tile")
        elif piece:
            reading.say(piece, "a mark that NVIDIA does not document")
    return reading


def _say_arch(reading: Reading, piece: str, number: int) -> None:
    major, minor = divmod(number, 10)
    # Hopper multiplies with wgmma, data-center Blackwell with tcgen05, consumer Blackwell with plain mma again.
    instruction = {9: "wgmma", 10: "tcgen05", 11: "tcgen05", 12: "mma"}.get(major)
    how = f", whose tensor cores are driven by {instruction}" if instruction else ""
    reading.say(
        piece,
        f"built for compute capability {major}.{minor}{how}",
        arch=piece,
        instruction=instruction,
    )


def _say_formats(reading: Reading, piece: str) -> None:
    dtypes = [_LETTERS[letter] for letter in piece]
    inside, out = dtypes[-2], dtypes[-1]
    first = dtypes[0]
    inputs = dtype_words(first)
    if len(dtypes) > 3 and dtypes[1] != first:  # noqa: PLR2004
        inputs += f" and {dtype_words(dtypes[1])}"
    reading.say(
        piece,
        f"inputs in {inputs}, accumulated in {dtype_words(inside)}, output in {dtype_words(out)}",
        input_dtype=first,
        accumulate_dtype=inside,
        output_dtype=out,
    )


def _say_pair(reading: Reading, piece: str, pair: re.Match[str]) -> None:
    if reading.get("tile") is None:
        reading.say(piece, "output tile of one block", tile=piece)
    elif reading.get("stages") is None:
        reading.say(
            piece,
            f"K tile {pair[1]}, {pair[2]} stages in flight",
            tile_k=int(pair[1]),
            stages=int(pair[2]),
        )
    else:
        reading.say(piece, "cluster: blocks that share their loads", cluster=piece)


def _say_triple(reading: Reading, piece: str, triple: re.Match[str]) -> None:
    """Later names write the tile with its K (``mma_128x256x64_4``), then the part that is written at a time."""
    if reading.get("tile") is not None:
        reading.say(piece, "part of the tile that is written at a time")
        return
    reading.say(
        piece,
        f"output tile of one block {triple[1]}x{triple[2]}, K tile {triple[3]}",
        tile=f"{triple[1]}x{triple[2]}",
        tile_k=int(triple[3]),
    )


def _say_layout(reading: Reading, piece: str) -> None:
    how = {"N": "as it is stored", "T": "transposed"}
    meaning = f"first input {how[piece[0]]}, second {how[piece[1]]} (column-major, as BLAS counts)"
    if len(piece) > 2:  # noqa: PLR2004
        meaning += "; the last letter is the output's"
    reading.say(piece, meaning, layout=piece[:2].lower())
