"""Composable Kernel (CK): AMD's templates for matrix kernels, old (``ck::``) and new (``ck_tile::``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.names.libraries.table import Function, read_table

if TYPE_CHECKING:
    from foretrace.names.reading import Reading
    from foretrace.names.spelling import Name

__all__ = ["read"]

_MFMA: Final = "mfma"

_FUNCTIONS: Final[tuple[Function, ...]] = (
    Function("FmhaFwdSplitKVCombine", "attention_combine", None, "merges the parts of a split forward", "cuda_core"),
    Function("FmhaFwdSplitKV", "attention_forward", None, "attention forward, keys split", "tensor_core", _MFMA),
    Function("FmhaBwdOGradDotO", "attention_backward", "dot(dO, O)", "row sums of dO * O", "cuda_core"),
    Function("FmhaBwdConvertQGrad", "attention_backward", "convert dQ", "writes dQ", "cuda_core"),
    Function("FmhaBwd", "attention_backward", None, "attention backward", "tensor_core", _MFMA),
    Function("FmhaFwdAppendKV", "scatter", "append keys", "writes new keys and values into the cache"),
    Function("FmhaFwd", "attention_forward", None, "attention forward", "tensor_core", _MFMA),
    Function("batched_gemm_softmax_gemm", "attention_forward", None, "attention forward", "tensor_core", _MFMA),
    Function("grouped_conv_fwd", "convolution", "fprop", "convolution, forward"),
    Function("conv_bwd_data", "convolution", "dgrad", "convolution, gradient of the input"),
    Function("conv_bwd_weight", "convolution", "wgrad", "convolution, gradient of the weights"),
    Function("Rmsnorm2d", "normalization", "rms_norm", "RMS norm"),
    Function("Layernorm2d", "normalization", "layer_norm", "layer norm"),
    Function("normalization", "normalization", None, "normalization"),
    Function("MoeSorting", "setup", "routing", "orders tokens by expert"),
    Function("MoeSmoothquant", "cast", "quantize", "quantizes"),
    Function("FusedMoe", "gemm", "moe", "matrix multiplications of a mixture of experts"),
    Function("moe_gemm", "gemm", "moe", "matrix multiplications of a mixture of experts"),
    Function("elementwise", "elementwise", None, "pointwise"),
    Function("softmax", "softmax", None, "softmax"),
    Function("reduce", "reduction", None, "reduction"),
    Function("transpose", "copy", "transpose", "transposes"),
    Function("gemm", "gemm", None, "matrix multiplication"),
    Function("Gemm", "gemm", None, "matrix multiplication"),
)


def read(name: Name, mark: str) -> Reading | None:
    """Take a Composable Kernel name apart."""
    whole = f"{name.head} {name.body[:4000]}"
    mark = "ck_tile" if "ck_tile" in whole else "ck"
    functions = tuple(f for f in _FUNCTIONS if f.piece in name.head) or _FUNCTIONS
    if mark == "ck_tile":
        functions = _FUNCTIONS
    reading = read_table(
        name,
        "Composable Kernel",
        mark,
        "Composable Kernel, AMD's templates for matrix kernels",
        functions,
        where=whole if functions is _FUNCTIONS else name.head,
        why="built around matrix-core instructions (MFMA)",
    )
    if "xdl" in whole and reading.get("role") in ("gemm", "convolution"):
        reading.say("xdl", "matrix-core instructions (MFMA)", unit="tensor_core", instruction=_MFMA)
    if reading.get("unit") == "tensor_core":
        reading.facts["matrix_cores"] = True
    return reading
