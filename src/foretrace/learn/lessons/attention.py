"""Lesson: attention written out, masked out of place and in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.learn.lesson import Block, Choice, Code, Near, Number, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.recorded import launched
from foretrace.learn.views import counts_sentence, kernel_grid, lanes
from foretrace.learn.words import and_list, before_and_now, counted, tick
from foretrace.report.escape import plain
from foretrace.report.roofline_text import rate_text
from foretrace.units import bytes_text, share_text, time_text

if TYPE_CHECKING:
    from foretrace.learn.recorded import Recorded, Shelf, Work

__all__ = ["build"]

_ALLOWED = (
    "yes: the backward pass needs nothing that it overwrites",
    "no: autograd raises an error",
)
_S = 1e9


def build(shelf: Shelf) -> list[Block]:
    """The lesson over some recordings."""
    naive = shelf["attention-naive"]
    inplace = shelf.get("attention-inplace")
    dims = naive.dims("aten::matmul")
    blocks: list[Block] = [
        Prose(
            "The formula of attention, line by line: a product, a scale, a mask, a softmax, a product. The mask was "
            "made beforehand."
        ),
        Code(source("attention", "naive")),
        Prose(f"q, k and v are {_sizes(dims)}: batch, heads, length, head dimension. No gradients are kept."),
        _how_many(naive),
        *_which_copies(naive),
        *_how_large(naive),
    ]
    if inplace is not None:
        blocks += [
            Prose("Now with a trailing underscore: `scores.masked_fill_(...)` masks in place."),
            *_what_it_saves(naive, inplace, shelf),
        ]
    blocks += _training(shelf)
    blocks += [
        _recap(naive, inplace),
        Try(
            "Look for the same in a trace of your own: foretrace calls it a hidden copy.",
            "foretrace explain hidden-copy",
        ),
    ]
    return blocks


def _sizes(dims: tuple[int, ...]) -> str:
    return "[" + ", ".join(f"{size}" for size in dims) + "]" if dims else "of unknown size"


def _copies(recorded: Recorded) -> list[Work]:
    return [work for work in recorded.work if work.kind == "memcpy"]


def _how_many(naive: Recorded) -> Question:
    both = naive.kernels + naive.memcpys
    lines = [op for op in naive.top_ops if launched(op)]
    return Question(
        key="kernels",
        about="kernels of attention written out",
        ask="How many kernels does a call launch? (Kernels only: foretrace counts copies and memsets apart.)",
        hint="Go through the code line by line, and ask of each line whether it computes something.",
        answer=Number(naive.kernels),
        recording=naive.name,
        metric="kernels",
        near=(
            *(
                (
                    Near(
                        both,
                        f"That counts {counted(naive.memcpys, 'copy', 'copies')} as well, as many walk-throughs do. "
                        "Who copies is the next question.",
                    ),
                )
                * bool(naive.memcpys)
            ),
        ),
        look=(lanes(naive, "attention written out"), kernel_grid(naive)),
        because=(
            prose(
                f"A step launches {counts_sentence(naive)}, in {counted(len(lines), 'op')} that the code calls.",
                f"They take {time_text(naive.device_ns)} on the device, while the CPU is done after "
                f"{time_text(naive.cpu_ns)}: it runs ahead, and the device works off the queue."
                if naive.cpu_ns < naive.device_ns
                else f"They take {time_text(naive.device_ns)} on the device.",
            ),
        ),
    )


def _which_copies(naive: Recorded) -> list[Question]:
    copies = _copies(naive)
    names = list(dict.fromkeys(op.name for op in naive.top_ops if launched(op)))
    if not copies or copies[0].top not in names:
        return []
    copy = copies[0]
    chain = ", which calls ".join(tick(name) for name in copy.path[1:])
    return [
        Question(
            key="copies",
            about="the op that copies",
            ask=f"A copy is among them ({copy.letter}), and no line of the code asks for it. Which op makes it?",
            hint="Which op promises to leave its input as it was?",
            answer=Choice(tuple(plain(name) for name in names), names.index(copy.top)),
            look=(),
            because=(
                prose(
                    f"{tick(copy.top)} calls {chain}, and that launches {copy.letter}." if chain else "",
                    "Without the underscore the op must not touch its input, so it copies it first and then runs the "
                    "in-place op on the copy."
                    if copy.top.endswith("masked_fill")
                    else "",
                ),
            ),
        )
    ]


def _how_large(naive: Recorded) -> list[Question]:
    copies = _copies(naive)
    if not copies or not copies[0].bytes:
        return []
    copy = copies[0]
    moved = copy.bytes or 0
    dims = naive.dims(copy.top)
    rate = 2 * moved / copy.time_ns * _S
    peaks = naive.roofline.peaks
    of_peak = f", {share_text(rate / peaks.bytes_per_s)} of the card's bandwidth" if peaks and peaks.bytes_per_s else ""
    return [
        Question(
            key="bytes",
            about="bytes copied",
            ask="How many bytes does it copy?",
            hint="The scores: one number for each batch, head, query and key.",
            answer=Number(moved, "bytes", within=2),
            look=(),
            because=(
                prose(
                    f"It copies the scores, {_sizes(dims)} in bf16: {bytes_text(moved)}." if dims else "",
                    f"That takes {time_text(copy.time_ns)}, because every byte is read and written: "
                    f"{rate_text(rate, 'B')}{of_peak}. The copy is as fast as a copy can be; it is only not needed.",
                ),
            ),
        )
    ]


def _what_it_saves(naive: Recorded, inplace: Recorded, shelf: Shelf) -> list[Question]:
    saved = naive.device_ns - inplace.device_ns
    copies = _copies(naive)
    memory = shelf.about.notes.peak_memory_bytes
    peaks = [memory.get(each.name) for each in (naive, inplace)]
    gone = naive.memcpys - inplace.memcpys
    told = (
        f"{counted(naive.kernels, 'kernel')} before, {counted(inplace.kernels, 'kernel')} now; "
        f"{counted(naive.memcpys, 'copy', 'copies')} before, {counted(inplace.memcpys, 'copy', 'copies')} now."
    )
    copied = sum(work.time_ns for work in copies)
    alike = gone > 0 and abs(copied - saved) < copied / 10
    weight = (
        "Peak memory is the same, because another step of the formula needs as much anyway: what is saved is traffic, "
        "not space."
        if peaks[0] is not None and peaks[0] == peaks[1]
        else f"Peak memory falls from {bytes_text(peaks[0])} to {bytes_text(peaks[1])}."
        if peaks[0] is not None and peaks[1] is not None and peaks[1] < peaks[0]
        else ""
    )
    if saved <= 0:
        return []
    return [
        Question(
            key="saved",
            about="device time that the underscore saves",
            ask="What share of a step's device time does the underscore save?",
            hint="You know the copy's time from the table above.",
            answer=Number(saved / naive.device_ns, "share", within=1.6),
            look=(lanes(inplace, "masked in place"), kernel_grid(inplace)),
            because=(
                prose(
                    told,
                    f"A step on the device: {before_and_now(naive.device_ns, inplace.device_ns)}. "
                    + ("All of it is the copy." if alike else ""),
                    weight,
                ),
            ),
        )
    ]


def _training(shelf: Shelf) -> list[Block]:
    naive, inplace = shelf.get("attention-naive-training"), shelf.get("attention-inplace-training")
    refused = shelf.about.refused.get("attention-inplace-training")
    blocks: list[Block] = []
    if naive is not None and (inplace is not None or refused is not None):
        blocks.append(_is_it_allowed(naive, inplace, refused, shelf.about.notes.gradient_difference))
    message = shelf.about.notes.autograd
    if message is not None:
        blocks.append(_what_autograd_says(message))
    return blocks


def _is_it_allowed(
    naive: Recorded, inplace: Recorded | None, refused: str | None, difference: float | None
) -> Question:
    left = [] if inplace is None else _copies(inplace)
    owners = list(dict.fromkeys(next((name for name in work.path if "Backward" in name), work.top) for work in left))
    return Question(
        key="training",
        about="masking in place in training",
        ask="Is the underscore allowed in training, too, with gradients kept?",
        hint="What does the backward pass of each line need: its input, its output, or neither?",
        answer=Choice(_ALLOWED, 1 if inplace is None else 0),
        look=(() if inplace is None else (lanes(inplace, "forward and backward, masked in place"),)),
        because=(
            prose(
                f"It raised: {refused}"
                if inplace is None
                else f"It ran{_gradients(difference)}. The line before multiplies by a number, and the backward of "
                "that needs the number only, not the product; the backward of the mask needs the mask.",
                ""
                if inplace is None
                else f"Copies in a step: {naive.memcpys:g} before, {inplace.memcpys:g} now"
                + (
                    f"; what is left is under {and_list(tick(name) for name in owners)}: the gradient is masked out of "
                    "place as well, and no underscore of yours reaches there."
                    if left
                    else "."
                ),
            ),
        ),
    )


def _gradients(difference: float | None) -> str:
    if difference is None:
        return ""
    if difference == 0:
        return ", and the gradients are the same to the last bit"
    return f", and the gradients differ by {difference:.1e} at most"


def _what_autograd_says(message: str) -> Question:
    return Question(
        key="autograd",
        about="writing over softmax's output in training",
        ask="And in place on the output of softmax? The function below multiplies the weights in place.",
        hint="The backward of softmax is computed from its output.",
        answer=Choice(_ALLOWED, 1),
        look=(Code(source("attention", "overwritten")),),
        because=(
            Prose("Autograd says:"),
            Code(
                message.replace(": [", ":\n[").replace(", is at", ",\nis at").replace("; expected", ";\nexpected"), ""
            ),
            Prose(
                "Each tensor counts how often it was written in place, and autograd remembers the count of what it "
                "saved. Softmax saved its output, so writing over it is noticed when the backward pass begins: an "
                "error, never a wrong gradient. In place is safe on what no op saved. Ops that save their output are "
                "softmax, sigmoid, tanh, exp, relu; ops that save their inputs are products of tensors."
            ),
        ),
    )


def _recap(naive: Recorded, inplace: Recorded | None) -> Prose:
    copies = _copies(naive)
    if inplace is None or not copies or inplace.device_ns >= naive.device_ns:
        return Prose("What to take along: an op without an underscore owes you its input unchanged.")
    return prose(
        f"What to take along: the trailing underscore saved a copy of {bytes_text(copies[0].bytes or 0)}, which is "
        f"{share_text(1 - inplace.device_ns / naive.device_ns)} of the step, and no kernel.",
        "An op without an underscore owes you its input unchanged, and pays for that with a copy.",
    )
