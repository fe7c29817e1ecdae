"""Recorded input shapes, dtypes and strides of ops, from their interned JSON text."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from foretrace.trace.raw import MISSING32

if TYPE_CHECKING:
    from foretrace.trace.model import Trace

__all__ = ["op_inputs", "shapes_text"]


@lru_cache(maxsize=65536)
def _parsed(text: str) -> tuple[Any, ...]:
    try:
        value = json.loads(text)
    except ValueError:
        return ()
    return tuple(value) if isinstance(value, list) else ()


def _column(trace: Trace, column: Any, op: int) -> tuple[Any, ...] | None:
    at = int(column[op])
    return None if at == MISSING32 else _parsed(trace.strings[at])


def op_inputs(trace: Trace, op: int) -> dict[str, tuple[Any, ...] | None]:
    """An op's recorded inputs: ``dims``, ``types``, ``strides``, ``concrete``; None where they were not recorded."""
    ops = trace.ops
    return {name: _column(trace, getattr(ops, name), op) for name in ("dims", "types", "strides", "concrete")}


_SHORT_TYPES = {
    "c10::BFloat16": "bf16",
    "c10::Half": "f16",
    "float": "f32",
    "double": "f64",
    "long int": "i64",
    "long": "i64",
    "int": "i32",
    "signed char": "i8",
    "unsigned char": "u8",
    "bool": "bool",
    "c10::Float8_e4m3fn": "f8e4m3",
    "c10::Float8_e5m2": "f8e5m2",
}


def shapes_text(trace: Trace, op: int) -> str:
    """``bf16[8,16,1024,64], bool[1024,1024]``: the tensor inputs of an op; empty where shapes were not recorded."""
    given = op_inputs(trace, op)
    dims, types = given["dims"], given["types"] or ()
    parts = []
    for at, shape in enumerate(dims or ()):
        if not (isinstance(shape, list) and shape):
            continue
        if all(isinstance(size, list) for size in shape):
            parts.append(f"{len(shape)} tensors")
            continue
        kind = types[at] if at < len(types) and isinstance(types[at], str) else ""
        parts.append(f"{_SHORT_TYPES.get(kind, kind)}[{','.join(str(size) for size in shape)}]")
    return ", ".join(parts)
