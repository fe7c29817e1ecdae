"""Lesson: a step replayed as a CUDA graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.learn.lesson import Block, Choice, Code, Near, Number, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.views import LEGEND_IN_SHORT, bound_sentence, compared_grid, counts_sentence, lanes, role_grid
from foretrace.learn.words import and_list, before_and_now, counted, one_unit, tick, times_text
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
_HELPS: Final = ("while the device waits for the CPU", "while the device is busy all the time")


def build(shelf: Shelf) -> list[Block]:
    """The lesson over some recordings."""
    eager, replay = shelf["graph-eager"], shelf["graph-replay"]
    return [
        Prose(
            "A CUDA graph records a step's kernels once and then replays them together. Here is a decoding step, "
            "launched kernel by kernel, and then replayed."
        ),
        Code(source("graphs", "decode_step", "captured")),
        _how_many_launches(eager, replay),
        _how_much_faster(eager, replay),
        _what_is_hidden(replay),
        _when_it_helps(eager, replay),
        Prose(
            "What to take along: a graph takes the CPU out of the step, and takes the ops out of the trace. Read the "
            "eager trace first, capture last. Inputs must stay where they are in memory, and shapes must not change."
        ),
        Try(
            "Keep the structure of a step fixed in your tests before and after you capture it: the kernels should be "
            "the same, the launches not.",
            "foretrace learn graphs --live",
        ),
    ]


def _launches(recorded: Recorded) -> int:
    return len({int(recorded.trace.activities.launch[work.at]) for work in recorded.work})


def _how_many_launches(eager: Recorded, replay: Recorded) -> Question:
    calls = and_list(dict.fromkeys(tick(work.launch) for work in replay.work))
    return Question(
        key="launches",
        about="launches of a replayed step",
        ask=f"Launched one by one, the step makes {counted(_launches(eager), 'launch', 'launches')}. How many calls "
        "launch the same work as a graph?",
        hint="The driver has the whole list already.",
        answer=Number(_launches(replay)),
        near=(
            *(
                (Near(_launches(eager), "Then there would be nothing to win."),)
                * (_launches(eager) != _launches(replay))
            ),
        ),
        look=(lanes(eager, "launched one by one"), LEGEND_IN_SHORT, lanes(replay, "replayed"), role_grid(replay)),
        because=(
            prose(
                f"{calls} launches {counts_sentence(replay)}; all of them carry the id of that call.",
                f"Launched one by one it was {counts_sentence(eager)}.",
            ),
        ),
    )


def _how_much_faster(eager: Recorded, replay: Recorded) -> Question:
    ratio = eager.period_ns / replay.period_ns
    return Question(
        key="period",
        about="a step's period, one by one over replayed",
        ask="How many times faster is a step then, from one to the next?",
        hint=f"Launched one by one, the device was busy {share_text(eager.busy_share)} of the time.",
        answer=Number(ratio, "times", within=1.5),
        look=(compared_grid({"one by one": eager, "replayed": replay}),),
        because=(
            prose(
                f"The CPU side of a step: {before_and_now(eager.cpu_ns, replay.cpu_ns)}. The period: "
                f"{before_and_now(eager.period_ns, replay.period_ns)}.",
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
                f"There are {counted(ops, 'op')} in a step of this recording; every activity is owned by "
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


def _when_it_helps(eager: Recorded, replay: Recorded) -> Question:
    won = eager.period_ns / replay.period_ns
    scale = one_unit(eager.device_ns, replay.device_ns)
    return Question(
        key="helps",
        about="when a graph helps",
        ask="So when does a graph help?",
        hint="It changes what the CPU does, and leaves the kernels as they are.",
        answer=Choice(_HELPS, 0),
        look=(),
        because=(
            prose(
                f"The kernels took {scale(eager.device_ns)} of a step before and take {scale(replay.device_ns)} in the "
                "replay: a graph does not make a kernel faster.",
                f"Here the busy share was {share_text(eager.busy_share)}, and the step became {times_text(won)} as "
                "fast."
                if won > 1
                else f"Here the busy share was {share_text(eager.busy_share)}, and the step became no faster.",
            ),
        ),
    )
