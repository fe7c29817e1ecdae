"""A shape in a few words, with what is the same everywhere left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.capture.sweep_row import DTYPE_WORDS
from foretrace.report.escape import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from foretrace.capture.recording import ShapeInfo

__all__ = ["common_words", "shape_parts", "shape_words"]


def shape_parts(shape: ShapeInfo) -> dict[str, str]:
    """The parts by name, e.g. ``{"batch": "B 8", "heads": "H 16", ...}``."""
    heads = f"H {shape.heads}" if shape.heads == shape.kv_heads else f"H {shape.heads}/{shape.kv_heads} kv"
    length = f"L {shape.length}" if shape.length == shape.kv_length else f"L {shape.length}/{shape.kv_length} kv"
    return {
        "batch": f"B {shape.batch}",
        "heads": heads,
        "length": length,
        "head_dim": f"D {shape.head_dim}",
        "dtype": plain(DTYPE_WORDS.get(shape.dtype, shape.dtype)),
        "causal": "causal" if shape.causal else "full",
        "mask": "" if shape.mask == "none" else f"{plain(shape.mask)} mask",
        "training": "training" if shape.training else "forward",
    }


def common_words(shapes: Iterable[ShapeInfo]) -> dict[str, str]:
    """The parts that are the same in all of the shapes; empty when there is only one."""
    common: dict[str, str] | None = None
    number = 0
    for shape in shapes:
        number += 1
        parts = shape_parts(shape)
        common = parts if common is None else {name: text for name, text in common.items() if parts[name] == text}
        if not common:
            break
    return common if common and number > 1 else {}


def shape_words(shape: ShapeInfo, without: Iterable[str] = ()) -> str:
    """The parts in one line, e.g. ``B 8 H 16 L 1024 D 64 bf16 causal forward``, those named in ``without`` left out."""
    out = set(without)
    return " ".join(text for name, text in shape_parts(shape).items() if text and name not in out)
