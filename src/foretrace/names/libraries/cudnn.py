"""cuDNN: generated attention, convolutions of every age, batch norm, recurrent cells, and layout changes."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import SHORT_DTYPES, dtype_words, first_cpp_dtype
from foretrace.names.libraries.blas_names import read_words
from foretrace.names.libraries.cutlass import read_named, read_template
from foretrace.names.libraries.xmma_names import read_xmma
from foretrace.names.reading import Reading
from foretrace.names.word_roles import role_by_words

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read"]

_CUDA: Final = "cuda_core"

# Functions of cuDNN by a piece of their own name: (piece, role, op, unit, meaning). The first that fits counts.
_FUNCTIONS: Final[tuple[tuple[str, str, str | None, str | None, str], ...]] = (
    ("init_device_workspace", "setup", "workspace", None, "clears the workspace of a convolution"),
    ("computeOffsets", "setup", "offsets", None, "address table for a convolution"),
    ("OffsetsKernel", "setup", "offsets", None, "address table for a convolution"),
    ("precompute_indices", "setup", "indices", None, "address table for a convolution"),
    ("compute_dot_do_o", "attention_backward", "dot(dO, O)", _CUDA, "row sums of dO * O, before the backward"),
    ("convert_dq", "attention_backward", "convert dQ", _CUDA, "writes dQ in the output's format"),
    ("nhwcSliceC", "copy", "slice channels", None, "copies some of an image's channels"),
    ("nchwToNhwc", "copy", "nchw to nhwc", None, "changes the image layout NCHW to NHWC"),
    ("nhwcToNchw", "copy", "nhwc to nchw", None, "changes the image layout NHWC to NCHW"),
    ("ToFoldedNhwc", "copy", "fold nhwc", None, "changes the image layout"),
    ("foldedNhwcTo", "copy", "unfold nhwc", None, "changes the image layout"),
    ("AddPadding", "copy", "pad", None, "copies into a padded tensor"),
    ("tensorTransform", "copy", "transform", None, "copies into another layout"),
    ("transpose", "copy", "transpose", None, "transposes"),
    ("flip_filter", "copy", "flip filter", None, "turns the filter around for a convolution"),
    ("im2col", "copy", "im2col", None, "lays image patches out as a matrix"),
    ("scalePackedTensor", "elementwise", "scale", None, "multiplies a tensor by a scalar"),
    ("scaleTensor", "elementwise", "scale", None, "multiplies a tensor by a scalar"),
    ("convertTensor", "cast", None, None, "converts a tensor's format"),
    ("op_tensor", "elementwise", None, None, "pointwise operation on tensors"),
    ("reduce_wgrad", "reduction", "wgrad sum", None, "adds up the parts of a filter gradient"),
    ("winogradForwardData", "convolution", "fprop", _CUDA, "Winograd transform of the image"),
    ("winogradForwardFilter", "convolution", "fprop", _CUDA, "Winograd transform of the filter"),
    ("winogradForwardOutput", "convolution", "fprop", _CUDA, "Winograd transform back"),
    ("winogradWgrad", "convolution", "wgrad", _CUDA, "Winograd transform for the filter gradient"),
    ("inograd", "convolution", None, _CUDA, "a step of a Winograd convolution"),
    ("wgrad", "convolution", "wgrad", _CUDA, "convolution, gradient of the weights, on CUDA cores"),
    ("dgrad", "convolution", "dgrad", _CUDA, "convolution, gradient of the input, on CUDA cores"),
    ("c1_k1", "convolution", "fprop", _CUDA, "depthwise convolution, on CUDA cores"),
    ("convolve", "convolution", "fprop", _CUDA, "convolution, forward, on CUDA cores"),
    ("conv2d", "convolution", "fprop", _CUDA, "convolution, forward, on CUDA cores"),
    ("conv_depthwise", "convolution", "fprop", _CUDA, "depthwise convolution, on CUDA cores"),
    ("fft1d", "convolution", "fft", _CUDA, "Fourier transform of a convolution"),
    ("fft2d", "convolution", "fft", _CUDA, "Fourier transform of a convolution"),
    ("pointwise_mult_and_sum_complex", "convolution", "fft", _CUDA, "product in frequency space"),
    ("gcgemm", "convolution", "fft", _CUDA, "product in frequency space"),
    ("bn_fw", "normalization", "batch_norm", None, "batch norm, forward"),
    ("bn_bw", "normalization", "batch_norm backward", None, "batch norm, backward"),
    ("bnorm", "normalization", "batch_norm", None, "batch norm"),
    ("norm", "normalization", None, None, "normalization"),
    ("softmax", "softmax", None, None, "softmax"),
    ("pooling", "reduction", "pooling", None, "pooling"),
    ("activation", "elementwise", "activation", None, "activation"),
    ("dropout", "random", "dropout", None, "dropout"),
    ("LSTM_elementWise", "elementwise", "lstm cell", None, "gates of an LSTM cell"),
    ("GRU_elementWise", "elementwise", "gru cell", None, "gates of a GRU cell"),
    ("elemWiseRNN", "elementwise", "rnn cell", None, "gates of a recurrent cell"),
    ("RNN_elementWise", "elementwise", "rnn cell", None, "gates of a recurrent cell"),
    ("elementWise_bp", "elementwise", "rnn bias backward", None, "gradient of the biases of a recurrent cell"),
    ("elementWise", "elementwise", None, None, "pointwise operation"),
    ("_HMMA", "recurrent", "persistent", "tensor_core", "recurrent layer on tensor cores, weights kept on chip"),
    ("RNN_blockPersist", "recurrent", "persistent", _CUDA, "whole recurrent layer, weights kept on chip"),
    ("persistRNN", "recurrent", "persistent", _CUDA, "whole recurrent layer, weights kept on chip"),
    ("lstm_tile", "recurrent", "lstm", "tensor_core", "LSTM steps as small matrix products on tensor cores"),
    ("gru_tile", "recurrent", "gru", "tensor_core", "GRU steps as small matrix products on tensor cores"),
    ("RNN", "recurrent", None, _CUDA, "recurrent layer"),
    ("reduce", "reduction", None, None, "reduction"),
)


@functools.cache
def _generated() -> dict[str, re.Pattern[str]]:
    return {
        "arch": re.compile(r"sm(\d{2,3})\Z"),
        "tile": re.compile(r"(\d+)x(\d+)x(\d+)\Z"),
        "cga": re.compile(r"cga(\d+x\d+x\d+)\Z"),
        "number": re.compile(r"\d+\Z"),
        "kernel": re.compile(r"kernel\d+\Z"),
    }


# cudnnRNNMode_t, as it stands among the template arguments.
_CELLS: Final = {"0": "rnn cell", "1": "rnn cell", "2": "lstm cell", "3": "gru cell"}

_GENERATED_INSTRUCTION: Final = {
    "wgmma": "Hopper's warp-group instruction",
    "wmma": "the warp-level instruction",
    "utcmma": "Blackwell's instruction",
    "tcgen05": "Blackwell's instruction",
    "mma": "the warp-level instruction",
    "hmma": "the warp-level instruction",
}


def _read_generated(name: Name) -> Reading:
    """``cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_...``."""
    patterns = _generated()
    reading = Reading(name)
    words = name.head.split("_")
    reading.say("cudnn_generated", "generated by cuDNN's own compiler", library="cuDNN")
    backward = any(w in ("bprop", "bwd", "dgrad", "wgrad") for w in words)
    attention = any(w in ("sdpa", "mha", "attention") for w in words)
    previous = ""
    for piece in words[2:]:
        if piece in ("sdpa", "mha", "attention"):
            role = "attention_backward" if backward else "attention_forward"
            reading.say(piece, "scaled dot product attention", role=role)
        elif piece in ("fprop", "bprop") and attention:
            reading.say(piece, "forward" if piece == "fprop" else "backward: dQ, dK and dV")
        elif piece in ("fprop", "dgrad", "wgrad", "conv", "convolution"):
            op = piece if piece in ("fprop", "dgrad", "wgrad") else None
            reading.say(piece, "convolution", role="convolution", op=op)
        elif piece in ("matmul", "gemm"):
            reading.say(piece, "matrix multiplication", role="gemm")
        elif piece == "flash":
            reading.say(piece, "block by block, without writing the score matrix")
        elif (arch := patterns["arch"].match(piece)) is not None:
            number = int(arch[1])
            reading.say(piece, f"built for compute capability {number // 10}.{number % 10}", arch=piece)
        elif piece in _GENERATED_INSTRUCTION:
            instruction = {"wmma": "mma", "hmma": "mma", "utcmma": "tcgen05"}.get(piece, piece)
            reading.say(
                piece,
                f"multiplies on tensor cores, with {_GENERATED_INSTRUCTION[piece]}",
                unit="tensor_core",
                instruction=instruction,
            )
        elif piece == "f16":
            reading.say(piece, "inputs in 16 bits: float16 and bfloat16 have one spelling", input_dtype="16-bit")
        elif piece in SHORT_DTYPES:
            dtype = SHORT_DTYPES[piece]
            reading.say(piece, f"inputs in {dtype_words(dtype)}", input_dtype=dtype)
        elif previous == "knob" and patterns["number"].match(piece):
            reading.say(f"knob_{piece}", "which of cuDNN's configurations")
        elif (tile := patterns["tile"].match(piece)) is not None:
            _say_generated_tile(reading, piece, tile, attention=attention, backward=backward)
        elif (cga := patterns["cga"].match(piece)) is not None:
            alone = cga[1] == "1x1x1"
            reading.say(piece, "no cluster" if alone else "cluster of blocks", cluster=cga[1])
        previous = piece
    if reading.get("role") is None and (found := role_by_words(name.head)) is not None:
        reading.say(found[1], f"the word says: {found[0].replace('_', ' ')}", role=found[0])
    if reading.get("unit") is None and reading.get("role") in (
        "attention_forward",
        "attention_backward",
        "gemm",
        "convolution",
    ):
        proof = reading.proof("role")
        reading.add(proof, "cuDNN's generated matrix kernels run on tensor cores", unit="tensor_core")
    return reading


def _say_generated_tile(reading: Reading, piece: str, tile: re.Match[str], *, attention: bool, backward: bool) -> None:
    rows, columns, third = tile.groups()
    if reading.get("tile") is not None:
        reading.say(piece, "how the warps divide the tile")
    elif not attention:
        reading.say(piece, f"output tile {rows}x{columns}, K tile {third}", tile=f"{rows}x{columns}", tile_k=int(third))
    elif backward:
        reading.say(piece, "tile: queries x keys x head dimension", tile=f"{rows}x{columns}")
    else:
        reading.say(
            piece,
            f"a group of warps holds {rows} queries and walks over the keys {columns} at a time; "
            f"head dimensions up to {third}",
            tile=f"{rows}x{columns}",
            head_dim=int(third),
        )


def _say_library(reading: Reading, name: Name) -> None:
    at = name.text.find("cudnn")
    if at >= 0:
        reading.say("cudnn", "cuDNN", library="cuDNN")


def _read_scudnn(name: Name) -> Reading | None:
    """``cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1``."""
    reading = Reading(name)
    words = name.head.split("_")
    skip = 0
    for word in words:
        if word not in ("cudnn", "infer", "train"):
            break
        skip += 1
    read_words(reading, words[skip:])
    if reading.get("role") is None:
        return None
    _say_library(reading, name)
    return reading


def _read_function(name: Name) -> Reading | None:
    reading = Reading(name)
    _say_library(reading, name)
    path = name.head
    for mark, role, op, unit, meaning in _FUNCTIONS:
        if mark in name.base or mark in path:
            piece = mark
            kind = (
                _CELLS.get(name.text[name.opening :].partition("(cudnnRNNMode_t)")[2][:1], op)
                if "cell" in (op or "")
                else op
            )
            instruction = "mma" if unit == "tensor_core" else None
            reading.say(piece, meaning, library="cuDNN", role=role, op=kind, unit=unit, instruction=instruction)
            break
    else:
        found = role_by_words(name.base) or role_by_words(path)
        if found is None:
            return reading if reading.get("library") == "cuDNN" else None
        unit = _CUDA if found[0] in ("gemm", "convolution") else None
        reading.say(found[1], f"the word says: {found[0].replace('_', ' ')}", role=found[0], unit=unit)
    stop = name.text.find("(", name.opening) if name.opening >= 0 else -1
    if name.opening >= 0 and (dtype := first_cpp_dtype(name.text, name.opening, stop if stop > 0 else None)):
        reading.say(dtype[0], f"values in {dtype_words(dtype[1])}", input_dtype=dtype[1])
    return reading


def read(name: Name, _mark: str) -> Reading | None:
    """Take a cuDNN name apart."""
    if name.head.startswith("cudnn_generated"):
        return _read_generated(name)
    if "_xmma_" in name.head:
        return read_xmma(name)
    if "cutlass" in name.head:
        reading = Reading(name)
        _say_library(reading, name)
        named = re.search(r"cutlass_(?!cudnn)[a-z0-9]\w+(?=>)", name.text[:1000])
        if named is not None and not named[0].startswith("cutlass_cudnn"):
            read_named(reading, named[0])
        else:
            read_template(reading, name.body)
        return reading
    if "scudnn" in name.head or "icudnn" in name.head or "hcudnn" in name.head or "88cudnn" in name.head:
        reading = _read_scudnn(name)  # type: ignore[assignment]
        if reading is not None:
            return reading
    return _read_function(name)
