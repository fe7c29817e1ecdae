"""The checks that PyTorch's fused backends put a call through, one function each.

A check looks at a call and the facts around it and gives the refusal, or None. Which backend asks which checks, in
which order and with which limits, is the release's data (``releases``). Each function names the one of PyTorch that
it stands for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.analysis.dispatch.checks_cudnn import CUDNN_CHECKS, over_grid
from foretrace.analysis.dispatch.facts import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from foretrace.analysis.dispatch.call import Call, Operand
    from foretrace.analysis.dispatch.facts import Architecture, Facts

__all__ = ["CHECKS"]

_AMPERE: Final = 8
_VOLTA: Final = 7
_HALVES: Final = ("bf16", "fp16")
_MAX_FLASH_HEAD_DIM: Final = 256
_PLANE: Final = 2
_FULL: Final = 4


def _four_dimensions(call: Call, _facts: Facts) -> Refusal | None:
    """``check_tensor_shapes``."""
    if call.is_4d:
        return None
    dims = ", ".join(str(len(operand.dims)) for operand in (call.query, call.key, call.value))
    return Refusal("other", f"fused backends take four dimensions; q, k, v have {dims}")


def _no_mask(call: Call, _facts: Facts) -> Refusal | None:
    """``check_for_attn_mask``."""
    return None if call.mask is None else Refusal("attn_mask", "a mask is given, and flash takes none")


def _mask_shape(call: Call, _facts: Facts) -> Refusal | None:
    """``check_attn_mask_shape``."""
    mask = call.mask
    if mask is None:
        return None
    if mask.requires_grad:
        return Refusal("attn_mask", "the mask requires grad")
    sizes = (call.query.dims[0], call.query.dims[1], call.query.dims[2], call.key.dims[2])
    rank = len(mask.dims)
    if rank in (_PLANE, _FULL) and all(
        size in (1, whole) for size, whole in zip(mask.dims, sizes[-rank:], strict=True)
    ):
        return None
    return Refusal("attn_mask", f"the mask's shape {list(mask.dims)} is not one it broadcasts")


def _flash_head_dim(call: Call, facts: Facts) -> Refusal | None:
    """``check_head_dim_size_flash``."""
    sizes = _head_dims(call)
    limit = facts.release.hip_head_dim if facts.arch.kind == "hip" else _MAX_FLASH_HEAD_DIM
    if len(set(sizes)) > 1:
        return Refusal("head_dim", f"q, k, v have head dims {_listed(sizes)}; flash needs one")
    if sizes[0] > limit:
        return Refusal("head_dim", f"head dim {sizes[0]} is over {limit}")
    return None


def _cpu_head_dim(call: Call, _facts: Facts) -> Refusal | None:
    """``check_head_dim_size_cpp``."""
    sizes = _head_dims(call)
    if len(set(sizes)) > 1:
        return Refusal("head_dim", f"q, k, v have head dims {_listed(sizes)}; flash needs one")
    return None


def _efficient_head_dim(call: Call, facts: Facts) -> Refusal | None:
    """``check_head_dim_size_mem_efficient``."""
    step = _alignment(call, facts.arch)
    query, key, value = _head_dims(call)
    if query != key:
        return Refusal("head_dim", f"q and k have head dims {query} and {key}; efficient needs them equal")
    for size in (query, value):
        if size % step or size == 0:
            return Refusal("head_dim", f"head dim {size} is not a multiple of {step}")
    return None


def _hip_efficient_head_dim(call: Call, facts: Facts) -> Refusal | None:
    """``check_head_dim_size_mem_efficient`` as built for HIP, where flash and efficient share their kernels."""
    shared = _flash_head_dim(call, facts)
    if shared is not None:
        return Refusal(shared.reason, shared.text.replace("flash", "efficient"))
    if not facts.release.hip_efficient_aligned:
        return None
    step = 8 if call.query.dtype in _HALVES else 4
    size = call.query.head_dim
    return Refusal("head_dim", f"head dim {size} is not a multiple of {step}") if size % step or size == 0 else None


def _efficient_offset(call: Call, facts: Facts) -> Refusal | None:
    """``check_data_ptr_alignment_mem_efficient``."""
    if facts.arch.major < _AMPERE:
        return None
    step = _alignment(call, facts.arch)
    for name, operand in (("q", call.query), ("k", call.key), ("v", call.value)):
        if operand.offset % step and 0 not in operand.dims:
            return Refusal(
                "other", f"{name} begins {operand.offset} elements into its storage, not a multiple of {step}"
            )
    return None


def _causal_lengths(call: Call, _facts: Facts) -> Refusal | None:
    """``check_flash_causal_non_square_seqlens``."""
    if call.causal and call.query.length != call.key.length:
        lengths = f"{call.query.length} and {call.key.length}"
        return Refusal("causal_lengths", f"is_causal with lengths {lengths}: flash aligns the mask bottom-right")
    return None


def _low_precision(call: Call, facts: Facts) -> Refusal | None:
    """``check_dtypes_low_precision``."""
    return _dtypes(call, _HALVES if facts.arch.kind != "cuda" or facts.arch.major >= _AMPERE else ("fp16",))


def _efficient_dtype(call: Call, facts: Facts) -> Refusal | None:
    """The dtypes of ``can_use_mem_efficient_attention``."""
    if facts.arch.kind == "hip":
        return _dtypes(call, _HALVES if facts.composable_kernel else ("fp16", "fp32", "bf16"))
    return _dtypes(call, ("fp16", "fp32", "bf16") if facts.arch.major >= _AMPERE else ("fp16", "fp32"))


def _cpu_dtype(call: Call, _facts: Facts) -> Refusal | None:
    """The dtypes of ``use_flash_attention_cpp``."""
    return _dtypes(call, ("fp32", "fp64", "bf16", "fp16"))


def _fused_architecture(_call: Call, facts: Facts) -> Refusal | None:
    """``check_flash_attention_hardware_support``, ``check_cudnn_hardware_support``."""
    if facts.arch.kind != "cuda":
        return None
    newest = facts.release.newest_arch
    if (_AMPERE, 0) <= facts.arch.capability <= newest:
        return None
    return Refusal("arch", f"{facts.arch} is outside sm80 to sm{newest[0]}{newest[1]}")


def _efficient_architecture(_call: Call, facts: Facts) -> Refusal | None:
    """``check_mem_efficient_hardware_support``."""
    newest = facts.release.newest_arch
    if facts.arch.kind != "cuda" or (5, 0) <= facts.arch.capability <= newest:
        return None
    return Refusal("arch", f"{facts.arch} is outside sm50 to sm{newest[0]}{newest[1]}")


def _small_chip_grad(call: Call, facts: Facts) -> Refusal | None:
    """``check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120``."""
    if not facts.grad or facts.arch.kind != "cuda":
        return None
    if not any(low <= facts.arch.capability <= high for low, high in facts.release.small_chips):
        return None
    size = call.query.head_dim
    if 192 < size <= 224:  # noqa: PLR2004 - the limits of FlashAttention's backward, as PyTorch writes them
        return Refusal("grad", f"flash has no backward for head dim {size} on {facts.arch}")
    if size > 224 and call.dropout > 0:  # noqa: PLR2004 - the same
        return Refusal("grad", f"flash has no backward for head dim {size} with dropout on {facts.arch}")
    return None


def _older_flash_backward(call: Call, facts: Facts) -> Refusal | None:
    """``check_requires_grad_and_head_dim_gt64_and_sm_ge86_lt90`` of the first releases with SDPA."""
    size = call.query.head_dim
    if facts.grad and facts.arch.kind == "cuda" and (8, 6) <= facts.arch.capability < (9, 0) and size > 64:  # noqa: PLR2004
        return Refusal("grad", f"torch 2.0 and 2.1 had no backward for head dim {size} on {facts.arch}")
    return None


def _stride_or_single(call: Call, facts: Facts) -> Refusal | None:
    """``check_last_dim_stride_equals_1_dense<true>``: a head dim of 1 may have any stride."""
    return _last_stride(call, facts, single=True)


def _stride(call: Call, facts: Facts) -> Refusal | None:
    """``check_last_dim_stride_equals_1_dense<false>``."""
    return _last_stride(call, facts, single=False)


def _last_stride(call: Call, facts: Facts, *, single: bool) -> Refusal | None:
    operands: list[tuple[str, Operand]] = []
    if not (single and call.query.head_dim == 1):
        operands = [("q", call.query), ("k", call.key), ("v", call.value)]
    if call.mask is not None and not (facts.arch.kind == "cpu" and facts.release.cpu_mask_any_stride):
        operands.append(("the mask", call.mask))
    for name, operand in operands:
        if operand.strides is None:
            if facts.strided:
                return Refusal("last_dim_stride", f"the last dimension of {name} may not have stride 1")
        elif operand.strides[-1] != 1:
            return Refusal("last_dim_stride", f"the last dimension of {name} has stride {operand.strides[-1]}, not 1")
    return None


def _nonzero_lengths(call: Call, _facts: Facts) -> Refusal | None:
    """``check_nonzero_sequence_lengths_dense``."""
    if call.query.length == 0 or call.key.length == 0:
        return Refusal("seq_len", "a sequence length is 0")
    return None


def _heads(call: Call, backend: str, facts: Facts) -> Refusal | None:
    """``check_batch_size_and_num_heads_dense``."""
    release = facts.release
    batches = [operand.dims[0] for operand in (call.query, call.key, call.value)]
    if len(set(batches)) > 1:
        return Refusal("other", f"q, k, v have batch sizes {_listed(batches)}; fused backends need one")
    query, key, value = (operand.heads for operand in (call.query, call.key, call.value))
    takes_gqa = backend in (release.hip_gqa if facts.arch.kind == "hip" else release.gqa)
    if call.gqa and takes_gqa:
        free = backend in release.unequal_kv_heads
        if key != value and not free:
            return Refusal("num_heads", f"k and v have {key} and {value} heads; {backend} needs them equal")
        if key == 0 or value == 0 or query % key or query % value:
            return Refusal("num_heads", f"{query} query heads are no multiple of {key} key heads")
        return None
    if query == key == value:
        return None
    takes_mqa = backend in release.mqa and not (backend == "efficient" and facts.arch.kind == "hip")
    if takes_mqa and query > 0 and key == 1 and value == 1:
        return None
    text = f"q, k, v have {query}, {key}, {value} heads"
    if call.gqa:
        return Refusal("num_heads", f"{text}; {backend} has no grouped heads in torch {release.name}")
    return Refusal("num_heads", f"{text}, without enable_gqa")


def _flash_heads(call: Call, facts: Facts) -> Refusal | None:
    return _heads(call, "flash", facts)


def _cpu_heads(call: Call, facts: Facts) -> Refusal | None:
    return _heads(call, "cpu", facts)


def _efficient_heads(call: Call, facts: Facts) -> Refusal | None:
    return _heads(call, "efficient", facts)


def _cudnn_heads(call: Call, facts: Facts) -> Refusal | None:
    return _heads(call, "cudnn", facts)


def _flash_grid(call: Call, _facts: Facts) -> Refusal | None:
    """``check_flash_attention_grid_size``."""
    return over_grid(call, "flash")


def _no_dropout(call: Call, _facts: Facts) -> Refusal | None:
    """``check_for_dropout``, on the CPU."""
    return Refusal("dropout", f"dropout {call.dropout:g}; flash on the CPU has none") if call.dropout > 0 else None


def _composable_backward(call: Call, facts: Facts) -> Refusal | None:
    """No check of PyTorch's: Composable Kernel's backward raises above head dim 128."""
    if facts.composable_kernel and facts.grad and call.query.head_dim > 128:  # noqa: PLR2004
        return Refusal("head_dim", f"Composable Kernel has no backward for head dim {call.query.head_dim}")
    return None


def _mask_dtype(call: Call, _facts: Facts) -> Refusal | None:
    """No check of PyTorch's: the kernel itself raises ``invalid dtype for bias``."""
    if call.mask is None or call.mask.dtype in ("bool", call.query.dtype):
        return None
    return Refusal("mask_dtype", f"the mask is {call.mask.dtype}; efficient takes bool or q's {call.query.dtype}")


def _efficient_strides(call: Call, facts: Facts) -> Refusal | None:
    """No check of PyTorch's: the kernel itself raises ``query is not correctly aligned``."""
    if facts.arch.kind != "cuda" or not call.is_4d:
        return None
    half = call.query.dtype in _HALVES
    # Before Ampere there are kernels for less aligned tensors too.
    step = _alignment(call, facts.arch) if facts.arch.major >= _AMPERE else 4 if half else 1
    for name, operand in (("q", call.query), ("k", call.key), ("v", call.value)):
        if operand.strides is None:
            continue
        _, of_heads, of_length, _ = operand.strides
        for what, stride in (("length", of_length), ("head dimension", of_heads if operand.heads > 1 else 0)):
            if stride % step:
                return Refusal("other", f"the {what} of {name} has stride {stride}, not a multiple of {step}")
    return None


def _head_dims(call: Call) -> tuple[int, int, int]:
    return call.query.head_dim, call.key.head_dim, call.value.head_dim


def _listed(numbers: tuple[int, ...] | list[int]) -> str:
    return ", ".join(map(str, numbers))


def _dtypes(call: Call, allowed: tuple[str, ...]) -> Refusal | None:
    """``check_tensor_dtype``."""
    given = [operand.dtype for operand in (call.query, call.key, call.value)]
    if len(set(given)) > 1:
        return Refusal("dtype", f"q, k, v are {', '.join(given)}; they must be of one dtype")
    if given[0] not in allowed:
        return Refusal("dtype", f"{given[0]} is none of {', '.join(allowed)}")
    return None


def _alignment(call: Call, arch: Architecture) -> int:
    """``minimum_gemm_alignment``, in elements."""
    half = call.query.dtype in _HALVES
    step = 4 if arch.major >= _AMPERE else 1
    tensor_cores = arch.major >= _AMPERE or (arch.major >= _VOLTA and half)
    return max(step, 128 // (16 if half else 32)) if tensor_cores else step


CHECKS: Final[Mapping[str, Callable[[Call, Facts], Refusal | None]]] = {
    "four_dimensions": _four_dimensions,
    "no_mask": _no_mask,
    "mask_shape": _mask_shape,
    "mask_dtype": _mask_dtype,
    "flash_head_dim": _flash_head_dim,
    "cpu_head_dim": _cpu_head_dim,
    "efficient_head_dim": _efficient_head_dim,
    "hip_efficient_head_dim": _hip_efficient_head_dim,
    "efficient_offset": _efficient_offset,
    "efficient_strides": _efficient_strides,
    "causal_lengths": _causal_lengths,
    "low_precision": _low_precision,
    "efficient_dtype": _efficient_dtype,
    "cpu_dtype": _cpu_dtype,
    "fused_architecture": _fused_architecture,
    "efficient_architecture": _efficient_architecture,
    "small_chip_grad": _small_chip_grad,
    "older_flash_backward": _older_flash_backward,
    "stride_or_single": _stride_or_single,
    "stride": _stride,
    "nonzero_lengths": _nonzero_lengths,
    "flash_heads": _flash_heads,
    "efficient_heads": _efficient_heads,
    "cudnn_heads": _cudnn_heads,
    "cpu_heads": _cpu_heads,
    "flash_grid": _flash_grid,
    **CUDNN_CHECKS,
    "no_dropout": _no_dropout,
    "composable_backward": _composable_backward,
}
