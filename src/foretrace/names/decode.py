"""Kernel names as fingerprints: who wrote a kernel, what it computes, in which precision, on which units."""

from __future__ import annotations

import functools
import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from foretrace.names.decoded import Decoded, Token
from foretrace.names.dtypes import SHORT_DTYPES
from foretrace.names.routes import ROUTES
from foretrace.names.spelling import LONGEST, Name
from foretrace.names.wording import sentence, short_label

if TYPE_CHECKING:
    from collections.abc import Mapping

    from foretrace.names.reading import Reading

__all__ = ["Decoded", "Token", "decode"]


@functools.cache
def _reader(module: str) -> Any:
    return importlib.import_module(f"foretrace.names.libraries.{module}").read


def _asked(places: dict[str, str], where: str, marks: tuple[str, ...]) -> str | None:
    """The mark at which a module is asked for this name; None if it is not."""
    place = places[where]
    if where in ("start", "prefix"):
        # One call for all of them; which one it was matters only if it was one.
        return next(mark for mark in marks if place.startswith(mark)) if place.startswith(marks) else None
    for mark in marks:
        if mark in place:
            return mark
    return "" if where == "any" else None


def _places(name: Name) -> dict[str, str]:
    """Where marks are looked for, by the word that routes use for it."""
    head = name.head
    mangled = f"{head} {name.body}" if name.text.startswith("_Z") else None
    return {
        "start": name.text,
        "prefix": head,
        "head": head,
        "near": head + name.body[:200],
        "idents": mangled or head,
        "text": mangled or name.text[:LONGEST],
        "any": "",
    }


@functools.lru_cache(maxsize=16_384)
def _decode(text: str) -> tuple[Decoded, bool]:
    """(what the name says, whether its units are AMD's matrix cores)."""
    name = Name(text)
    places = _places(name)
    for module, where, marks in ROUTES:
        mark = _asked(places, where, marks)
        if mark is not None:
            reading: Reading | None = _reader(module)(name, mark)
            if reading is not None:
                return reading.finish(), bool(reading.get("matrix_cores"))
    raise AssertionError(text)  # pragma: no cover - `unlisted` declines nothing


def decode(name: str, args: Mapping[str, Any] | None = None, device: str | None = None) -> Decoded:
    """What a kernel's name says, with the tokens that prove it.

    Args:
        name: the name as the trace has it, mangled or not. Memory copies and fills are understood too.
        args: the event's ``args``; the collective of a communication kernel is taken from them.
        device: the device's name (``NVIDIA H200``, ``AMD Instinct MI300X``); it settles what the name leaves to the
            device: RCCL writes NCCL's names, and early nvjet names have no architecture.

    Returns:
        A frozen record. What the name does not say is None, never guessed. The result is cached by name.

    """
    decoded, _ = _decode(name)
    if args is None and device is None:
        return decoded
    changes: dict[str, Any] = {}
    if decoded.role == "communication":
        changes.update(_collective(decoded, args, device))
    elif decoded.library == "cuBLASLt nvjet" and decoded.instruction is None and device is not None:
        changes["instruction"] = _nvjet_instruction(device)
    changes = {key: value for key, value in changes.items() if value is not None}
    return _with(decoded, changes) if changes else decoded


def _with(decoded: Decoded, changes: dict[str, Any]) -> Decoded:
    changed = replace(decoded, **changes)
    facts = {
        key: getattr(changed, key)
        for key in Decoded.__dataclass_fields__
        if key not in ("name", "short", "words", "tokens")
    }
    return replace(changed, short=short_label(facts), words=sentence(facts, ()))


def _collective(decoded: Decoded, args: Mapping[str, Any] | None, device: str | None) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if decoded.library == "NCCL" and device is not None and _is_amd(device):
        changes["library"] = "RCCL"
    if args is not None:
        collective = args.get("Collective name")
        if decoded.op is None and isinstance(collective, str):
            changes["op"] = collective
        dtype = args.get("dtype")
        if decoded.input_dtype is None and isinstance(dtype, str):
            changes["input_dtype"] = _SCALAR_TYPES.get(dtype) or SHORT_DTYPES.get(dtype.lower())
    return changes


# c10::ScalarType names, as the profiler writes them into the args of a collective.
_SCALAR_TYPES: Final = {
    "Float": "fp32",
    "Double": "fp64",
    "Half": "fp16",
    "BFloat16": "bf16",
    "Int": "int32",
    "Long": "int64",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
    "Float8_e4m3fn": "fp8_e4m3",
    "Float8_e5m2": "fp8_e5m2",
}


def _is_amd(device: str) -> bool:
    return any(mark in device for mark in ("AMD", "Instinct", "Radeon", "gfx"))


def _nvjet_instruction(device: str) -> str | None:
    if any(mark in device for mark in ("H100", "H200", "H800", "H20", "GH200")):
        return "wgmma"
    if any(mark in device for mark in ("B200", "B100", "B300", "GB200", "GB300")) and "GH200" not in device:
        return "tcgen05"
    return None
