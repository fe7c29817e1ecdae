"""Lesson: attention written out, masked out of place and in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.learn.legend import SECOND_THREAD
from foretrace.learn.lesson import Block, Choice, Code, Near, Number, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.recorded import launched
from foretrace.learn.views import annotated_sentence, counts_sentence, kernel_grid, lanes
from foretrace.learn.words import and_list, before_and_now, counted, one_unit, sizes_text, tick
from foretrace.report.escape import plain
from foretrace.report.roofline_text import rate_text
from foretrace.units import bytes_text, share_text, time_text

if TYPE_CHECKING:
    from foretrace.learn.recorded import Recorded, Shelf, Work

__all__ = ["build"]

_ALLOWED = (
    "it runs: the backward pass needs nothing that is overwritten",
    "autograd raises an error",
)
_S = 1e9
_FAST = 0.7
"""From this share of the card's bandwidth on, a copy is as fast as copies are."""


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
        prose(
            f"q, k and v are {sizes_text(dims)}: batch, heads, length, head dimension. No gradients are kept.",
            annotated_sentence(naive),
        ),
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


def _copies(recorded: Recorded) -> list[Work]:
    return [work for work in recorded.work if work.kind == "memcpy"]


def _how_many(naive: Recorded) -> Question:
    both = naive.kernels + naive.memcpys
    lines = [op for op in naive.top_ops if launched(op)]
    scale = one_unit(naive.device_ns, naive.cpu_ns)
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
        look=(kernel_grid(naive, details=False, launchers=False),),
        because=(
            prose(
                f"A step launches {counts_sentence(naive)}, in {counted(len(lines), 'op')} that the code calls.",
                f"They take {scale(naive.device_ns)} on the device, while the CPU is done after "
                f"{scale(naive.cpu_ns)}: it runs ahead, and the device works off the queue."
                if naive.cpu_ns < naive.device_ns
                else f"They take {scale(naive.device_ns)} on the device.",
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
    inner = next((op.name for op in naive.ops if op.name == f"{copy.top}_"), "")
    copiers = {work.top for work in copies}
    others = [name for name in names if name not in copiers]
    return [
        Question(
            key="copies",
            about="the op that copies",
            ask=f"A copy is among them ({copy.letter}), and no line of the code asks for it. Which op makes it?",
            hint="Which op could be built from its own in-place form?",
            answer=Choice(tuple(plain(name) for name in names), names.index(copy.top)),
            look=(lanes(naive, "attention written out", legend="short"),),
            because=(
                prose(
                    f"{tick(copy.top)} calls {chain}, and that launches {copy.letter}." if chain else "",
                    f"Then it calls {tick(inner)}, its in-place form, on the copy." if inner else "",
                    f"An op without an underscore need not do that: {and_list(tick(name) for name in others)} read "
                    "their input and write a new output, without a copy. Only this op is built from its in-place form."
                    if inner and len(others) > 1
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
    share = rate / peaks.bytes_per_s if peaks and peaks.bytes_per_s else 0
    of_peak = f", {share_text(share)} of the card's bandwidth" if share else ""
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
                    f"It copies the scores, {sizes_text(dims)} in bf16: {bytes_text(moved)}." if dims else "",
                    f"That takes {time_text(copy.time_ns)}, because every byte is read and written: "
                    f"{rate_text(rate, 'B')}{of_peak}.",
                    "The copy is about as fast as a copy can be; it is only not needed." if share > _FAST else "",
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
        f"Peak memory is the same, {bytes_text(peaks[0])}: the line that scales also holds its input and its output at "
        "the same time. What is saved is traffic, not space."
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
            hint="You know the times of the copy and of the step.",
            answer=Number(saved / naive.device_ns, "share", within=1.5, most=1),
            look=(lanes(inplace, "masked in place"), kernel_grid(inplace)),
            because=(
                prose(
                    told,
                    f"A step on the device: {before_and_now(naive.device_ns, inplace.device_ns)}. "
                    + ("That is the copy." if alike else ""),
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
        blocks += _what_autograd_says(message)
    return blocks


def _is_it_allowed(
    naive: Recorded, inplace: Recorded | None, refused: str | None, difference: float | None
) -> Question:
    left = [] if inplace is None else _copies(inplace)
    owners = list(dict.fromkeys(_backward(work) for work in left))
    return Question(
        key="training",
        about="masking in place in training",
        ask="Is the underscore allowed in training too, where gradients are kept?",
        hint="What does the backward pass of each line need: its input, its output, or neither?",
        answer=Choice(_ALLOWED, 1 if inplace is None else 0),
        look=(
            ()
            if inplace is None
            else (lanes(inplace, "forward and backward, masked in place", apart=True, lettered=False, legend="short"),)
        ),
        tried=True,
        because=(
            prose(
                f"It raised: {refused}"
                if inplace is None
                else f"It ran{_gradients(difference)}. The line before multiplies by a number: its backward needs that "
                "number, not the product. The backward of the mask needs the mask.",
                "" if inplace is None else _about_the_thread(inplace),
                ""
                if inplace is None
                else f"Copies in a step: {naive.memcpys:g} before, {inplace.memcpys:g} now."
                + (
                    f" What is left belongs to the backward pass: {and_list(tick(name) for name in owners)} masks the "
                    "gradient out of place, and no line of your code decides that."
                    if left
                    else ""
                ),
            ),
        ),
    )


def _about_the_thread(inplace: Recorded) -> str:
    """A word on the second row of ops, where autograd has a thread of its own."""
    threads = {int(inplace.trace.rows.thread[inplace.trace.activities.launch[work.at]]) for work in inplace.work}
    backward = any(_backward(work) != work.top for work in inplace.work)
    return (
        f"The ops beside {tick(SECOND_THREAD)} are on autograd's own thread." if len(threads) > 1 and backward else ""
    )


def _gradients(difference: float | None) -> str:
    if difference is None:
        return ""
    if difference == 0:
        return ", and the gradients are the same to the last bit"
    return f", and the gradients differ by {difference:.1e} at most"


def _backward(work: Work) -> str:
    """The backward op that launched it, as autograd names it."""
    names = [name for name in work.path if "Backward" in name]
    return names[-1] if names else work.top


def _what_autograd_says(message: str) -> list[Block]:
    return [
        Prose("And a line further down, in place on the output of softmax:"),
        Code(source("attention", "overwritten")),
        Question(
            key="autograd",
            about="writing over softmax's output in training",
            ask="Does that run?",
            hint="The backward of softmax is computed from its output.",
            answer=Choice(_ALLOWED, 1),
            tried=True,
            look=(),
            because=(
                Prose("It was tried on a small tensor, and autograd says:"),
                Code(
                    message.replace(": [", ":\n[").replace(", is at", ",\nis at").replace("; expected", ";\nexpected"),
                    "",
                ),
                Prose(
                    "Each tensor counts how often it was written in place, and autograd notes the count of what it "
                    "saves. Softmax saved its output; when its backward begins, the count is another. So it is an "
                    "error, never a wrong gradient. Do not write in place on what an op has saved: softmax, sigmoid, "
                    "tanh, exp and relu save their output, a product of tensors saves its inputs. What no op has saved "
                    "may be overwritten."
                ),
            ),
        ),
    ]


def _recap(naive: Recorded, inplace: Recorded | None) -> Prose:
    copies = _copies(naive)
    if inplace is None or not copies or inplace.device_ns >= naive.device_ns:
        return Prose("What to take along: the trace shows which op copies, and the code need not.")
    return prose(
        f"What to take along: the trailing underscore saved a copy of {bytes_text(copies[0].bytes or 0)}, which is "
        f"{share_text(1 - inplace.device_ns / naive.device_ns)} of the step, and no kernel.",
        "Most ops without an underscore write a new output and copy nothing; a few copy their input first. The trace "
        "shows which.",
    )
