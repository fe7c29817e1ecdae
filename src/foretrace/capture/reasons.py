"""Why a variant cannot run here, in PyTorch's words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from foretrace.errors import ForetraceError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from warnings import WarningMessage

__all__ = ["reason"]

# SDPA warns about every backend in turn; these lines say which one the next warnings are about.
_ABOUT: Final = re.compile(r"(?P<backend>[\w ]+?) (?:attention )?kernel not used because", re.IGNORECASE)
_BACKENDS: Final = {"efficient": "memory efficient", "flash": "flash", "cudnn": "cudnn", "math": "math"}
_GPU_ONLY: Final = ("efficient", "cudnn")
_ORIGIN: Final = re.compile(r"\s*\(Triggered internally at .*?\)\s*", re.DOTALL)
_LENGTH: Final = 400
_MEMORY_SENTENCES: Final = 3


def reason(variant: str, error: BaseException, said: Iterable[WarningMessage], device_type: str) -> str:
    """One line: the warnings about the pinned backend where PyTorch gave any, else the exception's first line."""
    told = _warnings_about(variant, [_clean(str(entry.message)) for entry in said])
    text = " ".join(told) if told else _first_line(error)
    if not told and device_type == "cpu" and variant in _GPU_ONLY:
        # PyTorch's second sentence guesses at something else.
        text = f"{text.partition('. ')[0].rstrip('.')}: on a CPU there is no {variant} kernel."
    if "out of memory" in text.lower():
        # What follows is advice about the allocator.
        text = ". ".join(text.split(". ")[:_MEMORY_SENTENCES]).rstrip(".") + "."
    return text if len(text) <= _LENGTH else text[: _LENGTH - 3].rstrip() + "..."


def _clean(text: str) -> str:
    return " ".join(_ORIGIN.sub(" ", text).split())


def _warnings_about(variant: str, texts: list[str]) -> list[str]:
    wanted = _BACKENDS.get(variant)
    if wanted is None:
        return []
    current = None
    told: list[str] = []
    for text in texts:
        about = _ABOUT.match(text)
        if about is not None:
            current = about["backend"].lower()
        said = text if about is None else text[about.end() :].strip(" :.")
        if current is not None and current.startswith(wanted) and said and said not in told:
            told.append(said)
    return told


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    line = _clean(lines[0]) if lines else ""
    if isinstance(error, ForetraceError):
        return line
    name = type(error).__name__
    if not line:
        return name
    return line if type(error) is RuntimeError else f"{name}: {line}"
