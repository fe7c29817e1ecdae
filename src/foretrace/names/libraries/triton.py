"""Kernels written by hand in Triton: their Python function's name is all there is.

Liger, vLLM and OpenAI's triton_kernels have tables of exact names; other names are read by their words.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import SHORT_DTYPES, dtype_words
from foretrace.names.libraries.table import Function
from foretrace.names.reading import Reading
from foretrace.names.word_roles import role_by_words

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read"]

_DOT: Final = "tl.dot on tensor cores, except in float32 without tf32; the format is not in the name"

# Whole names (without Triton's suffixes) -> what they are. `_fwd_kernel` and its kin are the names of Triton's own
# attention tutorial, which most hand-written attention kernels carry on.
_EXACT: Final[dict[str, Function]] = {
    "_attn_fwd": Function("", "attention_forward", None, "attention forward, after Triton's tutorial"),
    "_attn_fwd_inner": Function("", "attention_forward", None, "attention forward"),
    "attn_fwd": Function("", "attention_forward", None, "attention forward (AMD's Triton kernel, AOTriton)"),
    "_attn_bwd": Function("", "attention_backward", None, "attention backward, after Triton's tutorial"),
    "_attn_bwd_preprocess": Function(
        "", "attention_backward", "dot(dO, O)", "row sums of dO * O: no matrix multiplication", "cuda_core"
    ),
    "_bwd_preprocess": Function(
        "", "attention_backward", "dot(dO, O)", "row sums of dO * O: no matrix multiplication", "cuda_core"
    ),
    "bwd_preprocess": Function(
        "", "attention_backward", "dot(dO, O)", "row sums of dO * O: no matrix multiplication", "cuda_core"
    ),
    "_fwd_kernel": Function("", "attention_forward", None, "attention forward, named as in Triton's tutorial"),
    "_fwd_kernel_aligned": Function("", "attention_forward", None, "attention forward with an added bias"),
    "_bwd_kernel": Function("", "attention_backward", None, "attention backward, named as in Triton's tutorial"),
    "_fwd_kernel_stage1": Function("", "attention_decode", None, "decode attention: one part of the keys"),
    "_fwd_grouped_kernel_stage1": Function("", "attention_decode", None, "decode attention: one part of the keys"),
    "_fwd_kernel_stage2": Function("", "attention_combine", None, "decode attention: merges the parts", "cuda_core"),
    "kernel_unified_attention_2d": Function("", "attention_forward", None, "vLLM's attention over a paged cache"),
    "kernel_unified_attention_3d": Function(
        "", "attention_decode", None, "vLLM's attention over a paged cache, keys split over blocks"
    ),
    "kernel_paged_attention_2d": Function("", "attention_decode", None, "vLLM's attention over a paged cache"),
    "reduce_segments": Function("", "attention_combine", None, "merges the parts of split attention", "cuda_core"),
    "fused_moe_kernel": Function("", "gemm", "moe", "matrix multiplications of a mixture of experts"),
    "_finalize_matmul": Function("", "scatter", "moe finalize", "adds up the experts' results"),
    "_finalize_matmul_scatter": Function("", "scatter", "moe finalize", "adds up the experts' results"),
    "_topk_forward": Function("", "sort", "topk", "picks the experts of each token"),
    "_topk_backward": Function("", "scatter", "topk backward", "gradient of the choice of experts"),
    "_combined_routing_compute": Function("", "setup", "routing", "orders tokens by expert"),
    "_combined_routing_memset": Function("", "memset", None, "clears the routing buffers"),
    "_routing_compute_indx": Function("", "setup", "routing", "orders tokens by expert"),
    "_sum_bitmatrix_rows": Function("", "setup", "routing", "counts the tokens of each expert"),
}

_VLLM: Final = frozenset(
    {
        *("kernel_unified_attention_2d", "kernel_unified_attention_3d", "kernel_paged_attention_2d"),
        *("reduce_segments", "fused_moe_kernel"),
    }
)
_SGLANG: Final = frozenset({"_fwd_kernel_stage1", "_fwd_grouped_kernel_stage1", "_fwd_kernel_stage2"})

# Liger's kernels by whole name: (role, operation). They carry no mark of their own.
_LIGER: Final[dict[str, tuple[str, str]]] = {
    "_geglu_tanh_forward_kernel": ("elementwise", "geglu"),
    "_geglu_tanh_backward_kernel": ("elementwise", "geglu backward"),
    "_swiglu_forward_kernel": ("elementwise", "swiglu"),
    "_swiglu_backward_kernel": ("elementwise", "swiglu backward"),
    "_rms_norm_forward_kernel": ("normalization", "rms_norm"),
    "_rms_norm_backward_kernel": ("normalization", "rms_norm backward"),
    "_block_rms_norm_forward_kernel": ("normalization", "rms_norm"),
    "_block_rms_norm_backward_kernel": ("normalization", "rms_norm backward"),
    "_fused_add_rms_norm_forward_kernel": ("normalization", "add and rms_norm"),
    "_fused_add_rms_norm_backward_kernel": ("normalization", "add and rms_norm backward"),
    "_layer_norm_forward_kernel": ("normalization", "layer_norm"),
    "_layer_norm_backward_kernel": ("normalization", "layer_norm backward"),
    "_group_norm_forward_kernel": ("normalization", "group_norm"),
    "_group_norm_backward_kernel": ("normalization", "group_norm backward"),
    "_poly_norm_forward_kernel": ("normalization", "poly_norm"),
    "_poly_norm_backward_kernel": ("normalization", "poly_norm backward"),
    "_dyt_fwd_kernel": ("normalization", "dynamic tanh"),
    "_dyt_bwd_kernel": ("normalization", "dynamic tanh backward"),
    "_triton_rope": ("elementwise", "rotary embedding"),
    "_triton_qwen2vl_mrope": ("elementwise", "rotary embedding"),
    "_triton_llama4_rope": ("elementwise", "rotary embedding"),
    "liger_cross_entropy_kernel": ("reduction", "cross_entropy"),
    "_jsd_kernel": ("reduction", "jsd"),
    "_kldiv_kernel_forward": ("reduction", "kl_div"),
    "_kldiv_kernel_backward": ("elementwise", "kl_div backward"),
    "_tv_distance_kernel": ("reduction", "total variation"),
    "_grpo_loss_fwd_kernel": ("reduction", "grpo loss"),
    "_grpo_loss_bwd_kernel": ("elementwise", "grpo loss backward"),
    "_selective_log_softmax_kernel": ("softmax", "log_softmax"),
    "_softmax_single_block_forward_kernel": ("softmax", "softmax"),
    "_softmax_multi_block_forward_kernel": ("softmax", "softmax"),
    "_softmax_single_block_backward_kernel": ("softmax", "softmax backward"),
    "_softmax_multi_block_backward_kernel": ("softmax", "softmax backward"),
    "_sparsemax_forward_kernel": ("softmax", "sparsemax"),
    "_sparsemax_backward_kernel": ("softmax", "sparsemax backward"),
    "element_mul_kernel": ("elementwise", "mul"),
    "embedding_forward_kernel": ("gather", "embedding"),
    "embedding_backward_kernel": ("scatter", "embedding backward"),
}


@functools.cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        # Triton 2 appended the classes of its arguments, OpenAI's kernels layout, formats and tile.
        "classes": re.compile(r"_0(?:[dcex]|1)[\ddcex]*\Z"),
        "ogs": re.compile(
            r"(_matmul_ogs)_([NT]{3})_([a-z0-9]{1,12}x[a-z0-9]{1,12}x[a-z0-9]{1,12})_(\d+)x(\d+)x(\d+)x(\d+)(_\w+)?\Z"
        ),
        "suffix": re.compile(r"_(bf16|fp16|fp32|fp8|f16|f32|int8)\Z"),
    }


def _read_ogs(name: Name, found: re.Match[str]) -> Reading:
    """``_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1``: OpenAI's mixture-of-experts matmul."""
    reading = Reading(name)
    stem, layout, formats, m, n, k, split, epilogue = found.groups()
    output, first, second = formats.split("x", 2)
    reading.say(
        stem,
        "matrix multiplication of gathered and scattered rows (triton_kernels), for mixtures of experts",
        library="Triton",
        role="gemm",
        op="moe",
        unit="tensor_core",
    )
    reading.say(layout, "how the two inputs and the output are stored")
    reading.say(
        formats,
        f"output in {output}, inputs in {first} and {second}",
        output_dtype=SHORT_DTYPES.get(output, output),
        input_dtype=SHORT_DTYPES.get(first, first),
    )
    tile = f"{m}x{n}x{k}x{split}"
    reading.say(
        tile,
        f"output tile {m}x{n}, K tile {k}, " + ("K not split" if split == "1" else f"K split in {split}"),
        tile=f"{m}x{n}",
        tile_k=int(k),
        split_k=split != "1" or None,
    )
    if epilogue:
        reading.say(epilogue.strip("_"), "applied to the output before it is written")
    return reading


def read(name: Name, _mark: str) -> Reading | None:
    """Take the name of a hand-written Triton kernel apart; None if it is a C++ name or says nothing."""
    text = name.text.removesuffix(".kd")
    if not text.replace("_", "a").isalnum() or text.startswith("_Z"):
        return None
    if (ogs := _patterns()["ogs"].match(text)) is not None:
        return _read_ogs(name, ogs)
    classes = _patterns()["classes"].search(text)
    stem = text[: classes.start()] if classes else text
    dtype = _patterns()["suffix"].search(stem)
    bare = stem[: dtype.start()] if dtype else stem
    reading = _read_exact(name, stem) or _read_exact(name, bare) or _read_words(name, stem, marked=classes is not None)
    if reading is None:
        return None
    if dtype is not None and dtype[1] in SHORT_DTYPES:
        kind = SHORT_DTYPES[dtype[1]]
        reading.say(dtype[1], f"values in {dtype_words(kind)}", input_dtype=kind)
    if classes is not None:
        reading.say(
            classes[0].strip("_"), "Triton's argument classes: which are divisible by 16, constant or equal to 1"
        )
    _settle_unit(reading)
    return reading


def _read_exact(name: Name, stem: str) -> Reading | None:
    reading = Reading(name)
    liger = _LIGER.get(stem)
    if liger is not None:
        role, op = liger
        reading.say(stem, f"a kernel of Liger: {op}", library="Liger", role=role, op=op)
        return reading
    entry = _EXACT.get(stem)
    if entry is None:
        return None
    library = "vLLM" if stem in _VLLM else "SGLang" if stem in _SGLANG else "Triton"
    reading.say(
        stem,
        entry.meaning or entry.role,
        library=library,
        role=entry.role,
        op=entry.op,
        unit=entry.unit,
    )
    return reading


def _read_words(name: Name, stem: str, *, marked: bool) -> Reading | None:
    found = role_by_words(stem)
    if found is None and not marked:
        return None
    reading = Reading(name)
    library = "Triton" if marked or "triton" in stem or name.text.endswith(".kd") else "unknown"
    if found is None:
        reading.say(stem, "a hand-written Triton kernel; its name says no more", library=library)
        return reading
    role, piece = found
    if "triton" in stem:
        reading.say("triton", "written in Triton", library=library)
    known = library if library != "unknown" else None
    reading.say(piece, f"the word says: {role.replace('_', ' ')}", role=role, library=known)
    return reading


def _settle_unit(reading: Reading) -> None:
    if reading.get("unit") is not None:
        return
    role = reading.get("role")
    matrix = ("gemm", "convolution", "attention_forward", "attention_backward", "attention_decode")
    if role not in matrix:
        return
    proof = reading.proof("role")
    if reading.get("input_dtype") == "fp32":
        reading.add(proof, "in float32: CUDA cores unless tf32 is allowed", unit="cuda_core")
        return
    reading.add(proof, _DOT, unit="tensor_core")
    reading.note("the name does not give the format; float32 without tf32 would use CUDA cores")
