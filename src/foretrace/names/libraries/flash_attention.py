"""FlashAttention 2, 3 and 4, and the copy of FlashAttention 2 that PyTorch ships (``pytorch_flash::``).

pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, ...bfloat16_t...>, ...>   (2)
cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<...  (3)
kernel_cutlass_..flash_attncuteflash_fwd..FlashAttentionForwardSm100_object_at_..                   (4)
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final

from foretrace.names.dtypes import SHORT_DTYPES, cpp_dtype, dtype_words, first_cpp_dtype
from foretrace.names.reading import Reading
from foretrace.names.spelling import template_arguments

if TYPE_CHECKING:
    from foretrace.names.spelling import Name

__all__ = ["read"]

# Functions of FlashAttention 2: (start, role, op, multiplies matrices, meaning). Longer before shorter.
_FUNCTIONS: Final[tuple[tuple[str, str, str | None, bool, str], ...]] = (
    ("flash_fwd_splitkv_combine", "attention_combine", None, False, "merges the parts of a split forward"),
    ("flash_fwd_splitkv_mla", "attention_decode", "mla", True, "decode with latent attention (MLA)"),
    ("flash_fwd_splitkv", "attention_forward", None, True, "forward, keys split over several blocks"),
    ("flash_fwd_mla_combine", "attention_combine", None, False, "merges the parts of a split decode"),
    ("flash_fwd", "attention_forward", None, True, "forward"),
    ("flash_bwd_dot_do_o", "attention_backward", "dot(dO, O)", False, "row sums of dO * O, before the backward"),
    ("flash_bwd_convert_dq", "attention_backward", "convert dQ", False, "writes dQ in the output's format"),
    ("flash_bwd_convert_dkv", "attention_backward", "convert dK, dV", False, "writes dK and dV"),
    ("flash_bwd_clear", "attention_backward", "clear", False, "clears the accumulators"),
    ("flash_bwd", "attention_backward", None, True, "backward: dQ, dK and dV"),
    ("compute_attn_ws", "attention_forward", None, True, "forward, warp-specialized"),
    ("compute_dq_dk_dv_ws", "attention_backward", None, True, "backward, warp-specialized"),
    ("prepare_varlen", "setup", None, False, "counts the blocks of sequences of different lengths"),
    ("get_mla_metadata", "setup", None, False, "plans the split of a decode"),
)

# Classes of FlashAttention 3 and 4, found anywhere in the name: (mark, role, op, multiplies matrices, meaning).
_CLASSES: Final[tuple[tuple[str, str, str | None, bool, str], ...]] = (
    ("FlashAttnFwdCombine", "attention_combine", None, False, "merges the parts of a split forward"),
    ("FlashAttentionForwardCombine", "attention_combine", None, False, "merges the parts of a split forward"),
    ("FlashAttnBwdPreprocess", "attention_backward", "dot(dO, O)", False, "row sums of dO * O"),
    ("FlashAttentionBackwardPreprocess", "attention_backward", "dot(dO, O)", False, "row sums of dO * O"),
    ("FlashAttnBwdPostprocess", "attention_backward", "convert dQ", False, "writes dQ in the output's format"),
    ("FlashAttentionBackwardPostprocess", "attention_backward", "convert dQ", False, "writes dQ"),
    ("FlashAttnBwd", "attention_backward", None, True, "backward: dQ, dK and dV"),
    ("FlashAttentionBackward", "attention_backward", None, True, "backward: dQ, dK and dV"),
    ("FlashAttnFwd", "attention_forward", None, True, "forward"),
    ("FlashAttentionForward", "attention_forward", None, True, "forward"),
    ("FlashAttentionMLA", "attention_decode", "mla", True, "decode with latent attention (MLA)"),
)

# Template flags of the forward and backward kernels whose meaning did not move between releases.
_CAUSAL: Final = ("without a causal mask", "with a causal mask")


@functools.cache
def _patterns() -> dict[str, re.Pattern[str]]:
    return {
        "traits": re.compile(r"Flash_(fwd|bwd)_kernel_traits(?:_\w+)?<"),
        "arch": re.compile(r"(?:arch::)?[Ss]m_?(\d{2,3})(?!\d)"),
        "tile": re.compile(r"cute::tuple<cute::C<(\d+)>, cute::C<(\d+)>, cute::C<(\d+)>"),
        "head": re.compile(r"(?:headdim|hdim|hd)_?(\d+)"),
        "cute_dtype": re.compile(r"(?:tensorptr|ptr|_)(bf16|f16|fp16|e4m3|f8E4M3FN)"),
        "suffix": re.compile(r"_(bf16|fp16|f16|e4m3)\b"),
    }


def read(name: Name, _mark: str) -> Reading | None:
    """Take a FlashAttention name apart; None if it is none."""
    body = name.text if not name.text.startswith("_Z") else f"{name.head} {name.body}"
    reading = Reading(name)
    for entry in _CLASSES:
        if entry[0] in body:
            _say_class(reading, body, entry)
            return reading
    for start, role, op, matrix, meaning in _FUNCTIONS:
        if name.base.startswith(start):
            _say_function(reading, name, (role, op, matrix, meaning))
            return reading
    return None


def _say_function(reading: Reading, name: Name, entry: tuple[str, str | None, bool, str]) -> None:
    role, op, matrix, meaning = entry
    patterns = _patterns()
    base = name.base
    third = base.startswith(("compute_attn_ws", "compute_dq_dk_dv_ws", "prepare_varlen"))
    mla = "mla" in base
    library = "FlashMLA" if mla else "FlashAttention 3" if third else "FlashAttention 2"
    owner = name.head.rpartition("::")[0]
    if owner == "pytorch_flash":
        reading.say(owner, "the FlashAttention 2 that PyTorch ships", library=library)
    elif owner:
        reading.say(owner, f"{library}, from the flash-attn package or a copy of it", library=library)
    split = True if "splitkv" in base else None
    unit = ("tensor_core" if matrix else "cuda_core") if role != "setup" else None
    instruction = None
    if matrix:
        # FlashAttention 2 is written with mma 16x8x16 for all architectures; 3 and MLA with wgmma.
        instruction = "wgmma" if third or mla else "mma 16x8x16"
        meaning += f", on tensor cores ({instruction})"
    elif role != "setup":
        meaning += ": no matrix multiplication, so CUDA cores"
    reading.say(
        base,
        meaning,
        library=library,
        role=role,
        op=op,
        unit=unit,
        instruction=instruction,
        split_k=split,
    )
    _say_traits(reading, name.text, base)
    if (arch := patterns["arch"].search(name.body)) is not None:
        reading.say(arch[0], f"for compute capability {int(arch[1]) // 10}.{int(arch[1]) % 10}", arch=f"sm{arch[1]}")
    if reading.get("head_dim") is None and (head := patterns["head"].search(name.body)) is not None:
        reading.say(head[0], f"for head dimensions up to {head[1]}", head_dim=int(head[1]))
    if reading.get("input_dtype") is None and (dtype := patterns["suffix"].search(base)) is not None:
        reading.say(dtype[1], f"inputs in {dtype_words(SHORT_DTYPES[dtype[1]])}", input_dtype=SHORT_DTYPES[dtype[1]])


def _say_traits(reading: Reading, text: str, base: str) -> None:
    """``Flash_fwd_kernel_traits<head, queries, keys, warps, ..., format, ...>`` and the flags after it."""
    found = _patterns()["traits"].search(text)
    if found is None:
        return
    arguments = template_arguments(text, found.end() - 1, 12)
    if len(arguments) < 4 or not all(a.isdigit() for a in arguments[:4]):  # noqa: PLR2004
        return
    head, rows, columns, warps = arguments[:4]
    reading.say(head, f"for head dimensions up to {head}", head_dim=int(head))
    reading.say(
        f"{rows}, {columns}",
        f"one block holds {rows} queries and walks over the keys {columns} at a time",
        tile=f"{rows}x{columns}",
    )
    reading.say(warps, f"{warps} warps a block")
    for argument in arguments[4:]:
        dtype = cpp_dtype(argument)
        if dtype is not None and dtype not in ("bool", "int32"):
            reading.say(argument, f"inputs in {dtype_words(dtype)}", input_dtype=dtype)
            break
    if base in ("flash_fwd_kernel", "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel"):
        _say_flags(reading, text)
    elif base == "flash_fwd_splitkv_kernel":
        _say_flags(reading, text, causal_at=0)


def _say_flags(reading: Reading, text: str, causal_at: int = 1) -> None:
    outer = template_arguments(text, text.find("<"), 12)
    flags = outer[1:]
    if len(flags) <= causal_at or any(f not in ("true", "false") for f in flags[: causal_at + 1]):
        return
    if causal_at == 1:
        reading.say(flags[0], f"first flag: {'with' if flags[0] == 'true' else 'without'} dropout")
    which = ("first", "second")[causal_at]
    reading.say(flags[causal_at], f"{which} flag: {_CAUSAL[flags[causal_at] == 'true']}")


def _say_class(reading: Reading, body: str, entry: tuple[str, str, str | None, bool, str]) -> None:
    mark, role, op, matrix, meaning = entry
    patterns = _patterns()
    fourth = mark.startswith("FlashAttention")
    library = "FlashAttention 4" if fourth else "FlashAttention 3"
    start = body.find(mark)
    piece = mark
    tail = body[start + len(mark) : start + len(mark) + 8]
    number = re.match(r"Sm(\d{2,3})", tail)
    arch = int(number[1]) if number else None
    if number:
        piece += number[0]
    elif (elsewhere := patterns["arch"].search(body)) is not None:
        arch = int(elsewhere[1])
    instruction = None
    unit = "cuda_core"
    if matrix:
        unit = "tensor_core"
        instruction = _instruction(arch, fourth=fourth)
        meaning += ", on tensor cores" + (f" ({instruction})" if instruction else "")
    else:
        meaning += ": no matrix multiplication, so CUDA cores"
    reading.say(piece, meaning, library=library, role=role, op=op, unit=unit, instruction=instruction)
    if arch is not None:
        text = number[0] if number else patterns["arch"].search(body)[0]  # type: ignore[index]
        reading.say(text, f"for compute capability {arch // 10}.{arch % 10}", arch=f"sm{arch}")
    if (tile := patterns["tile"].search(body, start)) is not None and int(tile[1]) > 1:
        _say_tile(reading, tile)
    elif tile is not None and (second := patterns["tile"].search(body, tile.end())) is not None:
        # The first triple is the cluster.
        _say_tile(reading, second)
    dtype = first_cpp_dtype(body, start) if not fourth else None
    if dtype is not None and dtype[1] in ("bf16", "fp16", "fp8_e4m3"):
        reading.say(dtype[0], f"inputs in {dtype_words(dtype[1])}", input_dtype=dtype[1])
    elif (cute := patterns["cute_dtype"].search(body, start)) is not None:
        kind = SHORT_DTYPES.get(cute[1], "fp8_e4m3")
        reading.say(cute[1], f"inputs in {dtype_words(kind)}", input_dtype=kind)


def _instruction(arch: int | None, *, fourth: bool) -> str | None:
    if arch is None:
        return None if fourth else "wgmma"
    if arch >= 120 or arch < 90:  # noqa: PLR2004
        return "mma 16x8x16"
    return "tcgen05" if arch >= 100 else "wgmma"  # noqa: PLR2004


def _say_tile(reading: Reading, tile: re.Match[str]) -> None:
    rows, columns, head = tile.groups()
    reading.say(
        tile[0],
        f"one block holds {rows} queries and walks over the keys {columns} at a time; head dimension {head}",
        tile=f"{rows}x{columns}",
        head_dim=int(head),
    )
