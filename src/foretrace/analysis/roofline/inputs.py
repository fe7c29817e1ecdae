"""An op's recorded inputs as values: tensors with shape, dtype and strides, lists of them, and scalars."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foretrace.analysis.dispatch.call import recorded_dtype
from foretrace.analysis.roofline.work import element_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Inputs", "Tensor", "total_bytes"]

_SCALARS = ("Scalar", "ScalarList", "")
_LISTS = ("TensorList", "GenericList")


@dataclass(frozen=True)
class Tensor:
    """A tensor that an op was given, or gives."""

    dims: tuple[int, ...]
    dtype: str
    strides: tuple[int, ...] | None = None

    @property
    def numel(self) -> int:
        """Elements, repeated ones too."""
        return math.prod(self.dims)

    @property
    def distinct(self) -> int:
        """Elements that lie at different places: a dimension of stride 0 repeats, and windows may overlap."""
        if self.strides is None or len(self.strides) != len(self.dims) or 0 in self.dims:
            return self.numel
        apart = math.prod(size for size, step in zip(self.dims, self.strides, strict=True) if step)
        span = 1 + sum((size - 1) * abs(step) for size, step in zip(self.dims, self.strides, strict=True))
        return min(apart, span)

    @property
    def bytes(self) -> int | None:
        """Bytes of its distinct elements; None where the dtype is not known."""
        size = element_bytes(self.dtype)
        return None if size is None else math.ceil(self.distinct * size)


def total_bytes(*tensors: Tensor | None) -> int | None:
    """The bytes of several tensors, those that are None left out; None where one's dtype is not known."""
    total = 0
    for tensor in tensors:
        if tensor is None:
            continue
        size = tensor.bytes
        if size is None:
            return None
        total += size
    return total


def _sizes(value: Any) -> tuple[int, ...] | None:
    if isinstance(value, list | tuple) and all(isinstance(size, int) and not isinstance(size, bool) for size in value):
        return tuple(value)
    return None


@dataclass(frozen=True)
class Inputs:
    """The recorded inputs of one op, by position."""

    dims: tuple[Any, ...]
    types: tuple[Any, ...]
    strides: tuple[Any, ...]
    concrete: tuple[Any, ...]
    list_dtype: str = ""
    """Of the tensors in lists, whose dtypes a trace does not give; empty where nothing else tells it."""

    @staticmethod
    def of(
        dims: Sequence[Any],
        types: Sequence[Any] | None = None,
        strides: Sequence[Any] | None = None,
        concrete: Sequence[Any] | None = None,
        list_dtype: str = "",
    ) -> Inputs:
        """From the lists that a trace has (``Input Dims``, ``Input type``, ``Input Strides``, ``Concrete Inputs``)."""
        return Inputs(tuple(dims), tuple(types or ()), tuple(strides or ()), tuple(concrete or ()), list_dtype)

    def _type(self, at: int) -> str | None:
        """The recorded type; None where types were not recorded at all."""
        if not self.types:
            return None
        kind = self.types[at] if at < len(self.types) else ""
        return kind if isinstance(kind, str) else ""

    def tensor(self, at: int) -> Tensor | None:
        """The tensor at a position; None where there is none."""
        if at >= len(self.dims):
            return None
        kind = self._type(at)
        sizes = _sizes(self.dims[at])
        if sizes is None or kind in _SCALARS or kind in _LISTS or (kind is None and not sizes):
            return None
        steps = _sizes(self.strides[at]) if at < len(self.strides) else None
        return Tensor(sizes, recorded_dtype(kind), steps if steps is not None and len(steps) == len(sizes) else None)

    def tensors(self, at: int) -> tuple[Tensor, ...] | None:
        """The list of tensors at a position; None where its shapes were not recorded."""
        if at >= len(self.dims) or not isinstance(self.dims[at], list | tuple):
            return None
        shapes = [_sizes(each) for each in self.dims[at]]
        if not shapes or any(shape is None for shape in shapes):
            return None
        lists = self.strides[at] if at < len(self.strides) and isinstance(self.strides[at], list | tuple) else ()
        steps = [_sizes(each) for each in lists] if len(lists) == len(shapes) else [None] * len(shapes)
        return tuple(
            Tensor(shape, self.list_dtype, step) for shape, step in zip(shapes, steps, strict=True) if shape is not None
        )

    def all_tensors(self) -> list[Tensor]:
        """Every tensor, lists left out."""
        return [tensor for at in range(len(self.dims)) if (tensor := self.tensor(at)) is not None]

    @property
    def has_scalars(self) -> bool:
        """Scalar arguments were recorded."""
        return bool(self.concrete)

    def text(self, at: int) -> str:
        """The scalar at a position as the file has it; empty where there is none."""
        value = self.concrete[at] if at < len(self.concrete) else ""
        return value if isinstance(value, str) else ""

    def flag(self, at: int) -> bool | None:
        """The truth value at a position; None where it was not recorded."""
        return {"True": True, "False": False}.get(self.text(at))

    def number(self, at: int) -> float | None:
        """The number at a position; None where it was not recorded."""
        try:
            value = float(self.text(at))
        except ValueError:
            return None
        return value if math.isfinite(value) else None

    def whole(self, at: int) -> int | None:
        """The whole number at a position; None where it was not recorded."""
        text = self.text(at)
        return int(text) if text.lstrip("-").isdigit() and text.isascii() else None

    def wholes(self, at: int) -> tuple[int, ...] | None:
        """The list of whole numbers at a position, e.g. a padding; None where it was not recorded."""
        text = self.text(at)
        if not text.startswith("["):
            one = self.whole(at)
            return None if one is None else (one,)
        try:
            return _sizes(json.loads(text))
        except ValueError:
            return None

    def flags(self, at: int) -> tuple[bool, ...] | None:
        """The list of truth values at a position; None where it was not recorded."""
        text = self.text(at)
        if not (text.startswith("[") and text.endswith("]")):
            return None
        words = [word.strip() for word in text[1:-1].split(",") if word.strip()]
        known = {"True": True, "False": False}
        return tuple(known[word] for word in words) if all(word in known for word in words) else None
