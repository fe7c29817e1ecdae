"""The shape of one attention call: sizes, dtype, mask kind, forward or training. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from foretrace.errors import UsageError

__all__ = ["DTYPES", "MASKS", "AttentionShape", "default_shape", "dtype_name"]

# What people write -> the name torch has for it.
DTYPES: Final[dict[str, str]] = {
    "bf16": "bfloat16",
    "bfloat16": "bfloat16",
    "fp16": "float16",
    "half": "float16",
    "float16": "float16",
    "fp32": "float32",
    "float": "float32",
    "float32": "float32",
    "fp64": "float64",
    "double": "float64",
    "float64": "float64",
}

# Mask kind -> what it is. With `causal`, causality is part of the mask tensor.
MASKS: Final[dict[str, str]] = {
    "none": "no mask tensor; causal comes from is_causal",
    "bool": "boolean [1, 1, Lq, Lkv]: the causal triangle, or one pair in eight dropped at random",
    "float": "the same as an additive mask of 0 and -inf in the dtype of q",
    "padding": "boolean [B, 1, 1, Lkv]: batches padded on the right, half to all of the keys kept",
    "window": "boolean [1, 1, Lq, Lkv]: a sliding window of an eighth of the keys",
    "alibi": "additive [1, Hq, Lq, Lkv]: ALiBi slopes, a gradient-free bias",
}


def dtype_name(word: str) -> str:
    """Torch's name of a dtype, from any usual spelling. Raises ``UsageError`` for another word."""
    name = DTYPES.get(word.lower().removeprefix("torch."))
    if name is None:
        raise UsageError(f"unknown dtype {word!r}; use one of {', '.join(DTYPES)}.")
    return name


@dataclass(frozen=True)
class AttentionShape:
    """One attention call: ``q`` is [B, Hq, Lq, D], ``k`` and ``v`` are [B, Hkv, Lkv, D].

    Causal with Lq != Lkv is aligned at the bottom right: the last query sees every key, which is what decoding
    and chunked prefill need. (``is_causal`` of SDPA would align at the top left, so there an explicit mask is
    given; with one query nothing needs to be masked at all.)

    Raises ``UsageError`` when the sizes do not fit together.
    """

    batch: int
    heads: int
    kv_heads: int
    length: int
    kv_length: int
    head_dim: int
    dtype: str
    causal: bool = True
    mask: str = "none"
    training: bool = False

    def __post_init__(self) -> None:
        """Refuse sizes that do not fit together."""
        for word in ("batch", "heads", "kv_heads", "length", "kv_length", "head_dim"):
            size = getattr(self, word)
            if size < 1:
                raise UsageError(f"--{word.replace('_', '-')} is {size}; it must be at least 1.")
        if self.heads % self.kv_heads:
            raise UsageError(
                f"{self.kv_heads} kv heads do not divide {self.heads} heads; --kv-heads must divide --heads."
            )
        if self.causal and self.length > self.kv_length:
            raise UsageError(
                f"causal attention of {self.length} queries over {self.kv_length} keys leaves the first queries "
                "without a key; use --no-causal, or a --kv-length that is not below --length."
            )
        if self.mask not in MASKS:
            raise UsageError(f"unknown mask kind {self.mask!r}; use one of {', '.join(MASKS)}.")
        if self.dtype not in DTYPES.values():
            raise UsageError(f"unknown dtype {self.dtype!r}; use one of {', '.join(DTYPES)}.")

    @property
    def is_causal(self) -> bool:
        """Causality is asked for by flag alone: no mask tensor, and as many queries as keys."""
        return self.causal and self.mask == "none" and self.length == self.kv_length

    @property
    def groups(self) -> int:
        """Query heads for each kv head: above 1 it is grouped-query attention."""
        return self.heads // self.kv_heads


def default_shape(device_type: str) -> dict[str, int | str]:
    """Sizes used where none are given: a real layer on a GPU, one that ends within seconds on a CPU."""
    if device_type == "cpu":
        return {"batch": 1, "heads": 8, "length": 512, "head_dim": 64, "dtype": "float32"}
    return {"batch": 8, "heads": 16, "length": 1024, "head_dim": 64, "dtype": "bfloat16"}
