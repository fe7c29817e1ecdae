"""Lesson: a whole decoder block."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from foretrace.analysis.attention_backend import attention_path
from foretrace.learn.lesson import Block, Choice, Code, Grid, Number, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.views import (
    LEGEND_IN_SHORT,
    annotated_sentence,
    bound_sentence,
    compared_grid,
    counts_sentence,
    lanes,
    role_grid,
)
from foretrace.learn.words import before_and_now, counted, one_unit, tick, times_text
from foretrace.units import share_text, time_scale, time_text

if TYPE_CHECKING:
    from foretrace.learn.recorded import Recorded, Shelf, Work

__all__ = ["build"]

_ATTENTION: Final = "attention"
_PARTS: Final = (
    "the products of the linear layers",
    "attention: everything between q, k, v and its output",
    "the rest: norms, rotations, activations, sums",
)
_FASTER: Final = ("yes, by about as much", "no, by much less")


def build(shelf: Shelf) -> list[Block]:
    """The lesson over some recordings."""
    eager, sdpa = shelf["decoder-eager"], shelf["decoder-sdpa"]
    blocks: list[Block] = [
        Prose(
            "A decoder block: norm, q k v, rotary embedding, attention, output, norm, gated MLP. First with attention "
            "written out as models do it, then left to SDPA. Everything else is the same code."
        ),
        Code(source("decoder", "eager_attention", "sdpa_attention")),
        prose(annotated_sentence(eager)),
        _how_many(eager),
        *_where_the_time_goes(eager),
        _how_much_less(eager, sdpa),
        _does_the_step_follow(eager, sdpa),
        prose(
            "What to take along: find the part that takes the time before you replace a kernel, and look at the busy "
            "share before you promise what that brings.",
        ),
        Try(
            "Record a block of your own model and look at it by op and by kernel.",
            "foretrace run --steps 3 mymodel:forward",
        ),
    ]
    return blocks


def _how_many(eager: Recorded) -> Question:
    usual = _launch_ns(eager)
    tiny = [work for work in eager.kernel_work if work.time_ns < usual]
    return Question(
        key="kernels",
        about="kernels of an eager block",
        ask="How many kernels does the eager block launch? (Close counts.)",
        hint="Every op of the norms, the rotation and the softmax is a kernel; so is each cast.",
        answer=Number(eager.kernels, within=1.5),
        recording=eager.name,
        metric="kernels",
        look=(lanes(eager, "the eager block"), LEGEND_IN_SHORT, role_grid(eager)),
        because=(
            prose(
                f"A step launches {counts_sentence(eager)}.",
                f"{counted(len(tiny), 'kernel')} of a step {'runs' if len(tiny) == 1 else 'run'} for less time than a "
                f"launch takes on the CPU ({time_text(usual)}, the median)."
                if tiny
                else "",
            ),
        ),
    )


def _launch_ns(recorded: Recorded) -> float:
    """What a launch of the step takes on the CPU, the median."""
    rows = recorded.trace.rows
    calls = {int(recorded.trace.activities.launch[work.at]) for work in recorded.work}
    return median(int(rows.dur[call]) for call in calls)


def _time(works: list[Work]) -> int:
    return sum(work.time_ns for work in works)


def _where_the_time_goes(eager: Recorded) -> list[Question]:
    attention = eager.under(_ATTENTION)
    if not attention:
        return []
    inside = {work.at for work in attention}
    gemms = [work for work in eager.kernel_work if work.at not in inside and work.decoded.role == "gemm"]
    known = inside | {work.at for work in gemms}
    rest = [work for work in eager.work if work.at not in known]
    times = [_time(gemms), _time(attention), _time(rest)]
    total = sum(times) or 1
    scale = time_scale(max(times))
    counts = [len(gemms), len(attention), len(rest)]
    rows = tuple(
        (part, f"{count}", scale(time), share_text(time / total))
        for part, count, time in zip(_PARTS, counts, times, strict=True)
    )
    products = [work for work in attention if work.decoded.role == "gemm"]
    return [
        Question(
            key="part",
            about="the part that takes the most device time",
            ask="Which part of the eager block takes the most time on the device?",
            hint="Most of the arithmetic is in the linear layers. Is most of the time?",
            answer=Choice(_PARTS, times.index(max(times))),
            look=(Grid(("part", "activities", "device", "share"), rows),),
            because=(
                prose(
                    f"Attention takes {share_text(times[1] / total)}; of that, its products take only "
                    f"{share_text(_time(products) / (times[1] or 1))}. The rest of it reads and writes scores."
                    if products
                    else f"Attention takes {share_text(times[1] / total)}.",
                    f"The linear layers take {share_text(times[0] / total)}, and they do most of the arithmetic.",
                ),
            ),
        )
    ]


def _how_much_less(eager: Recorded, sdpa: Recorded) -> Question:
    ratio = eager.device_ns / sdpa.device_ns
    path = attention_path(sdpa.trace)
    before, now = eager.under(_ATTENTION), sdpa.under(_ATTENTION)
    return Question(
        key="device",
        about="device time, eager over SDPA",
        ask="Leave attention to SDPA. How many times less does the block then take on the device?",
        hint="Take away what attention took, and add a single kernel.",
        answer=Number(ratio, "times", within=1.5),
        look=(lanes(sdpa, "the block with SDPA"), role_grid(sdpa)),
        because=(
            prose(
                f"On the device: {before_and_now(eager.device_ns, sdpa.device_ns)}. "
                f"Kernels: {eager.kernels:g} before, {sdpa.kernels:g} now.",
                f"Attention alone: {before_and_now(_time(before), _time(now))}, in "
                f"{counted(len(now), 'activity', 'activities')} in place of {len(before)}."
                if before and now
                else "",
                f"The backend that ran is {tick(path)}." if path else "",
            ),
        ),
    )


def _does_the_step_follow(eager: Recorded, sdpa: Recorded) -> Question:
    device, period = eager.device_ns / sdpa.device_ns, eager.period_ns / sdpa.period_ns
    # As much: at least half of what was won on the device, on the scale of what was won.
    follows = period - 1 >= (device - 1) / 2
    waits = sdpa.bound != "device"
    scale = one_unit(eager.period_ns, sdpa.period_ns)
    return Question(
        key="period",
        about="whether the step gets faster by as much",
        ask=f"On the device the block got {times_text(device)} as fast. Does the step, as you would time it, follow?",
        hint="Compare device time and CPU time of a step, before and now.",
        answer=Choice(_FASTER, 0 if follows else 1),
        look=(compared_grid({"eager": eager, "SDPA": sdpa}),),
        because=(
            prose(
                f"The period, from step to step, went from {scale(eager.period_ns)} to {scale(sdpa.period_ns)}, "
                f"{times_text(period)} as fast.",
                bound_sentence(sdpa),
                "From here on fewer launches help, not faster kernels: compile the block, or capture it in a CUDA "
                "graph, as the next lesson does."
                if waits
                else "The device is still the bound, so what it saves, the step saves.",
            ),
        ),
    )
