"""One call of ``scaled_dot_product_attention``, as far as dispatch looks at it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from foretrace.errors import UsageError
from foretrace.names.dtypes import CPP_DTYPES, SHORT_DTYPES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "LAYOUTS",
    "MASKS",
    "Call",
    "Operand",
    "call_from_case",
    "contiguous",
    "dtype_from",
    "laid_out",
    "mask_of",
    "recorded_dtype",
]

_TORCH_DTYPES: Final = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "float32": "fp32",
    "float64": "fp64",
    "float8_e4m3fn": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2",
    "int64": "int64",
    "long": "int64",
    "int32": "int32",
}

# How a trace spells types that C++ names in several words.
_RECORDED: Final = {
    "long int": "int64",
    "long unsigned int": "uint64",
    "unsigned int": "uint32",
    "short int": "int16",
    "short unsigned int": "uint16",
    "unsigned short": "uint16",
}

LAYOUTS: Final = ("contig", "bshd", "sliced", "dlast_strided")
"""``contig`` as [B, H, L, D]; ``bshd`` a transposed view of [B, L, H, D]; ``sliced`` the last dimension cut from
D + 8; ``dlast_strided`` transposed from [B, H, D, L]."""

MASKS: Final = ("none", "bool", "float", "pad_expanded", "float_bh", "float_fp32", "float_grad")
"""``bool`` and ``float`` are [Lq, Lk]; ``pad_expanded`` is bool [B, 1, Lq, Lk] expanded from [1, 1, 1, Lk];
``float_bh`` is [B, H, Lq, Lk]; ``float_fp32`` float32 whatever q is; ``float_grad`` requires grad."""

_SLICED_BY: Final = 8
_RANK: Final = 4


def dtype_from(text: str) -> str:
    """The one word for a dtype (``bf16``, ``fp32``, ``bool``, ...), from any spelling of it.

    Raises:
        UsageError: it is no dtype known here.
    """
    bare = text.removeprefix("torch.")
    for table in (_TORCH_DTYPES, SHORT_DTYPES, CPP_DTYPES):
        if bare in table:
            return table[bare]
    if bare in CPP_DTYPES.values():
        return bare
    raise UsageError(f"{text!r} is no dtype; give bf16, fp16, fp32 or fp64.")


def recorded_dtype(spelled: object) -> str:
    """The one word for a dtype as a trace spells it (``c10::BFloat16``, ``BFloat16``); unknown ones as they are."""
    if not isinstance(spelled, str):
        return ""
    for text in (spelled, spelled.lower()):
        for table in (CPP_DTYPES, _RECORDED, _TORCH_DTYPES):
            if text in table:
                return table[text]
    return spelled


def contiguous(dims: Sequence[int]) -> tuple[int, ...]:
    """The strides of a contiguous tensor, in elements."""
    strides = [1] * len(dims)
    for at in range(len(dims) - 2, -1, -1):
        strides[at] = strides[at + 1] * max(1, dims[at + 1])
    return tuple(strides)


@dataclass(frozen=True)
class Operand:
    """A tensor given to the call."""

    dims: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...] | None = None
    """In elements; None is not known."""
    offset: int = 0
    """Where it begins in its storage, in elements."""
    requires_grad: bool = False

    @property
    def head_dim(self) -> int:
        """The last size."""
        return self.dims[-1]

    @property
    def length(self) -> int:
        """The sequence length."""
        return self.dims[-2]

    @property
    def heads(self) -> int:
        """The number of heads; 1 where there is no such dimension."""
        return self.dims[-3] if len(self.dims) > 2 else 1  # noqa: PLR2004 - [..., heads, length, head dim]


@dataclass(frozen=True)
class Call:
    """The arguments of one call."""

    query: Operand
    key: Operand
    value: Operand
    mask: Operand | None = None
    causal: bool = False
    dropout: float = 0.0
    grad: bool | None = False
    """Query, key or value requires grad while gradients are recorded; None is not known."""
    gqa: bool = False
    """``enable_gqa``."""

    @property
    def is_4d(self) -> bool:
        """Query, key and value are all [B, H, L, D]."""
        return all(len(operand.dims) == _RANK for operand in (self.query, self.key, self.value))


def laid_out(dims: Sequence[int], layout: str) -> tuple[int, ...]:
    """The strides of a tensor [B, H, L, D] in one of ``LAYOUTS``.

    Raises:
        UsageError: there is no such layout, or the tensor has not four dimensions.
    """
    if layout == "contig":
        return contiguous(dims)
    if layout not in LAYOUTS:
        raise UsageError(f"{layout!r} is no layout; give {', '.join(LAYOUTS)}.")
    if len(dims) != _RANK:
        raise UsageError(f"the layout {layout!r} needs [B, H, L, D], not {len(dims)} dimensions.")
    _, heads, length, size = dims
    if layout == "bshd":
        return (length * heads * size, size, heads * size, 1)
    if layout == "sliced":
        row = size + _SLICED_BY
        return (heads * length * row, length * row, row, 1)
    return (heads * size * length, size * length, 1, length)


def mask_of(kind: str, query: Operand, key: Operand) -> Operand | None:
    """A mask of one of ``MASKS`` for this query and key.

    Raises:
        UsageError: there is no such kind.
    """
    plane = (query.length, key.length)
    batch = query.dims[0] if len(query.dims) == _RANK else 1
    if kind == "none":
        return None
    if kind == "bool":
        return Operand(plane, "bool", contiguous(plane))
    if kind == "pad_expanded":
        return Operand((batch, 1, *plane), "bool", (0, 0, 0, 1))
    if kind == "float_bh":
        full = (batch, query.heads, *plane)
        return Operand(full, query.dtype, contiguous(full))
    if kind in ("float", "float_grad"):
        return Operand(plane, query.dtype, contiguous(plane), requires_grad=kind == "float_grad")
    if kind == "float_fp32":
        return Operand(plane, "fp32", contiguous(plane))
    raise UsageError(f"{kind!r} is no kind of mask; give {', '.join(MASKS)}.")


def call_from_case(case: Mapping[str, Any]) -> Call:
    """A call from its flat form: ``dtype, b, h, hk, lq, lk, d, dv, mask, causal, dropout, grad, gqa, layout``.

    ``hk``, ``lk`` and ``dv`` default to ``h``, ``lq`` and ``d``; the rest to a plain call.

    Raises:
        UsageError: a key is missing, unknown, or holds what it cannot.
    """
    known = {"dtype", "b", "h", "hk", "lq", "lk", "d", "dv", "mask", "causal", "dropout", "grad", "gqa", "layout"}
    if unknown := set(case) - known:
        raise UsageError(f"a case has no key {min(map(repr, unknown))}; the keys are {', '.join(sorted(known))}.")
    batch, heads, length, size = (_size(case, key) for key in ("b", "h", "lq", "d"))
    key_heads, key_length = _size(case, "hk", heads), _size(case, "lk", length)
    value_size = _size(case, "dv", size)
    layout = _text(case, "layout", "contig")
    dtype = dtype_from(_text(case, "dtype", None))

    def operand(*dims: int) -> Operand:
        return Operand(dims, dtype, laid_out(dims, layout))

    query = operand(batch, heads, length, size)
    key = operand(batch, key_heads, key_length, size)
    return Call(
        query=query,
        key=key,
        value=operand(batch, key_heads, key_length, value_size),
        mask=mask_of(_text(case, "mask", "none"), query, key),
        causal=_flag(case, "causal"),
        dropout=_share(case, "dropout"),
        grad=_flag(case, "grad"),
        gqa=_flag(case, "gqa"),
    )


def _size(case: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = case.get(key, default)
    if value is None:
        raise UsageError(f"the case lacks {key!r}.")
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError(f"{key!r} is {value!r} in the case; give a whole number, 0 or more.")
    return value


def _text(case: Mapping[str, Any], key: str, default: str | None) -> str:
    value = case.get(key, default)
    if value is None:
        raise UsageError(f"the case lacks {key!r}.")
    if not isinstance(value, str):
        raise UsageError(f"{key!r} is {value!r} in the case; give text.")
    return value


def _flag(case: Mapping[str, Any], key: str) -> bool:
    value = case.get(key, False)
    if not isinstance(value, bool):
        raise UsageError(f"{key!r} is {value!r} in the case; give true or false.")
    return value


def _share(case: Mapping[str, Any], key: str) -> float:
    value = case.get(key, 0.0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1 or math.isnan(value):
        raise UsageError(f"{key!r} is {value!r} in the case; give a number from 0 to 1.")
    return float(value)
