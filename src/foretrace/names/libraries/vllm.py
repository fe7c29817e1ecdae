"""vLLM and SGLang: kernels around attention and experts in LLM serving."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.names.libraries.table import Function, read_table

if TYPE_CHECKING:
    from foretrace.names.reading import Reading
    from foretrace.names.spelling import Name

__all__ = ["read"]

_CACHE: Final = "writes new keys and values into the cache"

_VLLM: Final[tuple[Function, ...]] = (
    Function("reshape_and_cache", "scatter", "cache write", _CACHE),
    Function("concat_and_cache", "scatter", "cache write", _CACHE),
    Function("store_kvcache", "scatter", "cache write", _CACHE),
    Function("gather_cache", "gather", "cache read", "reads keys and values from the cache"),
    Function("copy_blocks", "copy", "cache blocks", "copies blocks of the cache"),
    Function("swap_blocks", "copy", "cache blocks", "copies blocks of the cache"),
    Function(
        "paged_attention_ll4mi_reduce", "attention_combine", None, "merges the parts of split attention", "cuda_core"
    ),
    Function(
        "paged_attention_v2_reduce", "attention_combine", None, "merges the parts of split attention", "cuda_core"
    ),
    Function("merge_attn_states", "attention_combine", None, "merges the parts of split attention", "cuda_core"),
    Function(
        "paged_attention_ll4mi_QKV_mfma16",
        "attention_decode",
        None,
        "attention over a paged cache",
        "tensor_core",
        "mfma 16x16",
    ),
    Function(
        "paged_attention_ll4mi_QKV_mfma4",
        "attention_decode",
        None,
        "attention over a paged cache",
        "tensor_core",
        "mfma 4x4",
    ),
    Function(
        "paged_attention",
        "attention_decode",
        None,
        "attention over a paged cache, one query at a time, on CUDA cores",
        "cuda_core",
    ),
    Function("rms_norm_static_fp8_quant", "normalization", "rms_norm and quantize", "RMS norm, then quantizes"),
    Function("fused_add_rms_norm", "normalization", "add and rms_norm", "adds the residual, then RMS norm"),
    Function("rms_norm", "normalization", "rms_norm", "RMS norm"),
    Function("rotary_embedding", "elementwise", "rotary embedding", "rotates queries and keys by position"),
    Function("topkGatingSoftmax", "softmax", "expert gating", "softmax over experts and choice of the best"),
    Function("topkGating", "sort", "expert gating", "choice of experts"),
    Function("grouped_topk", "sort", "expert gating", "choice of experts"),
    Function("moe_align_block_size", "setup", "routing", "orders tokens by expert"),
    Function("count_and_sort_expert", "setup", "routing", "orders tokens by expert"),
    Function("moe_sum", "reduction", "moe sum", "adds up the experts' results"),
    Function("act_and_mul", "elementwise", "act and mul", "activation of one half times the other"),
    Function("silu_and_mul", "elementwise", "silu and mul", "SiLU of one half times the other"),
    Function("Marlin", "gemm", None, "matrix multiplication with quantized weights", "tensor_core", "mma 16x8x16"),
    Function("machete", "gemm", None, "matrix multiplication with quantized weights", "tensor_core", "wgmma"),
    Function(
        "gemm_half_q_half", "gemm", None, "matrix multiplication with quantized weights, on CUDA cores", "cuda_core"
    ),
    Function("wvSplitK", "gemm", None, "matrix multiplication of few rows, on vector units", "cuda_core"),
    Function("LLGemm1", "gemm", None, "matrix multiplication of few rows, on vector units", "cuda_core"),
    Function("dequantize", "cast", "dequantize", "expands quantized weights"),
    Function("scaled_fp8_quant", "cast", "quantize", "quantizes to fp8"),
    Function("scaled_int8_quant", "cast", "quantize", "quantizes to int8"),
    Function("quant", "cast", "quantize", "quantizes"),
)


def read(name: Name, mark: str) -> Reading | None:
    """Take a vLLM or SGLang name apart."""
    library = "SGLang" if mark in ("sgl_", "sglang", "store_kvcache") else "vLLM"
    return read_table(name, library, mark, f"{library}, LLM serving", _VLLM)
