"""AITER: AMD's kernels for LLM serving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.names.libraries.table import Function, read_table

if TYPE_CHECKING:
    from foretrace.names.reading import Reading
    from foretrace.names.spelling import Name

__all__ = ["read"]

_MFMA: Final = "mfma"

_FUNCTIONS: Final[tuple[Function, ...]] = (
    Function("fmha_fwd", "attention_forward", None, "attention forward", "tensor_core", _MFMA),
    Function("fmha_bwd_odo", "attention_backward", "dot(dO, O)", "row sums of dO * O", "cuda_core"),
    Function("fmha_bwd_dq_convert", "attention_backward", "convert dQ", "writes dQ", "cuda_core"),
    Function("fmha_bwd", "attention_backward", None, "attention backward", "tensor_core", _MFMA),
    Function("mla_reduce", "attention_combine", None, "merges the parts of split attention", "cuda_core"),
    Function("mla", "attention_decode", "mla", "decode with latent attention", "tensor_core", _MFMA),
    Function("pa_", "attention_decode", None, "attention over a paged cache", "tensor_core", _MFMA),
    Function("paged_attention", "attention_decode", None, "attention over a paged cache", "tensor_core", _MFMA),
    Function("rmsnorm_quant", "normalization", "rms_norm and quantize", "RMS norm, then quantizes"),
    Function("rmsnorm", "normalization", "rms_norm", "RMS norm"),
    Function("fmoe", "gemm", "moe", "matrix multiplications of a mixture of experts", "tensor_core", _MFMA),
    Function("moe_sorting", "setup", "routing", "orders tokens by expert"),
    Function("topk", "sort", "topk", "picks the experts of each token"),
    Function("gemm", "gemm", None, "matrix multiplication", "tensor_core", _MFMA),
)


def read(name: Name, _mark: str) -> Reading | None:
    """Take an AITER name apart."""
    reading = read_table(name, "AITER", "aiter", "AITER, AMD's kernels for inference", _FUNCTIONS)
    if reading.get("unit") == "tensor_core":
        reading.facts["matrix_cores"] = True
    return reading
