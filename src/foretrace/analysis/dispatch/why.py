"""The command ``why`` from Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

from foretrace.analysis.dispatch.call import Call, call_from_case
from foretrace.analysis.dispatch.decide import Dispatch, dispatch
from foretrace.analysis.dispatch.devices import architecture_named
from foretrace.analysis.dispatch.recorded import RecordedCall, recorded_calls
from foretrace.errors import UsageError

if TYPE_CHECKING:
    from foretrace.trace.model import Trace

__all__ = ["why"]


@overload
def why(what: Trace, *, torch: str | None = None, cudnn: int | None = None) -> list[RecordedCall]: ...


@overload
def why(
    what: Call | Mapping[str, Any], *, gpu: str, torch: str | None = None, cudnn: int | None = None
) -> Dispatch: ...


def why(
    what: Trace | Call | Mapping[str, Any],
    *,
    gpu: str | None = None,
    torch: str | None = None,
    cudnn: int | None = None,
) -> list[RecordedCall] | Dispatch:
    """Which SDPA backend ran in a trace, or would run for a call, and why each other one did not.

    Args:
        what: a trace, a ``Call``, or a call in its flat form (``{"dtype": "bf16", "b": 8, "h": 16, ...}``).
        gpu: the device of a call: ``H200``, ``A100``, ``sm90``, ``MI300X``, ``cpu``.
        torch: the PyTorch release, e.g. ``2.11``; where not given, 2.6 to 2.15 are tried.
        cudnn: the cuDNN release as cuDNN writes it, e.g. 91900 for 9.19.0.

    Returns:
        Of a trace, its attention calls, equal ones as one; of a call, what dispatch does with it.

    Raises:
        UsageError: no or an unknown device, an unknown release, or a case that is none.
    """
    if isinstance(what, Call | Mapping):
        if gpu is None:
            raise UsageError("on which device? Give gpu: H200, A100, RTX 4090, MI300X, sm90, gfx942 or cpu.")
        call = what if isinstance(what, Call) else call_from_case(what)
        return dispatch(call, architecture_named(gpu), release=torch, cudnn=cudnn)
    return recorded_calls(what, torch=torch, cudnn=cudnn)
