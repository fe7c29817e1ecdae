"""Lesson: a trace that somebody else recorded."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from foretrace.analysis.timeline import timeline
from foretrace.analysis.trust import doubts
from foretrace.analysis.trust.doubt import kinds_text
from foretrace.learn.lesson import Block, Choice, Code, Grid, Near, Number, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.views import annotated_sentence, lanes, step_grid
from foretrace.learn.words import and_list, counted, one_unit, tick, times_text
from foretrace.report.escape import plain
from foretrace.trace.load import load_trace
from foretrace.units import share_text

if TYPE_CHECKING:
    from foretrace.learn.recorded import Recorded, Shelf
    from foretrace.trace.model import Trace

__all__ = ["build"]

_KEPT: Final = (
    "nothing: without its end it is no JSON file",
    "all events that are whole, up to the cut",
    "only what stands before the events: the device and the settings",
)
_CUT: Final = 0.6


def build(shelf: Shelf) -> list[Block]:
    """The lesson over some recordings."""
    stranger = shelf["stranger"]
    proper, first = shelf.get("attention-math"), shelf.get("matmul-first")
    blocks: list[Block] = [
        Prose(
            "A colleague sends a trace of the math backend, recorded like this. Before reading what is in it, ask what "
            "cannot be in it. foretrace does: `foretrace read` begins with a trust header, the lines about what not to "
            "believe in a file."
        ),
        Code(source("fused", "record_plainly")),
        prose(annotated_sentence(stranger)),
        _how_many(stranger, proper),
        *_how_much_time(stranger),
    ]
    if first is not None and len(first.steps) > 1:
        blocks.append(_which_step(first))
    blocks += [
        _what_is_left(stranger),
        *_checklist(stranger, first),
        Prose(
            "What to take along: read the trust header first. It says what in a file not to believe; an empty one "
            "means that nothing was found."
        ),
        Try(
            "Read the oldest trace you can find on your disk. What does its header say?",
            "foretrace read TRACE --all",
        ),
    ]
    return blocks


def _how_many(stranger: Recorded, proper: Recorded | None) -> Question:
    trace = stranger.trace
    total, steps = trace.kernels, max(len(trace.steps), 1)
    naive = total / steps
    lost = int((~trace.activities.linked).sum())
    return Question(
        key="kernels",
        about="kernels a step of a trace with unlinked ones",
        ask=f"The file holds {counted(total, 'kernel')} and {counted(steps, 'step')}. How many kernels does a step "
        "launch?",
        hint="Does every kernel in the file belong to a step in the file?",
        answer=Number(stranger.kernels),
        recording=stranger.name,
        metric="kernels",
        near=(
            *(
                (
                    Near(
                        naive,
                        "That is the quotient, and PyTorch's own table says the same. But not all of these kernels "
                        "were launched in these steps.",
                    ),
                )
                * (naive != stranger.kernels)
            ),
        ),
        look=(lanes(stranger, "a step of the colleague's trace", lettered=False, legend="short"),),
        because=(
            prose(
                f"{counted(lost, 'kernel belongs', 'kernels belong')} to no step: the profiler was switched on while "
                "the device still worked off what was launched before. Those kernels end inside the recording, but "
                "their launches are not in it: foretrace calls them unlinked."
                if lost
                else "Every kernel of this file belongs to a step.",
                f"Recorded with a synchronization before the first step, the same code shows "
                f"{counted(int((~proper.trace.activities.linked).sum()), 'kernel')} without a launch."
                if proper is not None and lost
                else "",
            ),
        ),
    )


def _how_much_time(stranger: Recorded) -> list[Question]:
    acts = stranger.trace.activities
    lost = int(acts.dur[~acts.linked].sum())
    own = int(acts.dur[acts.step >= 0].sum())
    mine, others = kinds_text(stranger.trace, acts.step >= 0), kinds_text(stranger.trace, ~acts.linked)
    if not lost or not own:
        return []
    scale = one_unit(lost, own)
    told = next((doubt.text for doubt in stranger.reading.doubts if doubt.code == "unlinked-activity"), "")
    return [
        Question(
            key="time",
            about="device time that unlinked kernels add to a total",
            ask=f"The {mine} of the steps take {scale(own)} on the device. How much do the unlinked {others} add to "
            "that, in a table that adds everything up?",
            hint="It need not go by the counts: not all kernels take equally long.",
            answer=Number(lost, "ns", within=1.5),
            look=(Prose(f"The trust header says: {plain(told)}"),) if told else (),
            because=(
                prose(
                    f"The steps took {scale(own)} on the device, and the unlinked kernels {scale(lost)} more: the "
                    f"table says {share_text(lost / own)} too much.",
                    "In a recording of more steps the share is smaller, and the fault is the same.",
                ),
            ),
        )
    ]


def _which_step(first: Recorded) -> Question:
    names = tuple(plain(step.name) for step in first.steps)
    slow = max(range(len(names)), key=lambda at: first.steps[at].cpu_time_ns)
    usual = first.later_cpu_ns
    mean = sum(step.cpu_time_ns for step in first.steps) / len(first.steps)
    scale = one_unit(first.steps[slow].cpu_time_ns, usual, mean)
    own = [plain(doubt.text) for doubt in first.reading.doubts if doubt.code == "profiler-overhead"]
    told = (
        f"{names[0]} is cold: {scale(first.steps[0].cpu_time_ns)} on the CPU, where the median of the later steps is "
        f"{scale(usual)}. foretrace leaves it out of all figures of a step."
        if first.steps[0].cold
        else ""
    )
    return Question(
        key="cold",
        about="the step to leave out",
        ask="Another trace, of a small matmul. Which of its steps would you leave out?",
        hint="What happens only once?",
        answer=Choice(names, 0 if first.steps[0].cold else slow),
        look=(step_grid(first.steps),),
        because=(
            prose(
                told,
                *own,
                f"A mean over all steps would say {scale(mean)}, {times_text(mean / usual)} the median of the later "
                "ones.",
            ),
        ),
    )


def _cut_off(stranger: Recorded) -> Trace:
    """The same file, ended in the middle."""
    packed = Path(stranger.trace.path).read_bytes()
    text = gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
    with tempfile.TemporaryDirectory(prefix="foretrace-") as folder:
        path = Path(folder) / "cut-off.json"
        path.write_bytes(text[: int(len(text) * _CUT)])
        return load_trace(path)


def _what_is_left(stranger: Recorded) -> Question:
    cut = _cut_off(stranger)
    told = doubts(cut, timeline(cut))
    header = "\n".join(plain(doubt.text) for doubt in told)
    return Question(
        key="cut",
        about="what is left of a file that was cut off",
        ask=f"The colleague's disk was full, and the file ends after {share_text(_CUT)} of its text. What can still be "
        "read?",
        hint="A reader that insists on the last bracket reads nothing.",
        answer=Choice(_KEPT, 1 if cut.events else 0),
        look=(Code(header, ""),) if header else (),
        because=(
            prose(
                f"{cut.events:,} of {stranger.trace.events:,} events are whole and are read. The header says where the "
                "file ends, and its figures are of what is left: they say little about a whole step.",
                "`--strict` refuses such a file instead.",
            ),
        ),
    )


_QUESTIONS: Final = (
    ("unlinked-activity", "was everything launched inside the recording?"),
    ("missing-activity", "did everything that was launched get recorded?"),
    ("cold-step", "is the first step like the others?"),
    ("profiler-overhead", "did the profiler, or loading code, take time in a step?"),
    ("stream-overlap", "do kernels overlap on a stream, so that a viewer hides some?"),
    ("graph-replay", "do graphs hide ops?"),
    ("no-steps", "are there steps at all?"),
)


def _checklist(stranger: Recorded, first: Recorded | None) -> list[Block]:
    files = {"the colleague's": stranger} | ({"the small matmul's": first} if first is not None else {})
    rows = []
    for code, question in _QUESTIONS:
        hit = [name for name, each in files.items() if any(doubt.code == code for doubt in each.reading.doubts)]
        rows.append((question, code, and_list(hit) or "-"))
    return [
        Prose(f"A checklist, and which of this lesson's files it catches ({tick('foretrace read')} asks all of it):"),
        Grid(("ask", "code in the header", "catches"), tuple(rows), text=(0, 1, 2)),
    ]
