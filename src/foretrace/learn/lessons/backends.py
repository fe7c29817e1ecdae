"""Lesson: which backend PyTorch picks for a call of SDPA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from foretrace.analysis.dispatch.decide import BACKENDS
from foretrace.analysis.dispatch.recorded import recorded_calls
from foretrace.errors import MissingDataError, UsageError
from foretrace.learn.lesson import Block, Choice, Code, Grid, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.roof import counted_arithmetic, peak_text
from foretrace.learn.views import counts_sentence
from foretrace.learn.words import and_list, counted, sizes_text, tick, times_text
from foretrace.report.escape import plain
from foretrace.report.roofline_text import rate_text
from foretrace.units import bytes_text, share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.analysis.dispatch.recorded import RecordedCall
    from foretrace.learn.recorded import Recorded, Shelf, Work

__all__ = ["build"]


@dataclass(frozen=True)
class _Case:
    recording: str
    function: str
    about: str
    ask: str
    """What the call is like; its shapes and the question come behind it."""
    against: str = ""
    """The recording that its time is compared with."""
    moral: str = ""


_SDPA: Final = "aten::scaled_dot_product_attention"
_INNER: Final = {
    "math": "aten::_scaled_dot_product_attention_math",
    "flash": "aten::_scaled_dot_product_flash_attention",
    "efficient": "aten::_scaled_dot_product_efficient_attention",
    "cudnn": "aten::_scaled_dot_product_cudnn_attention",
}
# Times this near to each other are called about the same.
_ALIKE: Final = 1.05

_CASES: Final = (
    _Case(
        "sdpa-causal",
        "causal_call",
        "causal by flag",
        "The plain case: bf16, causal by flag.",
    ),
    _Case(
        "sdpa-mask",
        "masked_call",
        "the same triangle as a mask",
        "The same attention, but the triangle is a boolean mask tensor.",
        "sdpa-causal",
        "A mask tensor must be read, and a kernel cannot skip what it does not know to be hidden. Say `is_causal=True` "
        "where that is all the mask says.",
    ),
    _Case(
        "sdpa-fp32",
        "causal_call",
        "causal in float32",
        "The plain case again, but q, k and v are float32.",
        "sdpa-causal",
        "Only some kernels take float32, and autocast does not reach a call outside of it.",
    ),
    _Case(
        "sdpa-gqa",
        "grouped_call",
        "grouped heads",
        "Grouped heads: k and v have fewer heads than q.",
        "sdpa-causal",
        "Not every kernel can share a head of k and v among several of q, and which can depends on the release.",
    ),
    _Case(
        "sdpa-gqa-fp32",
        "grouped_call",
        "grouped heads in float32",
        "Grouped heads and float32 together.",
        "sdpa-gqa",
        "Each condition alone leaves a fast kernel; together they may leave none, and nothing warns about it.",
    ),
    _Case(
        "sdpa-decode",
        "decode_call",
        "one token against a cache",
        "Decoding: a single query against a cache of keys, grouped heads, no mask.",
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
    before = ""
    for case, recorded in found:
        shapes, mask = _shapes(recorded), recorded.dims(_SDPA, 3)
        told = ("" if shapes == before else shapes, f"The mask is {sizes_text(mask)}." if mask else "")
        question = _which(case, recorded, shelf, told)
        if question is None:
            continue
        before = shapes
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


def _shapes(recorded: Recorded) -> str:
    """``q is [4, 32, 1024, 128], k and v are [4, 8, 1024, 128].``; empty where they were not recorded."""
    q, k = (recorded.dims(_SDPA, at) for at in range(2))
    if not q or not k:
        return ""
    return f"q, k and v are {sizes_text(q)}." if q == k else f"q is {sizes_text(q)}, k and v are {sizes_text(k)}."


def _which(case: _Case, recorded: Recorded, shelf: Shelf, shapes: Sequence[str]) -> Question | None:
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
        ask=" ".join(text for text in (case.ask, *shapes, "Which backend runs?") if text),
        hint="Ask of each backend: does it take this dtype, this mask, these head counts?",
        answer=Choice(BACKENDS, BACKENDS.index(call.ran)),
        look=(Grid(("backend", "here", "why"), verdicts, text=(0, 1, 2)),) if verdicts else (),
        because=(
            prose(
                plain(call.text),
                f"{counts_sentence(recorded)}, {time_text(recorded.device_ns)} on the device"
                + (_compared(recorded, against, case) if against is not None else "")
                + ".",
                _besides_the_formula(recorded) if call.ran == "math" else _ahead(recorded, call.ran),
                "" if against is not None else _bound(recorded),
                case.moral,
                _joined(recorded, call.ran),
            ),
        ),
    )


def _inside(recorded: Recorded, ran: str) -> list[Work]:
    """The kernels that the backend's own op launched."""
    return [work for work in recorded.kernel_work if _INNER[ran] in work.path]


def _ahead(recorded: Recorded, ran: str) -> str:
    """What SDPA launches before a backend takes over: it makes a boolean mask into one that can be added."""
    inside = _inside(recorded, ran)
    ahead = [work for work in recorded.kernel_work if work not in inside and work.top == _SDPA]
    if not ahead or not recorded.dims(_SDPA, 3):
        return ""
    names = and_list(dict.fromkeys(tick(work.owner) for work in ahead))
    return f"{len(ahead)} of the kernels ({names}) turn the mask into numbers to add to the scores."


def _joined(recorded: Recorded, ran: str) -> str:
    """Whether a kernel follows that joins what the blocks of another one found."""
    joins = [work for work in _inside(recorded, ran) if work.decoded.role in ("reduction", "attention_combine")]
    return f"The second kernel ({joins[0].short}) joins what they found." if ran != "math" and joins else ""


def _besides_the_formula(recorded: Recorded) -> str:
    """How the math backend's kernels differ from those of a call in half precision, without grouped heads."""
    inside = _inside(recorded, "math")
    repeats = [work for work in inside if any("repeat_interleave" in name for name in work.path)]
    told = []
    if not any(work.decoded.role == "cast" for work in inside):
        told.append("no casts, as the inputs are float32 already")
    if repeats:
        told.append(
            f"{counted(len(repeats), 'kernel')} ({tick('repeat_interleave')}) that copy k and v for each head of q"
        )
    return f"Other than in the lesson on this backend there are {', but '.join(told)}." if told else ""


def _bound(recorded: Recorded) -> str:
    """What bounds the call on this card, and how near it comes to which peak."""
    roof, peak = recorded.roof(_SDPA), peak_text(recorded, _SDPA)
    if roof is None or roof.share_of_peak is None or not peak:
        return ""
    share = share_text(roof.share_of_peak)
    if roof.bound == "compute" and roof.achieved_flops_per_s:
        return (
            f"By its shapes it is bound by arithmetic. It does {counted_arithmetic(recorded)} at "
            f"{rate_text(roof.achieved_flops_per_s, 'FLOP')}, {share} of the card's peak, {peak}."
        )
    if roof.bound == "memory" and roof.achieved_bytes_per_s and roof.bytes:
        return (
            f"By its shapes it is bound by memory. It moves {bytes_text(roof.bytes)} at least, at "
            f"{rate_text(roof.achieved_bytes_per_s, 'B')}, {share} of the card's peak, {peak}."
        )
    return ""


def _compared(recorded: Recorded, against: Recorded, case: _Case) -> str:
    """Over the case it is compared with, where the two are of one shape."""
    if recorded.dims(_SDPA) != against.dims(_SDPA):
        return ""
    ratio = recorded.device_ns / against.device_ns
    other = next(each.about for each in _CASES if each.recording == case.against)
    if 1 / _ALIKE <= ratio <= _ALIKE:
        return f", about as long as {other}"
    if ratio > 1:
        return f", {times_text(ratio)} as long as {other}"
    return f", {times_text(1 / ratio)} as fast as {other}"
