"""Roles read from the plain words of a function's name, for kernels that no library's table knows.

The order is the meaning: what a name mentions in passing (`attention_mask`, `kv_indices`) comes before what it
computes (`attention`), and a specific word before a general one.
"""

from __future__ import annotations

from typing import Final

__all__ = ["find_word", "role_by_words"]

# A trailing or leading "=" asks for a word boundary there; a camel hump is a boundary too.
_ROLES: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "communication",
        (
            *("allreduce", "all_reduce", "allgather", "all_gather", "reduce_scatter", "reducescatter"),
            *("alltoall", "all_to_all", "all2all", "sendrecv", "nvshmem", "cross_device_reduce", "multimem"),
            *("lamport", "internode", "intranode", "symm_mem", "quickreduce", "=barrier="),
        ),
    ),
    (
        "scatter",
        (
            *("reshape_and_cache", "concat_and_cache", "store_kv", "store_cache", "kvcache_write", "write_kv"),
            *("set_kv_buffer", "append_paged", "appendpaged", "kv_cache_update", "update_kv", "kv_insert"),
        ),
    ),
    (
        "setup",
        (
            *("indices", "indptr", "metadata", "offsets", "scheduler", "prepare_", "page_table", "block_table"),
            *("align_block", "routing", "num_kv_splits", "num_blocks", "tensormap", "slot_mapping"),
            *("get_mapping", "fused_mapping", "dispatch_layout", "count_expert", "workspace_init", "seqlens"),
            *("cu_seq", "position_ids", "=positions=", "clamp_position", "token_ids", "bitmatrix", "set_info"),
            *("copy_info", "init_lookback", "compactinit", "scaninit", "linearize_index", "bounds_check"),
        ),
    ),
    (
        "elementwise",
        (
            "attention_mask",
            "attn_mask",
            "causal_mask",
            "attention_bias",
            "attn_bias",
            "rotary",
            "=rope",
            "rope=",
            "alibi_slopes",
        ),
    ),
    (
        "attention_combine",
        (
            *("merge_attn_states", "merge_state", "mergestates", "reduce_segments", "splitkv_combine"),
            *("attn_combine", "attention_combine", "mha_combine", "mla_combine", "fmha_reduce", "attn_reduce"),
            *("attention_reduce", "fwdcombine", "flash_combine", "splitkreduce_attn", "mmha_reduce"),
        ),
    ),
    (
        "attention_backward",
        (
            *("attn_bwd", "attention_bwd", "attention_backward", "attn_backward", "flash_bwd", "fmha_bwd"),
            *("mha_bwd", "bwd_kernel_dk", "bwd_kernel_dq", "bwd_preprocess", "bwd_dq", "bwd_dkdv", "attnbwd"),
            *("_bwd_kernel_one_col", "flashattnbwd"),
        ),
    ),
    (
        "attention_decode",
        (
            *("paged_attention", "pagedattention", "decode_attention", "attention_decode", "attn_decode"),
            *("flash_decod", "decode_attn", "masked_multihead", "decode_mla", "mla_decode", "mmha", "kernel_mha"),
            *("grouped_kernel_stage1", "fwd_kernel_stage1", "decode_grouped_att", "flash_mla", "flashmla"),
            "decode_kernel",
        ),
    ),
    (
        "attention_forward",
        (
            *("attn_fwd", "attention_fwd", "attention_forward", "attn_forward", "flash_fwd", "fmha", "=mha="),
            *("flash_attn", "flashattn", "flash_attention", "flashattention", "unified_attention", "sdpa"),
            *("=attention=", "attention_kernel", "attn_kernel", "=attn=", "selfattention", "self_attn"),
            *("context_attention", "prefill_attention", "extend_attention", "multihead", "=mla="),
        ),
    ),
    (
        "optimizer",
        (
            *("=adam", "adamw", "adagrad", "=sgd=", "lamb_", "=lion=", "optimizer", "rmsprop", "adafactor"),
            *("adamfunctor", "sgdfunctor"),
        ),
    ),
    ("reduction", ("cross_entropy", "crossentropy", "nll_loss", "kldiv", "kl_div", "=jsd", "ctc_loss")),
    ("softmax", ("softmax",)),
    (
        "normalization",
        (
            *("layer_norm", "layernorm", "rms_norm", "rmsnorm", "group_norm", "groupnorm", "batch_norm"),
            *("batchnorm", "instance_norm", "instancenorm", "=bn_", "ln_fwd", "ln_bwd", "add_norm", "=norm="),
            *("l2norm", "l2_norm", "weight_norm"),
        ),
    ),
    (
        "gemm",
        (
            *("=gemm", "gemm=", "gemm_", "_gemm", "matmul", "=gemv", "gemv=", "batched_mm", "grouped_mm"),
            *("=bmm=", "=mm=", "scaled_mm", "fused_moe", "marlin", "=w8a8", "=w4a16", "splitk_mm", "addmm"),
            *("=linear=", "linear_kernel", "spmm", "csrmm", "tinygemm", "tensordot"),
        ),
    ),
    # What changes the format while it moves is more than a copy.
    (
        "cast",
        (
            *("cast_and_transpose", "cast_transpose", "transpose_and_cast", "transpose_cast"),
            *("quantize_transpose", "quant_transpose", "transpose_quant"),
        ),
    ),
    (
        "copy",
        ("im2col", "im2d2col", "col2im", "nchwtonhwc", "nhwctonchw", "paddingkernel", "foldednhwc", "transpose"),
    ),
    (
        "convolution",
        (
            "winograd",
            "=conv=",
            "=conv_",
            "convolution",
            "conv1d",
            "conv2d",
            "conv3d",
            "convolve",
            "_conv_",
            "fprop",
            "dgrad",
            "wgrad",
        ),
    ),
    (
        "random",
        (
            *("=random", "philox", "dropout", "bernoulli", "multinomial", "=rand=", "sampling", "curand"),
            *("distribution", "gumbel", "gen_sequenced"),
        ),
    ),
    ("cast", ("quantize", "=quant=", "=quant_", "_quant", "to_fp8", "fp8_to", "=cast", "convert", "to_float")),
    ("sort", ("radixsort", "mergesort", "=sort", "topk", "top_k", "argsort", "searchsorted", "=unique", "rank_")),
    ("fft", ("=fft", "_fft", "bluestein")),
    ("scatter", ("scatter", "index_put", "index_add", "index_copy", "put_")),
    ("gather", ("gather", "embedding", "index_select", "indexselect", "lookup", "upsample", "interpolate", "nms")),
    (
        "elementwise",
        (
            *("swiglu", "geglu", "=gelu", "=silu", "=relu", "sigmoid", "=tanh", "act_and_mul", "activation"),
            *("elementwise", "pointwise", "element_wise"),
        ),
    ),
    (
        "reduction",
        (
            *("reduce", "reduction", "=sum=", "=sum_", "_sum=", "=mean", "argmax", "argmin", "cumsum", "=scan"),
            *("prefix_sum", "pool", "=norm2", "nrm2", "histogram", "=count", "asum", "=loss", "_loss", "amax"),
        ),
    ),
    ("memset", ("memset", "=zero", "fillbuffer", "=fill")),
    (
        "copy",
        (
            *("=copy", "copy=", "_copy", "memcpy", "concat", "=cat=", "permute", "=pad=", "=expand", "reorder"),
            *("=pack", "unpack", "=repack", "copybuffer", "shuffle", "=flip", "=split="),
        ),
    ),
    (
        "elementwise",
        (
            *("=add", "_add", "=mul", "_mul", "=bias", "=scal", "=where", "=clamp", "compare", "=mask", "triu"),
            *("tril", "arange", "=axpy", "fused_", "=exp=", "=div", "=sub=", "=act="),
        ),
    ),
)


def _boundary_before(text: str, at: int) -> bool:
    return at == 0 or not text[at - 1].isalpha() or (text[at].isupper() and text[at - 1].islower())


def _boundary_after(text: str, end: int) -> bool:
    return end >= len(text) or not text[end].isalpha() or (text[end].isupper() and text[end - 1].islower())


def find_word(text: str, lower: str, needle: str) -> str | None:
    """The piece of ``text`` (``lower`` is it in lower case) that the needle names, as it is spelled there."""
    word = needle.strip("=")
    at = lower.find(word)
    while at >= 0:
        end = at + len(word)
        before = not needle.startswith("=") or _boundary_before(text, at)
        after = not needle.endswith("=") or _boundary_after(text, end)
        if before and after:
            return text[at:end]
        at = lower.find(word, at + 1)
    return None


def role_by_words(text: str) -> tuple[str, str] | None:
    """(role, the piece of ``text`` that says it), or None if no word is known."""
    lower = text.lower()
    if len(lower) != len(text):
        # Some letters grow when lowered; such a name is no identifier of ours to read.
        return None
    for role, needles in _ROLES:
        for needle in needles:
            piece = find_word(text, lower, needle)
            if piece is not None:
                return role, piece
    return None
