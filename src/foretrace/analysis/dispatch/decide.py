"""Put a release's checks together: which backend a call gets, and what keeps each other one from it.

Where something is not known (the release of a trace, its cuDNN, whether gradients were needed), every way it may
stand is tried; what comes out the same in all of them is *certain*, the rest is *possible*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from foretrace.analysis.dispatch.checks import CHECKS
from foretrace.analysis.dispatch.facts import Facts, Refusal
from foretrace.analysis.dispatch.reference import math_refusal, rejected
from foretrace.analysis.dispatch.releases import OLDER_CHECKS, RELEASES, release_named

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from foretrace.analysis.dispatch.call import Call
    from foretrace.analysis.dispatch.facts import Architecture
    from foretrace.analysis.dispatch.releases import Release

__all__ = ["BACKENDS", "Dispatch", "Verdict", "dispatch"]

BACKENDS: Final = ("cudnn", "flash", "efficient", "math")
_UNBATCHED: Final = 3


@dataclass(frozen=True)
class Verdict:
    """Whether one backend can run the call."""

    eligible: bool
    reason: str | None
    """The first thing in the way (a ``Refusal.reason``); None where nothing is."""
    certain: bool
    """The same whatever is not known; else *possible*."""
    text: str

    def to_json(self) -> dict[str, Any]:
        """``{"eligible", "reason", "certain", "text"}``."""
        return dict(vars(self))


@dataclass(frozen=True)
class Dispatch:
    """What dispatch does with a call."""

    backend: str
    """``cudnn``, ``flash``, ``efficient``, ``math``, or ``error`` where the call raises."""
    certain: bool
    text: str
    """Why it is this one, in one sentence."""
    backends: dict[str, Verdict]
    torch: str
    """The release whose rules were taken; the newest that fits where none was given."""
    torch_asked: str | None = None
    """The release that was given, as it was written."""
    torch_known: bool = True
    """False where the release given is newer than the newest known, whose rules then stand in."""
    order: tuple[str, ...] = ()
    """The backends in the order that this release tries them."""

    @property
    def torch_given(self) -> bool:
        """A release was given."""
        return self.torch_asked is not None

    def to_json(self) -> dict[str, Any]:
        """The keys of ``calls[]``."""
        return {
            "backend": self.backend,
            "certain": self.certain,
            "text": self.text,
            "torch": self.torch,
            "torch_known": self.torch_known,
            "backends": {name: verdict.to_json() for name, verdict in self.backends.items()},
        }


@dataclass(frozen=True)
class _Outcome:
    choice: str
    refusals: dict[str, Refusal | None]
    raised: Refusal | None = None
    """What raises, where the choice is ``error``."""


def dispatch(
    call: Call, arch: Architecture, *, release: str | None = None, cudnn: int | None = None, ran: str | None = None
) -> Dispatch:
    """What PyTorch does with a call.

    Args:
        call: the call.
        arch: what runs it.
        release: the PyTorch release, e.g. ``2.11``; None where it is not known.
        cudnn: the cuDNN release as cuDNN writes it (91900); None where it is not known.
        ran: the backend that is known to have run; it took the call, which narrows what is not known.

    Raises:
        UsageError: the release is older than the oldest known.
    """
    named = None if release is None else release_named(release)
    worlds = _worlds(call, arch, named.release if named else None, cudnn)
    outcomes = [_outcome(call, facts) for facts in worlds]
    if ran is not None:
        fitting = [at for at, outcome in enumerate(outcomes) if outcome.refusals.get(ran) is None]
        if fitting:
            worlds, outcomes = [worlds[at] for at in fitting], [outcomes[at] for at in fitting]
    known = named is None or named.exact
    chosen = outcomes[0].choice
    verdicts = {name: _verdict(name, worlds, outcomes, known=known) for name in BACKENDS}
    if named is None:
        verdicts = {name: _before_known(name, verdict, call, worlds[0]) for name, verdict in verdicts.items()}
    return Dispatch(
        backend=chosen,
        certain=known and all(outcome.choice == chosen for outcome in outcomes),
        text=_why(worlds, outcomes),
        backends=verdicts,
        torch=worlds[0].release.name,
        torch_asked=release,
        torch_known=known,
        order=worlds[0].release.order(worlds[0]),
    )


def _worlds(call: Call, arch: Architecture, release: Release | None, cudnn: int | None) -> list[Facts]:
    """Every way things may stand, the likeliest first."""
    operands = [call.query, call.key, call.value, *([call.mask] if call.mask else [])]
    strides_known = all(operand.strides is not None for operand in operands)
    grads = (False, True) if call.grad is None else (call.grad,)
    strided = (False,) if strides_known else (False, True)
    kernels = (False, True) if arch.kind == "hip" else (False,)
    worlds = []
    for each in [release] if release else RELEASES[::-1]:
        cudnns = ((each.cudnn, *each.other_cudnn) if cudnn is None else (cudnn,)) if arch.kind == "cuda" else (0,)
        worlds += [Facts(each, arch, *rest) for rest in product(cudnns, grads, strided, kernels)]
    return worlds


def _outcome(call: Call, facts: Facts) -> _Outcome:
    release = facts.release
    if release.unbatched and all(len(each.dims) == _UNBATCHED for each in (call.query, call.key, call.value)):
        call = _batched(call)
    refused = rejected(call)
    if refused:
        return _Outcome("error", dict.fromkeys(BACKENDS, refused), refused)
    refusals: dict[str, Refusal | None] = {}
    choice: str | None = None
    raised: Refusal | None = None
    for name in release.order(facts):
        refusal = _first(call, facts, release.checks(name, facts.arch))
        if refusal is None:
            # What a backend's own code refuses, after it was chosen: the call then raises.
            refusal = math_refusal(call) if name == "math" else _first(call, facts, release.raises(name))
            if choice is None:
                choice, raised = ("error" if refusal else name), refusal
        refusals[name] = refusal
    for name in BACKENDS:
        refusals.setdefault(name, Refusal("arch", f"{name} does not run on {_place(facts.arch)}"))
    return _Outcome(choice or "error", refusals, raised)


def _first(call: Call, facts: Facts, names: Sequence[str]) -> Refusal | None:
    for name in names:
        refusal = CHECKS[name](call, facts)
        if refusal:
            return refusal
    return None


def _batched(call: Call) -> Call:
    """``normalize_unbatched_input``: a batch dimension of 1 in front."""

    def lifted(operand: Any) -> Any:
        strides = operand.strides
        ahead = None if strides is None else ((strides[0] * operand.dims[0]) if strides else 1, *strides)
        return replace(operand, dims=(1, *operand.dims), strides=ahead)

    mask = call.mask
    while mask is not None and len(mask.dims) <= _UNBATCHED:
        mask = lifted(mask)
    return replace(call, query=lifted(call.query), key=lifted(call.key), value=lifted(call.value), mask=mask)


def _place(arch: Architecture) -> str:
    return {"cpu": "the CPU", "hip": "AMD devices"}.get(arch.kind, str(arch))


def _verdict(name: str, worlds: list[Facts], outcomes: list[_Outcome], *, known: bool) -> Verdict:
    refusals = [outcome.refusals[name] for outcome in outcomes]
    first = refusals[0]
    reasons = [refusal.reason if refusal else None for refusal in refusals]
    same = all(reason == reasons[0] for reason in reasons)
    text = first.text if first else "takes this call"
    if not same:
        text += _otherwise(worlds, [(refusal.reason, refusal.text) if refusal else None for refusal in refusals])
    elif not known:
        text += f" (by the rules of torch {worlds[0].release.name})"
    return Verdict(first is None, first.reason if first else None, same and known, text)


def _before_known(name: str, verdict: Verdict, call: Call, facts: Facts) -> Verdict:
    """A trace may be of a release before the oldest known; what is known to have been otherwise is possible."""
    refusal = _first(call, replace(facts, grad=call.grad is not False), OLDER_CHECKS.get(name, ()))
    if refusal is None or not verdict.eligible:
        return verdict
    return replace(verdict, certain=False, text=f"{verdict.text}; {refusal.text}")


_UNKNOWNS: Final[tuple[tuple[str, Callable[[Facts], Hashable]], ...]] = (
    ("release", lambda facts: facts.release.name),
    ("cudnn", lambda facts: facts.cudnn),
    ("grad", lambda facts: facts.grad),
    ("strided", lambda facts: facts.strided),
    ("kernel", lambda facts: facts.composable_kernel),
)


def _otherwise(worlds: list[Facts], answers: list[tuple[str, str] | None]) -> str:
    """Where the answer is another one, and which: by the one unknown that decides it, if one does."""
    found = _decided_by(worlds, answers)
    if found:
        return found
    # Several unknowns decide together: tell the release, all else as likeliest.
    likely = {facts.release.name: at for at, facts in reversed(list(enumerate(worlds)))}
    kept = sorted(likely.values())
    found = _decided_by([worlds[at] for at in kept], [answers[at] for at in kept])
    return f"{found or ''}; it also depends on {_unknowns(worlds)}"


def _decided_by(worlds: list[Facts], answers: list[tuple[str, str] | None]) -> str | None:
    for name, value_of in _UNKNOWNS:
        by_value: dict[Hashable, set[str | None]] = {}
        for facts, answer in zip(worlds, answers, strict=True):
            by_value.setdefault(value_of(facts), set()).add(answer[0] if answer else None)
        if len(by_value) > 1 and all(len(reasons) == 1 for reasons in by_value.values()):
            likely = answers[0][0] if answers[0] else None
            others = [value for value, reasons in by_value.items() if reasons != {likely}]
            if not others:
                continue
            at = next(at for at, facts in enumerate(worlds) if value_of(facts) == others[0])
            answer = answers[at]
            return f"; {_named(name, others)}: {answer[1] if answer else 'takes this call'}"
    return None


def _unknowns(worlds: list[Facts]) -> str:
    words = {"cudnn": "the cuDNN", "grad": "gradients", "strided": "strides", "kernel": "the flash library"}
    open_ones = [words[name] for name, value_of in _UNKNOWNS if name in words and len(set(map(value_of, worlds))) > 1]
    return " and ".join(open_ones)


def _named(name: str, values: list[Hashable]) -> str:
    if name == "release":
        return "in torch " + _spans([str(value) for value in values])
    if name == "cudnn":
        return "with cuDNN " + ", ".join(_cudnn_text(number) for number in sorted(int(str(value)) for value in values))
    return {
        "grad": "where gradients are needed",
        "strided": "with other strides, which are not recorded",
        "kernel": "with Composable Kernel as flash backend",
    }[name]


def _cudnn_text(number: int) -> str:
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def _spans(names: list[str]) -> str:
    """``2.6 to 2.9, 2.11`` from release names in any order."""
    order = [release.name for release in RELEASES]
    places = sorted(order.index(name) for name in names)
    spans: list[list[int]] = []
    for place in places:
        if spans and spans[-1][-1] == place - 1:
            spans[-1].append(place)
        else:
            spans.append([place])
    return ", ".join(order[span[0]] if len(span) == 1 else f"{order[span[0]]} to {order[span[-1]]}" for span in spans)


def _why(worlds: list[Facts], outcomes: list[_Outcome]) -> str:
    facts, outcome = worlds[0], outcomes[0]
    order = facts.release.order(facts)
    if outcome.choice == "error":
        text = f"the call raises: {outcome.raised.text if outcome.raised else 'no backend takes it'}"
    elif outcome.choice == order[0]:
        text = f"the order is {', '.join(order)}"
    else:
        text = f"the first of {', '.join(order)} that takes the call"
    if any(other.choice != outcome.choice for other in outcomes):
        text += _otherwise(worlds, [(other.choice, _runs(other.choice)) for other in outcomes])
    return text


def _runs(choice: str) -> str:
    return "the call raises" if choice == "error" else f"{choice} runs"
