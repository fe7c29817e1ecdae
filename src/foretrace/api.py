"""The Python twins of commands that need both capture and report: same words, same results."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretrace.capture.recording import prepare_folder, read_recording, recording_folder
from foretrace.capture.shapes import AttentionShape, default_shape, dtype_name
from foretrace.capture.variants import VARIANTS
from foretrace.report.comparison import Comparison, comparison

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["attention"]


def attention(
    *,
    batch: int | None = None,
    heads: int | None = None,
    kv_heads: int | None = None,
    length: int | None = None,
    kv_length: int | None = None,
    head_dim: int | None = None,
    dtype: str | None = None,
    causal: bool = True,
    mask: str = "none",
    training: bool = False,
    device: str | None = None,
    variants: Sequence[str] | None = None,
    own: Sequence[str | Callable[..., Any]] = (),
    steps: int = 5,
    warmup: int = 10,
    output: str | Path | None = None,
    force: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    replay: str | Path | None = None,
) -> Comparison:
    """Profile attention variants at one shape and compare them, as `foretrace attention` does.

    Sizes that are None take the default of the device. ``own`` are variants of your own, callables or
    MODULE:CALLABLE. Without ``output`` the traces are read and thrown away. ``replay`` reads a recording instead of
    running: one in the package (``"h200"``), or a folder of traces; of the rest only ``training`` then counts.

    Raises:
        UsageError: An option makes no sense, ``output`` holds something and ``force`` is off, or there is no such
            recording.
        CaptureError: torch or the device is missing, or the inputs do not fit.
        MissingDataError: The folder to replay holds no readable trace.
        TraceFormatError: Its ``attention.json`` is damaged.
    """
    if replay is not None:
        place = recording_folder(str(replay), training=training)
        return comparison(read_recording(place, VARIANTS), place, replayed=True)
    from foretrace.capture.attention import chosen_variants, record_attention  # noqa: PLC0415 - imports torch
    from foretrace.capture.device import choose_device  # noqa: PLC0415 - the same

    given = {"batch": batch, "heads": heads, "length": length, "head_dim": head_dim, "dtype": dtype}
    sizes: dict[str, Any] = default_shape(choose_device(device).type)
    sizes |= {name: value for name, value in given.items() if value is not None}
    shape = AttentionShape(
        batch=sizes["batch"],
        heads=sizes["heads"],
        kv_heads=sizes["heads"] if kv_heads is None else kv_heads,
        length=sizes["length"],
        kv_length=sizes["length"] if kv_length is None else kv_length,
        head_dim=sizes["head_dim"],
        dtype=dtype_name(sizes["dtype"]),
        causal=causal,
        mask=mask,
        training=training,
    )
    candidates = chosen_variants(variants, own)

    def record(folder: Path) -> Comparison:
        made = record_attention(shape, candidates, folder, device=device, steps=steps, warmup=warmup, progress=progress)
        return comparison(made, folder)

    if output is None:
        with tempfile.TemporaryDirectory(prefix="foretrace-") as name:
            return record(Path(name))
    folder = Path(output)
    prepare_folder(folder, force=force)
    return record(folder)
