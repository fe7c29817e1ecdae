"""What is measured: a metric's name, which events of it count, and the op or annotation it is narrowed to."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final, Literal

__all__ = ["EVERYTHING", "FINDING", "Quantity", "Scope", "Select"]

FINDING: Final = "finding"
"""The one metric that is not measured here: how many findings of a rule there are, ``finding(FT101)``."""

# What a bare word may hold; any other text is quoted.
_BARE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:.*-")


def _word(text: str) -> str:
    if text and set(text) <= _BARE:
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True)
class Select:
    """Which events count: all conditions that are given hold."""

    pattern: str | None = None
    """Of device activity, a piece of the name; of ops and runtime calls, the name, in which ``*`` stands for any
    text."""
    regex: str | None = None
    """A regular expression that is found in the name."""
    role: str | None = None
    """What a kernel computes: ``gemm``, ``softmax``, ...; ``attention`` is all attention roles."""
    unit: str | None = None
    """Where a kernel computes: ``tensor_core`` or ``cuda_core``."""
    library: str | None = None
    """Who wrote a kernel."""
    dtype: str | None = None
    """A kernel's input dtype."""
    direction: str | None = None
    """Which way a memcpy goes: ``HtoD``, ``DtoH``, ``DtoD``, ``PtoP``."""
    launch: str | None = None
    """The runtime call that launched an activity."""

    def given(self) -> dict[str, str]:
        """The conditions that are given, by name."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}

    def __str__(self) -> str:
        parts = [
            _quoted(value) if name == "pattern" else f"{name}={_word(value)}" for name, value in self.given().items()
        ]
        return f"({', '.join(parts)})" if parts else ""


EVERYTHING: Final = Select()


@dataclass(frozen=True)
class Scope:
    """An op or an annotation, with all that runs inside it."""

    kind: Literal["op", "annotation"]
    name: str
    """Its name, in which ``*`` stands for any text."""

    def __str__(self) -> str:
        return f"{self.kind} {_word(self.name)}"


@dataclass(frozen=True)
class Quantity:
    """A metric, which of its events count, and where."""

    name: str
    select: Select = EVERYTHING
    scope: Scope | None = None

    def __str__(self) -> str:
        head = f"{self.scope} " if self.scope is not None else ""
        if self.name == FINDING and self.select.pattern is not None:
            return f"{FINDING}({self.select.pattern})"
        return f"{head}{self.name}{self.select}"
