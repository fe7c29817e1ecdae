"""Lesson: a step replayed as a CUDA graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.learn.lesson import Block, Choice, Code, Number, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.views import bound_sentence, compared_grid, counts_sentence, lanes, role_grid
from foretrace.learn.words import and_list, before_and_now, counted, one_unit, tick
from foretrace.report.escape import plain
from foretrace.units import share_text

if TYPE_CHECKING:
    from foretrace.learn.recorded import Recorded, Shelf

__all__ = ["build"]

_STILL: Final = (
    "which op launched a kernel, and with which shapes",
    "which kernels ran, in which order, and how long",
    "how long the CPU took to prepare each kernel",
)
_KERNELS: Final = (
    "they take less time: the device gets them all at once",
    "they take about as long: the same kernels run",
    "they take more time",
)
# Times this near to each other are called about the same.
_ALIKE: Final = 1.1


def build(shelf: Shelf) -> list[Block]:
    """The lesson over some recordings."""
    eager, replay = shelf["graph-eager"], shelf["graph-replay"]
    return [
        Prose(
            "A CUDA graph records a step's kernels once and then replays them together. Here is a decoding step, "
            "launched kernel by kernel, and then replayed."
        ),
        Code(source("graphs", "decode_step", "captured")),
        _how_long_on_the_cpu(eager, replay),
        _do_kernels_change(eager, replay),
        _how_much_faster(eager, replay),
        _what_is_hidden(replay),
        prose(
            "What to take along: a graph takes the CPU out of the step, and takes the ops out of the trace.",
            f"It helps while the device waits for the CPU; here the device was busy {share_text(eager.busy_share)} of "
            "the time."
            if eager.bound == "cpu"
            else "It helps while the device waits for the CPU.",
            "Read the eager trace first, capture last. Inputs must stay where they are in memory, and shapes must not "
            "change.",
        ),
        Try(
            "Run both on your own card. The kernels' time is your GPU's; what the graph saves depends on your CPU.",
            "foretrace learn graphs --live",
        ),
    ]


def _launches(recorded: Recorded) -> int:
    return len({int(recorded.trace.activities.launch[work.at]) for work in recorded.work})


def _how_long_on_the_cpu(eager: Recorded, replay: Recorded) -> Question:
    calls = and_list(dict.fromkeys(tick(work.launch) for work in replay.work))
    number = counted(_launches(replay), "call")
    scale = one_unit(eager.cpu_ns, replay.cpu_ns)
    return Question(
        key="cpu",
        about="a replayed step on the CPU",
        ask=f"Launched one by one, the step makes {counted(_launches(eager), 'launch', 'launches')} and takes "
        f"{scale(eager.cpu_ns)} on the CPU. How long does it take there as a graph?",
        hint="The driver has the whole list of kernels already.",
        answer=Number(replay.cpu_ns, "ns", within=3),
        look=(
            lanes(eager, "launched one by one", lettered=False, legend="short"),
            lanes(replay, "replayed", lettered=False),
        ),
        because=(
            prose(
                f"Launched one by one: {counts_sentence(eager)} in {counted(_launches(eager), 'launch', 'launches')}, "
                f"{scale(eager.cpu_ns)}. Replayed: {counts_sentence(replay)} in {number} ({calls}), "
                f"{scale(replay.cpu_ns)}; all of them carry the id of that call."
                if _launches(replay) == 1
                else f"Launched one by one: {counts_sentence(eager)}. Replayed: {counts_sentence(replay)} in {number} "
                f"({calls}).",
            ),
        ),
    )


def _do_kernels_change(eager: Recorded, replay: Recorded) -> Question:
    ratio = replay.device_ns / eager.device_ns
    right = 0 if ratio < 1 / _ALIKE else 2 if ratio > _ALIKE else 1
    scale = one_unit(eager.device_ns, replay.device_ns)
    return Question(
        key="kernels",
        about="the kernels of a replay",
        ask="And the kernels themselves, added up: what becomes of their time in the replay?",
        hint="A graph changes who launches. Does it change what runs?",
        answer=Choice(_KERNELS, right),
        look=(role_grid(eager.work), Prose("And replayed:"), role_grid(replay.work)),
        because=(
            prose(
                f"One by one they take {scale(eager.device_ns)} of a step, replayed {scale(replay.device_ns)}.",
                "A graph does not make a kernel faster. It makes the device wait less between them." if right else "",
            ),
        ),
    )


def _how_much_faster(eager: Recorded, replay: Recorded) -> Question:
    ratio = eager.period_ns / replay.period_ns
    scale = one_unit(eager.period_ns, replay.period_ns)
    return Question(
        key="period",
        about="a step's period, one by one over replayed",
        ask=f"One by one a step begins every {scale(eager.period_ns)}. How many times as fast does the graph make it?",
        hint="Either the CPU or the device takes longer for a step. You know both for the replay.",
        answer=Number(ratio, "times", within=1.5),
        look=(compared_grid({"one by one": eager, "replayed": replay}),),
        because=(
            prose(
                f"The period, from step to step: {before_and_now(eager.period_ns, replay.period_ns)}.",
                "The device was busy all the time before, so there was nothing for the graph to win."
                if eager.bound == "device"
                else f"The device waited for launches before. {bound_sentence(replay)}",
            ),
        ),
    )


def _what_is_hidden(replay: Recorded) -> Question:
    owners = {work.owner for work in replay.work}
    behind = [work for work in replay.work if work.graph]
    ops = len(replay.ops)
    doubt = next((each.text for each in replay.reading.doubts if each.code == "graph-replay"), "")
    return Question(
        key="hidden",
        about="what the trace of a replay can still tell",
        ask="Which of these can the trace of the replay still tell?",
        hint="The ops ran when the graph was captured, and nobody recorded then.",
        answer=Choice(_STILL, 1 if behind else 0),
        look=(Prose(f"What foretrace says of this file: {plain(doubt)}"),) if doubt else (),
        because=(
            prose(
                f"There are {counted(ops, 'op')} in a step of this recording; all device work belongs to "
                f"{and_list(tick(owner) for owner in sorted(owners))}, which stands around the replay."
                if behind
                else "Nothing in this recording ran inside a graph.",
                "Names, order and times of kernels are there. Ops, shapes and stacks are not, so a table by op shows a "
                "single row for the whole model."
                if behind
                else "",
            ),
        ),
    )
