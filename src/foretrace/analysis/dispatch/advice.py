"""What else a call's arguments say: what to try, what to know. Notes, never promises: each is measured or left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.units import bytes_text

if TYPE_CHECKING:
    from foretrace.analysis.dispatch.call import Call

__all__ = ["notes"]

_BYTES: Final = {"fp64": 8, "fp32": 4, "bf16": 2, "fp16": 2}
_PADDED_TO: Final = 8


def notes(call: Call, ran: str | None) -> list[str]:
    """Short sentences about a call that ran (or would run) on a backend."""
    found = []
    query, key, mask = call.query, call.key, call.mask
    if call.causal and query.length != key.length:
        found.append(
            f"is_causal with lengths {query.length} and {key.length}: scaled_dot_product_attention aligns the mask "
            "top-left, the flash-attn package bottom-right."
        )
    if mask is not None:
        square = query.length == key.length and mask.dims[-2:] == (query.length, key.length)
        one_head = len(mask.dims) == 2 or mask.dims[-3] == 1  # noqa: PLR2004 - [Lq, Lk]
        if square and one_head and query.length > 1 and not call.causal:
            found.append(
                "The mask is square: if it is the causal one, is_causal=True without it admits flash. The trace "
                "cannot show what is in it."
            )
        if ran == "efficient" and key.length % _PADDED_TO and mask.dims[-1] == key.length:
            found.append(
                f"The mask's last size {key.length} is no multiple of {_PADDED_TO}: each call pads it in a copy; "
                "pad it once outside the loop."
            )
        if mask.dtype == "bool" and ran in ("efficient", "cudnn", "math"):
            found.append("A bool mask is turned into a float one at each call; build the float mask once.")
    if ran == "math":
        found += _about_math(call)
    return found


def _about_math(call: Call) -> list[str]:
    query, key = call.query, call.key
    found = []
    size = _BYTES.get(query.dtype)
    if size and len(query.dims) > 2:  # noqa: PLR2004 - heads and batches before length and head dim
        scores = query.length * key.length
        for extent in query.dims[:-2]:
            scores *= extent
        found.append(f"The math backend holds the whole score matrix: at least {bytes_text(scores * size)}.")
    if query.heads != key.heads:
        if query.dtype == "fp32":
            found.append(
                f"{query.heads} query heads over {key.heads} in fp32: cast to bf16, or repeat K and V before the "
                "call; either admits a fused backend."
            )
        else:
            found.append(
                f"{query.heads} query heads over {key.heads}: which backends take unequal heads depends on the "
                "release; repeating K and V before the call admits the others. Measure both."
            )
    elif query.dtype == "fp32":
        found.append("The inputs are fp32; autocast does not always cover this call. Cast to bf16 for flash and cuDNN.")
    return found
