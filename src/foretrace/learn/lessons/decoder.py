"""Lesson: a whole decoder block."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from foretrace.analysis.attention_backend import attention_path
from foretrace.learn.lesson import Block, Choice, Code, Grid, Number, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.views import (
    annotated_sentence,
    bound_sentence,
    compared_grid,
    counts_sentence,
    kinds_text,
    lanes,
    role_grid,
)
from foretrace.learn.words import and_list, before_and_now, counted, one_unit, shown_sum, tick, times_text
from foretrace.units import share_text, time_scale, time_text

if TYPE_CHECKING:
    from foretrace.learn.recorded import Recorded, Shelf, Work

__all__ = ["build"]

_ATTENTION: Final = "attention"
_SDPA: Final = "aten::scaled_dot_product_attention"
_PARTS: Final = (
    "the products of the linear layers",
    "attention: everything from q, k, v to its output, the rotation included",
    "the rest: norms, activation, sums",
)
_FASTER: Final = ("yes, by about as much", "no, by much less")


def build(shelf: Shelf) -> list[Block]:
    """The lesson over some recordings."""
    eager, sdpa = shelf["decoder-eager"], shelf["decoder-sdpa"]
    blocks: list[Block] = [
        Prose(
            "A decoder block: norm, q k v, rotary embedding, attention, output, norm, gated MLP. First with attention "
            "written out as models do it (eager), then left to SDPA. Everything else is the same code."
        ),
        Code(source("decoder", "rotated", "eager_attention", "sdpa_attention")),
        prose("Both q and k are rotated before the one or the other is called.", annotated_sentence(eager)),
        *_how_many(eager),
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


def _how_many(eager: Recorded) -> list[Question]:
    attention = eager.under(_ATTENTION)
    kernels = [work for work in attention if work.kind == "kernel"]
    if not kernels:
        return []
    usual = _launch_ns(eager)
    tiny = [work for work in eager.kernel_work if work.time_ns < usual]
    copies = list(dict.fromkeys(tick(_copier(work)) for work in kernels if work.decoded.role == "copy"))
    return [
        Question(
            key="kernels",
            about="kernels of attention in an eager block",
            ask="How many kernels does the eager attention launch, the rotation of q and of k included?",
            hint="In eager mode each sum, product and copy is a kernel of its own; so is each cast.",
            answer=Number(len(kernels), within=1.25),
            look=(
                lanes(eager, "the eager block", lettered=False, legend="short"),
                Prose("What attention launches:"),
                role_grid(attention),
            ),
            because=(
                prose(
                    f"The copies are made by kernels ({and_list(copies)}). A memcpy would be counted apart; these are "
                    "kernels like the others."
                    if copies
                    else "",
                    f"The whole block launches {counts_sentence(eager)}.",
                    f"{counted(len(tiny), 'kernel')} of them {'runs' if len(tiny) == 1 else 'run'} for less time than "
                    f"a launch takes on the CPU ({time_text(usual)}, the median)."
                    if tiny
                    else "",
                ),
            ),
        )
    ]


def _copier(work: Work) -> str:
    """The op that asked for a copy."""
    names = [name for name in work.path if name not in ("aten::copy_", "aten::reshape", "aten::matmul")]
    return names[-1] if names else work.owner


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
            look=(Grid(("part", "launches", "device", "share"), rows),),
            because=(
                prose(
                    f"Attention takes {share_text(times[1] / total)}; of that, its products take only "
                    f"{share_text(_time(products) / (times[1] or 1))}. Most of the rest reads and writes scores."
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
        ask="Leave attention to SDPA. How many times as fast is the block then on the device?",
        hint="Take away what attention took, and add a single kernel.",
        answer=Number(ratio, "times", within=1.5),
        look=(lanes(sdpa, "the block with SDPA", lettered=False), role_grid(sdpa.work)),
        because=(
            prose(
                f"On the device: {before_and_now(eager.device_ns, sdpa.device_ns)}. "
                f"Kernels: {eager.kernels:g} before, {sdpa.kernels:g} now.",
                f"Attention alone: {before_and_now(_time(before), _time(now))}, in {kinds_text(now)} in place of "
                f"{kinds_text(before)}."
                if before and now
                else "",
                _inside_attention(now),
                f"The backend that ran is {tick(path)}." if path else "",
            ),
        ),
    )


def _inside_attention(now: list[Work]) -> str:
    """How much of attention is SDPA itself, and what the rest is."""
    own = [work for work in now if _SDPA in work.path]
    rest = [work for work in now if _SDPA not in work.path]
    if not own or not rest:
        return ""
    scale = one_unit(_time(now))
    left = shown_sum([_time(now)], scale) - shown_sum([_time(own)], scale)
    return (
        f"Of these {scale(_time(now))} SDPA itself takes {scale(_time(own))}; the other {scale(left)} are the rotation "
        f"of q and k ({kinds_text(rest)}), which is the same as before."
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
