"""FlashInfer: attention, sampling and norms for LLM serving."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from foretrace.names.libraries.table import Function, read_table

if TYPE_CHECKING:
    from foretrace.names.reading import Reading
    from foretrace.names.spelling import Name

__all__ = ["read"]

_FUNCTIONS: Final[tuple[Function, ...]] = (
    Function("AppendPaged", "scatter", "cache write", "writes new keys and values into the cache"),
    Function("kv_indices", "setup", "cache indices", "lists the pages of each sequence"),
    Function("MergeState", "attention_combine", None, "merges the parts of split attention", "cuda_core"),
    Function("MergeStates", "attention_combine", None, "merges the parts of split attention", "cuda_core"),
    Function("BatchDecodeWithPagedKVCacheKernelMLA", "attention_decode", "mla", "decode with latent attention"),
    Function("BatchMLA", "attention_decode", "mla", "decode with latent attention"),
    Function("DecodeWith", "attention_decode", None, "one query over a long cache, on CUDA cores", "cuda_core"),
    Function("PrefillWith", "attention_forward", None, "attention forward"),
    Function("BatchAttention", "attention_forward", None, "attention forward"),
    Function("POD", "attention_forward", None, "prefill and decode in one launch"),
    Function("RotaryK", "elementwise", "rotary embedding", "rotates queries and keys by position"),
    Function("QKApplyRotary", "elementwise", "rotary embedding", "rotates queries and keys by position"),
    Function("Sampling", "random", "sampling", "draws tokens"),
    Function("TopK", "sort", "topk", "keeps the most likely tokens"),
    Function("FusedAddRMSNorm", "normalization", "add and rms_norm", "adds the residual, then RMS norm"),
    Function("RMSNorm", "normalization", "rms_norm", "RMS norm"),
    Function("act_and_mul", "elementwise", "act and mul", "activation of one half times the other"),
    Function("OnlineSoftmax", "softmax", None, "softmax"),
)


def read(name: Name, mark: str) -> Reading | None:
    """Take a FlashInfer name apart."""
    whole = f"{name.head} {name.body[:1500]}"
    reading = read_table(
        name,
        "FlashInfer",
        mark,
        "FlashInfer, attention for LLM serving",
        _FUNCTIONS,
        where=whole,
        why="FlashInfer's prefill multiplies on tensor cores",
    )
    if reading.get("role") == "attention_forward":
        head = re.search(r"HEAD_DIM_QK=(\d+)|head_dim_qk_(\d+)", name.text)
        if head is not None:
            limit = int(head[1] or head[2])
            reading.say(head[0], f"for head dimension {limit}", head_dim=limit)
    return reading
