"""The attention calls of a trace: their arguments as far as they were recorded, and the backend that ran."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from foretrace.analysis.dispatch.advice import notes
from foretrace.analysis.dispatch.call import Call, Operand, recorded_dtype
from foretrace.analysis.dispatch.decide import Dispatch, dispatch
from foretrace.analysis.dispatch.devices import CPU, architecture_of
from foretrace.analysis.operators import device_times
from foretrace.analysis.shapes import op_inputs, shapes_text
from foretrace.trace.distinct import is_among

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.analysis.dispatch.facts import Architecture
    from foretrace.trace.model import Trace

__all__ = ["AttentionCall", "RecordedCall", "attention_calls", "recorded_calls"]

_FRONT: Final = "aten::scaled_dot_product_attention"

# The ops that are a backend, and where their arguments stand: (backend, mask, dropout, is_causal, kept for backward).
_BACKENDS: Final[dict[str, tuple[str, int | None, int, int, int | None]]] = {
    "aten::_scaled_dot_product_flash_attention": ("flash", None, 3, 4, None),
    "aten::_scaled_dot_product_flash_attention_for_cpu": ("flash", 5, 3, 4, None),
    "aten::_scaled_dot_product_efficient_attention": ("efficient", 3, 5, 6, 4),
    "aten::_scaled_dot_product_cudnn_attention": ("cudnn", 3, 5, 6, 4),
    "aten::_scaled_dot_product_attention_math": ("math", 3, 4, 5, None),
    "aten::_scaled_dot_product_attention_math_for_mps": ("math", 3, 4, 5, None),
    "aten::_scaled_dot_product_fused_attention_overrideable": ("other", 3, 4, 5, None),
}
# What the kernels under a call say where no backend op was recorded, most telling first.
_KERNELS: Final = (
    (
        "cudnn",
        re.compile(r"cudnn\w*sdpa|sdpa\w*cudnn|cudnn_generated\w*flash|cudnn.*_flash_(?:f|b)prop", re.IGNORECASE),
    ),
    ("flash", re.compile(r"flash_(?:fwd|bwd)|\bflash::|pytorch_flash|attn_fwd|attn_bwd", re.IGNORECASE)),
    ("efficient", re.compile(r"fmha_cutlass|attention_kernel|AttentionKernel|AttentionBackwardKernel")),
    ("math", re.compile(r"softmax", re.IGNORECASE)),
)


@dataclass(frozen=True)
class AttentionCall:
    """One call."""

    op: int
    """Position in the trace's ops."""
    name: str
    call: Call | None
    """Its arguments; None where shapes were not recorded."""
    assumed: tuple[str, ...]
    """Arguments that were not recorded and are taken as not given."""
    ran: str | None
    """The backend that ran: ``cudnn``, ``flash``, ``efficient``, ``math``, ``other``; None where nothing shows it."""
    device_time_ns: int


@dataclass(frozen=True)
class RecordedCall:
    """All calls with the same arguments that ran on the same backend."""

    name: str
    count: int
    shapes: str
    call: Call | None
    ran: str | None
    device_time_ns: int
    """Of all of them."""
    dispatch: Dispatch | None
    """What dispatch does with it; None where arguments or device are not known."""
    notes: tuple[str, ...]
    text: str
    """What ran, and whether PyTorch would have picked it, in one sentence or two."""

    def to_json(self) -> dict[str, Any]:
        """The keys of one entry of ``calls[]``."""
        known = self.dispatch
        backends = {name: verdict.to_json() for name, verdict in known.backends.items()} if known else {}
        return {
            "backend": self.ran,
            "certain": self.ran is not None,
            "text": self.text,
            "op": self.name,
            "count": self.count,
            "shapes": self.shapes,
            "device_time_ns": self.device_time_ns,
            "picks": known.backend if known else None,
            "picks_certain": known.certain if known else False,
            "torch": known.torch if known and known.torch_given else None,
            "torch_known": known.torch_known if known and known.torch_given else None,
            "backends": backends,
            "notes": list(self.notes),
        }


def attention_calls(trace: Trace) -> list[AttentionCall]:
    """Every call of ``scaled_dot_product_attention``, or of a backend's op outside one, in file order."""
    ops = trace.ops
    if not len(ops):
        return []
    wanted = [at for at, text in enumerate(trace.strings) if text == _FRONT or text in _BACKENDS]
    found = np.flatnonzero(is_among(trace.rows.name[ops.row], np.array(wanted, np.int32)))
    roots: dict[int, int | None] = {}
    for op in map(int, found):
        root = _root(trace, op)
        roots.setdefault(root, None)
        if trace.op_name(op) in _BACKENDS and roots[root] is None:
            roots[root] = op
    total = device_times(trace)[1]
    trained = _trained(trace)
    kernels = _kernels_under(trace, {root for root, inner in roots.items() if inner is None})
    calls = []
    for root, inner in roots.items():
        name = trace.op_name(root)
        call, assumed = _call_of(trace, root, inner, trained=root in trained or inner in trained)
        ran = _BACKENDS[trace.op_name(inner)][0] if inner is not None else _by_kernels(kernels.get(root, ()))
        calls.append(AttentionCall(root, name, call, assumed, ran, int(total[root])))
    return calls


def recorded_calls(trace: Trace, *, torch: str | None = None, cudnn: int | None = None) -> list[RecordedCall]:
    """The attention calls of a trace, equal ones as one, with what keeps each backend from them.

    Args:
        trace: the trace.
        torch: the PyTorch release it was recorded with, which a trace does not store.
        cudnn: the cuDNN release, likewise.

    Raises:
        UsageError: the release is older than the oldest known.
    """
    arch = _architecture(trace)
    counts: Counter[tuple[str, Call | None, str | None]] = Counter()
    times: Counter[tuple[str, Call | None, str | None]] = Counter()
    first: dict[tuple[str, Call | None, str | None], AttentionCall] = {}
    for each in attention_calls(trace):
        key = (each.name, each.call, each.ran)
        counts[key] += 1
        times[key] += each.device_time_ns
        first.setdefault(key, each)
    ran_on: dict[tuple[str, Call | None], set[str | None]] = {}
    for name, call, ran in first:
        if ran:
            ran_on.setdefault((name, call), set()).add(ran)
    rows = []
    for key, each in first.items():
        place = CPU if "for_cpu" in each.name else arch
        decided = None
        if each.call is not None and place is not None:
            decided = dispatch(each.call, place, release=torch, cudnn=cudnn, ran=each.ran)
            if each.assumed:
                decided = _unsure(decided, each.assumed)
        rows.append(
            RecordedCall(
                name=each.name,
                count=counts[key],
                shapes=shapes_text(trace, each.op),
                call=each.call,
                ran=each.ran,
                device_time_ns=times[key],
                dispatch=decided,
                notes=tuple(notes(each.call, each.ran)) if each.call else (),
                text=_told(each, decided, ran_on.get((each.name, each.call), set()) - {each.ran}),
            )
        )
    return rows


def _root(trace: Trace, op: int) -> int:
    """The outermost attention op around an op, itself included."""
    root = op
    above = int(trace.ops.parent[op])
    while above >= 0:
        name = trace.op_name(above)
        if name == _FRONT or name in _BACKENDS:
            root = above
        above = int(trace.ops.parent[above])
    return root


def _trained(trace: Trace) -> set[int]:
    """Ops that a backward op was tied to."""
    return {int(op) for op in trace.ops.forward if op >= 0}


def _kernels_under(trace: Trace, roots: set[int]) -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    if not roots:
        return found
    is_root = np.zeros(len(trace.ops), bool)
    is_root[list(roots)] = True
    held = trace.op_nesting.climb(trace.activities.owner, is_root)
    for at in np.flatnonzero(held >= 0):
        found.setdefault(int(held[at]), []).append(trace.name(int(trace.activities.row[at])))
    return found


def _by_kernels(names: Sequence[str]) -> str | None:
    return next((backend for backend, pattern in _KERNELS if any(pattern.search(name) for name in names)), None)


def _call_of(trace: Trace, root: int, inner: int | None, *, trained: bool) -> tuple[Call | None, tuple[str, ...]]:
    given = op_inputs(trace, root)
    operands = [_operand(given, at) for at in range(3)]
    query, key, value = operands
    if query is None or key is None or value is None:
        return None, ()
    name = trace.op_name(root)
    mask_at, dropout_at, causal_at = (3, 4, 5) if name == _FRONT else _BACKENDS[name][1:4]
    scalars = given["concrete"]
    assumed = ("dropout_p", "is_causal") if scalars is None else ()
    call = Call(
        query,
        key,
        value,
        mask=None if mask_at is None else _operand(given, mask_at),
        causal=_scalar(scalars, causal_at) == "True",
        dropout=_number(_scalar(scalars, dropout_at)),
        grad=True if trained else _kept(trace, inner),
        gqa=_scalar(scalars, 7) == "True" if name == _FRONT else query.heads != key.heads,
    )
    return call, assumed


def _operand(given: dict[str, tuple[Any, ...] | None], at: int) -> Operand | None:
    dims, types, strides = given["dims"], given["types"], given["strides"]
    if dims is None or at >= len(dims):
        return None
    sizes = dims[at]
    spelled = types[at] if types is not None and at < len(types) else ""
    if not (isinstance(sizes, list) and sizes and all(isinstance(size, int) for size in sizes)):
        return None
    steps = strides[at] if strides is not None and at < len(strides) else None
    known = isinstance(steps, list) and len(steps) == len(sizes) and all(isinstance(step, int) for step in steps)
    return Operand(tuple(sizes), recorded_dtype(spelled), tuple(steps) if known and steps is not None else None)


def _scalar(scalars: tuple[Any, ...] | None, at: int) -> str:
    if scalars is None or at >= len(scalars):
        return ""
    return scalars[at] if isinstance(scalars[at], str) else ""


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if 0 <= value <= 1 else 0.0


def _kept(trace: Trace, inner: int | None) -> bool | None:
    """Whether the backend was told to keep what the backward needs; None where its op does not say."""
    if inner is None:
        return None
    at = _BACKENDS[trace.op_name(inner)][4]
    said = "" if at is None else _scalar(op_inputs(trace, inner)["concrete"], at)
    return {"True": True, "False": False}.get(said)


def _architecture(trace: Trace) -> Architecture | None:
    """Of the device that ran most of the trace; the CPU where there is no device."""
    if len(trace.activities):
        busiest = Counter(map(int, trace.activities.device)).most_common(1)[0][0]
        device = trace.device(busiest) or next(iter(trace.devices), None)
        return architecture_of(device) if device else None
    return architecture_of(trace.devices[0]) if trace.devices else CPU


def _unsure(decided: Dispatch, assumed: tuple[str, ...]) -> Dispatch:
    note = f" ({' and '.join(assumed)} not recorded)"
    verdicts = {
        name: replace(verdict, certain=False, text=verdict.text + note) for name, verdict in decided.backends.items()
    }
    return replace(decided, certain=False, backends=verdicts)


def _told(each: AttentionCall, decided: Dispatch | None, elsewhere: set[str | None]) -> str:
    told = _picked(each, decided)
    if elsewhere and each.call is not None:
        told += f" Calls with the same arguments also ran on {' and '.join(sorted(map(str, elsewhere)))}."
    return told


def _picked(each: AttentionCall, decided: Dispatch | None) -> str:
    if each.ran is None:
        return "Nothing in the trace shows which backend ran."
    if each.call is None:
        return f"{each.ran} ran. Shapes were not recorded, so why is not known."
    if decided is None:
        return f"{each.ran} ran. The file does not say on what device, so why is not known."
    if decided.backend == each.ran:
        return f"{each.ran} ran, and PyTorch picks it: {decided.text}."
    return f"{each.ran} ran. PyTorch picks {decided.backend} here, if nothing is pinned: {decided.text}."
