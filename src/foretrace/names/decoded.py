"""What a kernel name says: one frozen record, and the tokens that prove it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

__all__ = ["ATTENTION_ROLES", "MATRIX_ROLES", "ROLES", "UNITS", "Decoded", "Token"]

ATTENTION_ROLES: Final = frozenset({"attention_forward", "attention_backward", "attention_decode", "attention_combine"})

# Roles whose work is matrix multiplication: only for these is "tensor core or CUDA core" a question.
MATRIX_ROLES: Final = frozenset({"gemm", "convolution"}) | ATTENTION_ROLES

# Every role, in the words of the field. `setup` prepares indices, offsets or descriptors for another kernel;
# `solver` is a step of a dense factorization, `recurrent` one of an LSTM or GRU.
ROLES: Final = MATRIX_ROLES | frozenset(
    {
        "softmax",
        "normalization",
        "reduction",
        "elementwise",
        "copy",
        "cast",
        "memset",
        "gather",
        "scatter",
        "sort",
        "random",
        "optimizer",
        "communication",
        "fft",
        "solver",
        "recurrent",
        "setup",
        "other",
    }
)

UNITS: Final = ("tensor_core", "cuda_core", "none", "unknown")


class Token(NamedTuple):
    """A piece of the name, what it means, and the facts it proves."""

    text: str
    """The piece as it stands in the name."""
    meaning: str
    """What it means, in words."""
    fact: str | None = None
    """The field (or fields, joined by commas) of ``Decoded`` that this piece proves; None if it proves none."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """What one kernel name says. A fact that the name does not give is None (or empty), never guessed."""

    name: str
    library: str
    """Who wrote the kernel, or ``unknown``."""
    role: str
    """What it computes: one of ``ROLES``."""
    unit: str
    """Where it computes: ``tensor_core``, ``cuda_core``, ``none`` (it only moves data) or ``unknown``."""
    op: str | None
    """The operation within the role: ``masked_fill``, ``dgrad``, ``all_reduce``."""
    input_dtype: str | None
    accumulate_dtype: str | None
    output_dtype: str | None
    instruction: str | None
    """The matrix instruction: ``mma 16x8x16``, ``wgmma``, ``tcgen05``, ``mfma 16x16``, ``ffma``, ``dmma``, ..."""
    tile: str | None
    """Output tile of one block, rows x columns; for attention queries x keys."""
    tile_k: int | None
    """How far one step along K goes."""
    stages: int | None
    """K tiles in flight at a time."""
    cluster: str | None
    """Blocks that share data through one cluster."""
    layout: str | None
    """Of the two inputs, as BLAS writes it: ``nn``, ``tn``; of images: ``nhwc``, ``nchw``."""
    split_k: bool | None
    """True where several blocks share one output tile along K (attention: along the keys)."""
    arch: str | None
    """The architecture it was built for: ``sm90``, ``ampere``, ``gfx942``."""
    head_dim: int | None
    """The head dimension the kernel was built for; a smaller one is padded to it."""
    fused_ops: tuple[str, ...]
    """Operations that an Inductor kernel fuses."""
    short: str
    """A readable label of at most 40 characters."""
    words: str
    """One sentence: what it is."""
    tokens: tuple[Token, ...]
    """The pieces of the name in its own order."""

    @property
    def evidence(self) -> dict[str, str]:
        """Fact -> the piece of the name that proves it."""
        proofs: dict[str, str] = {}
        for token in self.tokens:
            for fact in (token.fact or "").split(", "):
                if fact:
                    proofs.setdefault(fact, token.text)
        return proofs

    def to_json(self) -> dict[str, Any]:
        """The record with stable keys; absent facts are null."""
        record: dict[str, Any] = {}
        for column in fields(self):
            value = getattr(self, column.name)
            if column.name == "tokens":
                value = [{"text": t.text, "meaning": t.meaning, "fact": t.fact} for t in value]
            record[column.name] = list(value) if isinstance(value, tuple) else value
        return record
