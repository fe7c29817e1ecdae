"""A variant's turn: its device made current, its warnings heard, its output checked, and its leftovers cleared."""

from __future__ import annotations

import gc
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from foretrace.capture.needs_torch import import_torch
from foretrace.errors import CaptureError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

    from foretrace.capture.inputs import AttentionInputs, Forward

__all__ = ["BACKWARD", "FORWARD", "check_output", "forget", "on_device", "variant_calls", "warnings_heard"]

FORWARD: Final = "attn_fwd"
BACKWARD: Final = "attn_bwd"


def check_output(output: Any, inputs: AttentionInputs) -> None:
    """Raises ``CaptureError`` when a variant returned anything but a tensor of the shape of ``q``."""
    want = tuple(inputs.q.shape)
    got = tuple(getattr(output, "shape", ()))
    if got != want:
        raise CaptureError(f"it returned {type(output).__name__} {list(got)}, not a tensor {list(want)}.")


def variant_calls(forward: Forward, inputs: AttentionInputs, upstream: torch.Tensor | None) -> tuple[Forward, Forward]:
    """One call as it is timed, and the same with its phases annotated as it is profiled.

    ``upstream`` is the gradient of the output; with it, a call is forward and backward.
    """
    from torch.autograd import grad
    from torch.profiler import record_function

    if upstream is None:

        def annotated() -> Any:
            with record_function(FORWARD):
                return forward()

        return forward, annotated

    leaves = (inputs.q, inputs.k, inputs.v)

    def both() -> Any:
        return grad(forward(), leaves, upstream)

    def annotated_both() -> Any:
        with record_function(FORWARD):
            output = forward()
        with record_function(BACKWARD):
            return grad(output, leaves, upstream)

    return both, annotated_both


@contextmanager
def on_device(device: torch.device) -> Iterator[None]:
    """Make the device the current one."""
    if device.type == "cpu":
        yield
        return
    with getattr(import_torch(), device.type).device(device):
        yield


@contextmanager
def warnings_heard() -> Iterator[list[warnings.WarningMessage]]:
    """Collect warnings, those torch gives only once per process included."""
    torch = import_torch()
    always = torch.is_warn_always_enabled()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        torch.set_warn_always(True)
        try:
            yield said
        finally:
            torch.set_warn_always(always)


def forget(device: torch.device) -> None:
    """Free what the variant held, compiled code included, so that the next one starts alike."""
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is not None:
        dynamo.reset()
    gc.collect()
    if device.type != "cpu":
        getattr(import_torch(), device.type).empty_cache()
