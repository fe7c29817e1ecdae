"""The facts of a kernel in words: a label of at most 40 characters, and one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from foretrace.names.decoded import MATRIX_ROLES
from foretrace.names.dtypes import dtype_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["LABEL_WIDTH", "role_words", "sentence", "short_label", "unit_words"]

LABEL_WIDTH: Final = 40

# What a table column has room for.
_SHORT_LIBRARY: Final[dict[str, str]] = {
    "cuBLASLt nvjet": "nvjet",
    "memory-efficient (xformers)": "mem-efficient",
    "FlashAttention 2": "flash",
    "FlashAttention 3": "flash 3",
    "FlashAttention 4": "flash 4",
    "Inductor Triton": "Inductor",
    "Composable Kernel": "CK",
    "hipBLASLt/Tensile": "Tensile",
}

_ROLE: Final[dict[str, str]] = {
    "gemm": "a matrix multiplication",
    "convolution": "a convolution",
    "attention_forward": "the forward pass of attention",
    "attention_backward": "the backward pass of attention",
    "attention_decode": "attention of few new tokens over a long cache (decode)",
    "attention_combine": "the merge of partial attention results",
    "softmax": "a softmax",
    "normalization": "a normalization",
    "reduction": "a reduction",
    "elementwise": "an elementwise kernel",
    "copy": "a copy",
    "cast": "a conversion of number format",
    "memset": "a fill with a constant",
    "gather": "a gather",
    "scatter": "a scatter",
    "sort": "a sort or selection",
    "random": "a kernel that draws random numbers",
    "optimizer": "an optimizer step",
    "communication": "communication between devices",
    "fft": "a Fourier transform",
    "solver": "a step of a linear solver or factorization",
    "recurrent": "a recurrent cell (LSTM, GRU)",
    "setup": "preparation of indices or descriptors for another kernel",
    "other": "a kernel whose name does not say what it computes",
}

_GEMM_NOUN: Final = {"gemv": "GEMV", "dot": "dot product", "grouped": "grouped GEMM", "moe": "MoE GEMM"}

_CONVOLUTION_WORDS: Final = {
    "fprop": "forward",
    "dgrad": "gradient of the input",
    "wgrad": "gradient of the weights",
}

_UNIT: Final = {
    "tensor_core": "on tensor cores",
    "cuda_core": "on CUDA cores",
    "none": "moves data, computes nothing",
    "unknown": "on a unit that the name does not give",
}


def role_words(role: str) -> str:
    """A role as a noun with its article."""
    return _ROLE[role]


def unit_words(unit: str) -> str:
    """A unit as the end of a sentence."""
    return _UNIT[unit]


def _cut(text: str) -> str:
    return text if len(text) <= LABEL_WIDTH else text[: LABEL_WIDTH - 1].rstrip(" ,:") + "…"


def _listed(prefix: str, words: Sequence[str]) -> str:
    """As many words as fit the label, and how many more there are."""
    kept: list[str] = []
    for word in words:
        rest = len(words) - len(kept) - 1
        tail = f" +{rest}" if rest else ""
        if len(prefix + ", ".join([*kept, word]) + tail) <= LABEL_WIDTH:
            kept.append(word)
    rest = len(words) - len(kept)
    if not kept:
        return _cut(prefix.rstrip(": "))
    return prefix + ", ".join(kept) + (f" +{rest}" if rest else "")


# Operations that Inductor names and that move or compute nothing by themselves.
_SILENT: Final = frozenset(
    {
        *("view", "_unsafe_view", "permute", "transpose", "t", "expand", "unsqueeze", "squeeze", "slice", "select"),
        *("split", "reshape", "clone", "alias", "detach", "_to_copy", "as_strided", "unbind", "split_with_sizes"),
    }
)


def _telling_first(operations: Sequence[str], lead: str | None) -> list[str]:
    """The operation that gave the role first, those that only reshape last."""
    rank = {True: 0, False: 1}
    return sorted(operations, key=lambda op: (rank[op == lead], op in _SILENT))


def short_label(facts: Mapping[str, Any]) -> str:
    """A readable label: ``bf16 GEMM 256x128, nvjet``, ``elementwise: masked_fill``."""
    role = facts["role"]
    op = facts.get("op")
    library = facts["library"]
    maker = _SHORT_LIBRARY.get(library, library)
    dtype = facts.get("input_dtype")
    if role in ("gemm", "convolution"):
        noun = _GEMM_NOUN.get(op or "", "GEMM") if role == "gemm" else f"conv {op or ''}".strip()
        where = "CUDA cores" if facts["unit"] == "cuda_core" else maker if library != "unknown" else ""
        label = " ".join(p for p in (dtype, noun, facts.get("tile")) if p) + (f", {where}" if where else "")
        if len(label) > LABEL_WIDTH:
            label = " ".join(p for p in (dtype, noun) if p) + f", {where}"
        return _cut(label)
    if role.startswith("attention"):
        family = "flex" if library == "Inductor Triton" else maker if library != "unknown" else ""
        step = role.removeprefix("attention_")
        if op:
            step += f": {op}"
        head = f"d{facts['head_dim']}" if facts.get("head_dim") else None
        for parts in ((dtype, head), (dtype,), ()):
            label = " ".join(p for p in (family, "attention", step, *parts) if p)
            if len(label) <= LABEL_WIDTH:
                return label
        return _cut(label)
    fused = facts.get("fused_ops") or ()
    if fused:
        telling = [operation for operation in fused if operation not in _SILENT] or fused
        return _listed(f"fused {role}: ", _telling_first(telling, facts.get("lead")))
    if role == "other":
        return _cut(f"unnamed ({maker})" if library != "unknown" and not op else op or "unknown kernel")
    return _cut(f"{role}: {op}" if op else role)


# The libraries whose labels read badly in a sentence.
_MAKERS: Final = {
    "memory-efficient (xformers)": "xformers (memory-efficient attention)",
    "cuBLASLt nvjet": "cuBLASLt (nvjet)",
    "Inductor Triton": "Inductor, in Triton",
    "hipBLASLt/Tensile": "hipBLASLt or rocBLAS (Tensile)",
}


def _plural(dtype: str) -> str:
    return "16-bit floats" if dtype == "16-bit" else dtype_words(dtype)


def _precision(facts: Mapping[str, Any]) -> str:
    dtype, accumulate, output = (facts.get(k) for k in ("input_dtype", "accumulate_dtype", "output_dtype"))
    text = f" in {_plural(dtype)}" if dtype else ""
    if facts["role"] == "cast":
        text = f" from {dtype_words(dtype)}" if dtype else ""
        return text + (f" to {dtype_words(output)}" if output else "")
    if accumulate and accumulate != dtype:
        text += f", accumulated in {dtype_words(accumulate)}"
    if output and output not in (dtype, accumulate):
        text += f", written as {dtype_words(output)}"
    return text


def sentence(facts: Mapping[str, Any], notes: Sequence[str]) -> str:
    """One sentence that says what the kernel is."""
    role = facts["role"]
    op = facts.get("op")
    text = _ROLE[role]
    if role == "gemm" and op == "gemv":
        text = "a matrix-vector product"
    elif role == "gemm" and op == "dot":
        text = "a dot product"
    elif role == "gemm" and op in ("grouped", "moe"):
        text = "a grouped matrix multiplication (one per expert or group)"
    elif role == "convolution" and op:
        text += f" ({_CONVOLUTION_WORDS.get(op, op)})"
    elif len(facts.get("fused_ops") or ()) > 1:
        text += f" fused from {', '.join(facts['fused_ops'])}"
    elif op or facts.get("fused_ops"):
        text += f" ({op or facts['fused_ops'][0]})"
    text += _precision(facts)
    unit, instruction = facts["unit"], facts.get("instruction")
    if unit == "tensor_core":
        text += f", on {'matrix' if facts.get('matrix_cores') else 'tensor'} cores"
        text += f" ({instruction})" if instruction else ""
    elif unit == "cuda_core" and role in ("gemm", "convolution", "recurrent"):
        text += ", on CUDA cores, not on tensor cores"
    if facts.get("head_dim"):
        text += f", for head dimensions up to {facts['head_dim']}"
    if facts.get("split_k") and role in MATRIX_ROLES and role != "attention_combine":
        keys = "the keys" if role.startswith("attention") else "K"
        text += f", split over {keys}"
    maker = facts["library"]
    text += f"; by {_MAKERS.get(maker, maker)}" if maker not in ("unknown", "driver") else ""
    for note in notes:
        text += f"; {note}"
    return text[0].upper() + text[1:] + "."
