"""Lesson: which backend PyTorch picks for a call of SDPA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from foretrace.analysis.dispatch.decide import BACKENDS
from foretrace.analysis.dispatch.recorded import recorded_calls
from foretrace.errors import MissingDataError, UsageError
from foretrace.learn.lesson import Block, Choice, Code, Grid, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.views import counts_sentence
from foretrace.learn.words import times_text
from foretrace.report.escape import plain
from foretrace.units import share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.analysis.dispatch.recorded import RecordedCall
    from foretrace.learn.recorded import Recorded, Shelf

__all__ = ["build"]


@dataclass(frozen=True)
class _Case:
    recording: str
    function: str
    about: str
    ask: str
    against: str = ""
    """The recording that its time is compared with."""
    moral: str = ""


# Times this near to each other are called about the same.
_ALIKE: Final = 1.05

_CASES: Final = (
    _Case(
        "sdpa-causal",
        "causal_call",
        "causal by flag",
        "The plain case: bf16, causal by flag. Which backend runs?",
    ),
    _Case(
        "sdpa-mask",
        "masked_call",
        "the same triangle as a mask",
        "The same attention, but the triangle is a boolean mask tensor. Which backend runs now?",
        "sdpa-causal",
        "A mask tensor must be read, and a kernel cannot skip what it does not know to be hidden. Say `is_causal=True` "
        "where that is all the mask says.",
    ),
    _Case(
        "sdpa-fp32",
        "causal_call",
        "causal in float32",
        "The plain case again, but q, k and v are float32. Which backend runs?",
        "sdpa-causal",
        "Only some kernels take float32, and autocast does not reach a call outside of it.",
    ),
    _Case(
        "sdpa-gqa",
        "grouped_call",
        "grouped heads",
        "Grouped heads: k and v have fewer heads than q. Which backend runs?",
        "sdpa-causal",
        "Not every kernel can share a head of k and v among several of q, and which can depends on the release.",
    ),
    _Case(
        "sdpa-gqa-fp32",
        "grouped_call",
        "grouped heads in float32",
        "Grouped heads and float32 together. Which backend runs?",
        "sdpa-gqa",
        "Each condition alone leaves a fast kernel; together they may leave none, and nothing warns about it.",
    ),
    _Case(
        "sdpa-decode",
        "decode_call",
        "one token against a cache",
        "Decoding: a single query against a cache of keys, grouped heads, no mask. Which backend runs?",
        "",
        "With a single query there is little to compute and the whole cache to read. Kernels for it split the keys "
        "among blocks, so that all of the card reads.",
    ),
)


def build(shelf: Shelf) -> list[Block]:
    """The lesson over some recordings."""
    found = [(case, recorded) for case in _CASES if (recorded := shelf.get(case.recording)) is not None]
    if not found:
        shelf[_CASES[0].recording]
    blocks: list[Block] = [
        Prose(
            "SDPA is a front door. Behind it PyTorch asks its backends in order of preference, and the first that "
            "takes the call runs. Nothing in your code says which; the trace does, by the op inside."
        )
    ]
    shown: set[str] = set()
    for case, recorded in found:
        question = _which(case, recorded, shelf)
        if question is None:
            continue
        if case.function not in shown:
            blocks.append(Code(source("backends", case.function)))
            shown.add(case.function)
        blocks.append(question)
    if not shown:
        raise MissingDataError(f"{shelf.folder}: no recording of a call of SDPA whose backend can be told.")
    blocks += [
        Prose(
            "What to take along: the dtype, the mask, the head counts and the lengths decide, and you can ask before "
            "you run."
        ),
        Try(
            "Ask for a call of your own model, with its shapes, on the card it will run on.",
            "foretrace why --q 4,32,1024,128 --k 4,8,1024,128 --gqa --causal --dtype fp32 --gpu A100 --torch 2.11",
        ),
    ]
    return blocks


def _call(recorded: Recorded, shelf: Shelf) -> RecordedCall | None:
    """The recording's call of SDPA, judged by the release that recorded it where its rules are known."""
    device = shelf.about.device
    torch = device.torch.partition("+")[0] if device is not None and device.torch else ""
    cudnn = int(device.cudnn) if device is not None and (device.cudnn or "").isdecimal() and device.cudnn else None
    try:
        calls = recorded_calls(recorded.trace, torch=".".join(torch.split(".")[:2]) or None, cudnn=cudnn)
    except UsageError:
        calls = recorded_calls(recorded.trace)
    return calls[0] if calls else None


def _which(case: _Case, recorded: Recorded, shelf: Shelf) -> Question | None:
    call = _call(recorded, shelf)
    if call is None or call.ran not in BACKENDS:
        return None
    against = shelf.get(case.against) if case.against else None
    verdicts = (
        ()
        if call.dispatch is None
        else tuple(
            (
                name,
                "runs" if name == call.ran else "could run" if verdict.eligible else "cannot",
                plain(verdict.text),
            )
            for name, verdict in call.dispatch.backends.items()
        )
    )
    return Question(
        key=case.recording,
        about=case.about,
        ask=case.ask,
        hint="Ask of each backend: does it take this dtype, this mask, these head counts?",
        answer=Choice(BACKENDS, BACKENDS.index(call.ran)),
        look=(Grid(("backend", "here", "why"), verdicts, text=(0, 1, 2)),) if verdicts else (),
        because=(
            prose(
                plain(call.text),
                f"{counts_sentence(recorded)}, {time_text(recorded.device_ns)} on the device"
                + (_compared(recorded, against, case) if against is not None else "")
                + ".",
                _bound(recorded),
                case.moral,
            ),
        ),
    )


def _bound(recorded: Recorded) -> str:
    """What bounds the call on this card, and how near it comes."""
    roof = recorded.roof("aten::scaled_dot_product_attention")
    if roof is None or roof.share_of_peak is None or roof.bound not in ("memory", "compute"):
        return ""
    what = "memory" if roof.bound == "memory" else "arithmetic"
    return f"By its shapes it is bound by {what}, and it reaches {share_text(roof.share_of_peak)} of that peak."


def _compared(recorded: Recorded, against: Recorded, case: _Case) -> str:
    """Over the case it is compared with, where the two are of one shape."""
    if _sizes(recorded) != _sizes(against):
        return ""
    ratio = recorded.device_ns / against.device_ns
    other = next(each.about for each in _CASES if each.recording == case.against)
    if 1 / _ALIKE <= ratio <= _ALIKE:
        return f", about as long as {other}"
    if ratio > 1:
        return f", {times_text(ratio)} as long as {other}"
    return f", {times_text(1 / ratio)} as fast as {other}"


def _sizes(recorded: Recorded) -> Sequence[int]:
    return recorded.dims("aten::scaled_dot_product_attention")
