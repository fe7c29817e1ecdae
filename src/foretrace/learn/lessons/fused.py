"""Lesson: SDPA's fused kernels."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Final

from foretrace.learn.cold import cpu_parts
from foretrace.learn.lesson import Block, Choice, Code, Grid, Number, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.recorded import launched
from foretrace.learn.roof import counted_arithmetic, peak_text
from foretrace.learn.views import (
    annotated_sentence,
    counts_sentence,
    kernel_grid,
    lanes,
    op_grid,
    step_grid,
)
from foretrace.learn.words import and_list, counted, one_unit, sizes_text, tick, times_text
from foretrace.report.escape import plain
from foretrace.report.roofline_text import rate_text
from foretrace.units import share_text, time_scale, time_text

if TYPE_CHECKING:
    from foretrace.learn.recorded import Recorded, Shelf, Work

__all__ = ["build"]

_NAMES: Final = {"attention-efficient": "efficient", "attention-flash": "flash", "attention-cudnn": "cudnn"}
_SDPA: Final = "aten::scaled_dot_product_attention"
_LOW_PCT: Final = 50
"""Below this occupancy people begin to worry."""
_NEAR_PEAK: Final = 0.7
"""From this share of the card's peak on, there is little left to win."""
_WHERE: Final = (
    "to the device: the kernel is slower at first",
    "to the CPU, in the call that launches the kernel",
    "to the CPU, before that call",
)


def build(shelf: Shelf) -> list[Block]:
    """The lesson over some recordings."""
    naive = shelf["attention-naive"]
    found = {name: recorded for key, name in _NAMES.items() if (recorded := shelf.get(key)) is not None}
    if not found:
        shelf["attention-flash"]
    some = found.get("flash") or next(iter(found.values()))
    blocks: list[Block] = [
        Prose(
            "The fast backends share an idea: take a tile of queries, walk over the keys, and keep a running maximum "
            "and a running sum, so that the softmax can be corrected as better maxima turn up. The score matrix is "
            "never written to memory."
        ),
        Code(source("fused", "attention")),
        prose(f"q, k and v are {sizes_text(some.dims(_SDPA))} as before.", annotated_sentence(some)),
        _how_many(some, naive, next(name for name, recorded in found.items() if recorded is some)),
    ]
    if len(found) > 1:
        blocks.append(_which_is_fastest(found, naive, shelf.get("attention-math")))
    if "flash" in found:
        blocks += _how_full(found, naive)
    first, cudnn = shelf.get("attention-cudnn-first"), found.get("cudnn")
    if first is not None and len(first.steps) > 1:
        blocks.append(_where_the_first_call_goes(first))
    if cudnn is not None and "flash" in found:
        blocks += _what_transposes_cost(found["flash"], cudnn)
        blocks += _which_call_launches(found["flash"], cudnn)
    blocks += [
        *_recap(found, naive),
        Try(
            "Measure all of them at a shape of your own, on your own card.",
            "foretrace attention --length 2048 --head-dim 128",
        ),
    ]
    return blocks


def _attention(recorded: Recorded) -> Work | None:
    """The kernel that takes the most time."""
    return max(recorded.kernel_work, key=lambda work: work.time_ns, default=None)


def _how_many(some: Recorded, naive: Recorded, name: str) -> Question:
    return Question(
        key="kernels",
        about="kernels of a fused backend",
        ask=f"By hand it took {counted(naive.kernels, 'kernel')}. How many does the {name} backend launch for a call?",
        hint="Between the kernels of the code by hand, the scores go to memory and come back.",
        answer=Number(some.kernels),
        recording=some.name,
        metric="kernels",
        near=(),
        look=(lanes(some, f"the {name} backend", legend="short"), kernel_grid(some)),
        because=(
            prose(
                f"A step launches {counts_sentence(some)}.",
                "What used to be handed over through memory now stays in registers and shared memory until it is done.",
            ),
        ),
    )


def _which_is_fastest(found: dict[str, Recorded], naive: Recorded, math: Recorded | None) -> Question:
    names = tuple(found)
    best = min(names, key=lambda name: found[name].device_ns)
    everything = {"by hand": naive} | ({"math": math} if math is not None else {}) | found
    scale = time_scale(max(recorded.device_ns for recorded in everything.values()))
    rows = []
    for name, recorded in everything.items():
        speed = times_text(naive.device_ns / recorded.device_ns).replace(" times", "x")
        rows.append((name, f"{recorded.kernels:g}", scale(recorded.device_ns), speed))
    words = _how_built(found, best)
    roof, peak = found[best].roof(_SDPA), peak_text(found[best], _SDPA)
    return Question(
        key="fastest",
        about="the fastest fused backend",
        ask=f"{and_list(names)} all do it that way. Which is the fastest here?",
        hint="The kernels were built for different generations of cards.",
        answer=Choice(names, names.index(best)),
        look=(Grid(("", "kernels", "device", "speed"), tuple(rows)),),
        because=(
            prose(
                words,
                f"{best} takes {times_text(roof.over_floor)} the time that {counted_arithmetic(found[best])} needs at "
                f"the card's peak, {peak}."
                if roof is not None and roof.over_floor and peak
                else "",
                "That is this card and this shape; at others the order changes.",
            ),
        ),
    )


def _how_built(found: dict[str, Recorded], best: str) -> str:
    built = []
    for name, recorded in found.items():
        work = _attention(recorded)
        if work is None or work.decoded.instruction is None:
            continue
        arch = f" for {tick(work.decoded.arch)}" if work.decoded.arch else ""
        built.append((name, f"{name} multiplies with {tick(work.decoded.instruction)}{arch}"))
    distinct = {text.partition(" ")[2] for _, text in built}
    told = f"By the names of their kernels, {and_list(text for _, text in built)}." if built else ""
    mine = next((text for name, text in built if name == best), "")
    if mine and len(distinct) > 1 and "wgmma" in mine:
        told += " `wgmma` is the instruction that this generation's tensor cores are made for."
    return told


def _how_full(found: dict[str, Recorded], naive: Recorded) -> list[Question]:
    flash = found["flash"]
    work = _attention(flash)
    full = None if work is None else flash.occupancy(work)
    if work is None or full is None:
        return []
    low = full.theoretical_pct < _LOW_PCT
    return [
        Question(
            key="occupancy",
            about="occupancy of the flash kernel",
            ask="What share of an SM's warps does the flash kernel keep resident?",
            hint="It keeps a tile of queries, their sums and a part of the scores in registers.",
            answer=Number(full.theoretical_pct / 100, "share", within=1.5, most=1),
            look=(_achievements(found),),
            because=(
                Prose(full.explanation),
                *((prose(_is_it_bad(full.limiter), _fuller(naive, flash, full.theoretical_pct)),) if low else ()),
                prose(_by_occupancy(found), _by_peak(found)),
            ),
        )
    ]


def _achievements(found: dict[str, Recorded]) -> Grid:
    """What each fused kernel is built from, how full it keeps the SM, and what it achieves."""
    rows = []
    for name, recorded in found.items():
        work = _attention(recorded)
        full, roof = None if work is None else recorded.occupancy(work), recorded.roof(_SDPA)
        rate = roof.achieved_flops_per_s if roof is not None else None
        share = roof.share_of_peak if roof is not None else None
        rows.append(
            (
                name,
                (work.decoded.instruction or "-") if work is not None else "-",
                "-" if full is None else f"{full.theoretical_pct:g} %, {full.limiter.replace('_', ' ')}",
                "-" if not rate else rate_text(rate, "FLOP"),
                "-" if share is None else share_text(share),
            )
        )
    return Grid(("", "multiplies with", "occupancy", "achieved", "of peak"), tuple(rows), text=(0, 1, 2))


def _is_it_bad(limiter: str) -> str:
    where = "registers" if limiter == "registers" else "shared memory"
    return (
        "Is that bad? Occupancy counts warps that could step in while others wait. A kernel that streams through "
        f"memory needs many of them. This one keeps its tile in {where}: there is room for few warps, and each has "
        "much to compute before it waits again."
    )


def _fuller(naive: Recorded, flash: Recorded, pct: float) -> str:
    """A kernel of the code by hand that fills the SM and takes longer alone than flash for everything."""
    slower = [
        (work, share.theoretical_pct)
        for work in naive.kernel_work
        if (share := naive.occupancy(work)) is not None
        and share.theoretical_pct > pct
        and work.time_ns > flash.device_ns
    ]
    if not slower:
        return ""
    work, most = max(slower, key=lambda pair: pair[1])
    scale = one_unit(work.time_ns, flash.device_ns)
    return (
        f"In the code by hand, {tick(work.short)} has {most:g} % occupancy and takes {scale(work.time_ns)}; flash "
        f"does everything in {scale(flash.device_ns)}."
    )


def _by_occupancy(found: dict[str, Recorded]) -> str:
    """Whether occupancy puts the fused kernels in the order of their speed."""
    pcts = {}
    for name, recorded in found.items():
        work = _attention(recorded)
        full = None if work is None else recorded.occupancy(work)
        if full is not None:
            pcts[name] = full.theoretical_pct
    full_first = sorted(pcts, key=lambda name: -pcts[name])
    fast_first = sorted(pcts, key=lambda name: found[name].device_ns)
    if len(pcts) < 2 or full_first == fast_first:  # noqa: PLR2004 - an order needs two
        return "Judge a kernel by what it achieves, and not by how full it keeps the SM."
    return (
        f"By occupancy the order is {', '.join(full_first)}; by speed it is {', '.join(fast_first)}. Judge a kernel by "
        "what it achieves, and not by how full it keeps the SM."
    )


def _by_peak(found: dict[str, Recorded]) -> str:
    """How far the fastest is from the peak, so that nobody takes the rates for good ones."""
    best = min(found, key=lambda name: found[name].device_ns)
    roof = found[best].roof(_SDPA)
    if roof is None or not roof.share_of_peak or roof.share_of_peak > _NEAR_PEAK:
        return ""
    return (
        f"Achieved is {counted_arithmetic(found[best])} over the time, held against the same peak for all. They are "
        f"far from it: even {best} reaches {share_text(roof.share_of_peak)}, and the trace does not say why not more."
    )


def _where_the_first_call_goes(first: Recorded) -> Question:
    usual = first.later_cpu_ns
    start, later = first.steps[0], median(step.device_time_ns for step in first.steps[1:])
    until = [_until_done(first, step) for step in range(len(first.steps))]
    whole, others = until[0], median(until[1:])
    launches = [_launching(first, step) for step in range(len(first.steps))]
    in_call = launches[0] - median(launches[1:])
    lost = (start.device_time_ns - later, in_call, start.cpu_time_ns - usual - in_call)
    scale, on_device = one_unit(start.cpu_time_ns, usual, whole, others), one_unit(start.device_time_ns, later)
    parts = cpu_parts(first, 0)
    op, silent = parts.silent[0] if parts.silent else ("", 0)
    return Question(
        key="plan",
        about="where a new shape's first cuDNN call loses its time",
        ask=f"cuDNN at a shape it has not seen, {sizes_text(first.dims(_SDPA))}. Until CPU and device are done, "
        f"the first step takes {scale(whole)}, later ones take {scale(others)} (their median). Where does the "
        "difference go?",
        hint="A kernel runs the same code each time. What might have to be chosen for a shape?",
        answer=Choice(_WHERE, lost.index(max(lost))),
        look=(step_grid(first.steps),),
        because=(
            prose(
                f"On the device: {on_device(start.device_time_ns)} in the first step, {on_device(later)} in a later "
                "one (their median).",
                f"On the CPU, {scale(silent)} pass inside {tick(op)} without any call that is recorded, before the "
                "kernel is launched."
                if silent > start.cpu_time_ns / 2
                else "",
                "cuDNN chooses an execution plan for each new shape, on the CPU, and keeps it. With lengths that "
                "change from call to call, it does so again and again.",
            ),
        ),
    )


def _until_done(recorded: Recorded, step: int) -> int:
    """From a step's begin to the end of its last activity, or to its own end where that is later."""
    last = max((work.starts_ns + work.time_ns for work in recorded.work_of(step)), default=0)
    return max(last, int(recorded.steps[step].cpu_time_ns))


def _launching(recorded: Recorded, step: int) -> int:
    """The time in a step's launch calls."""
    rows = recorded.trace.rows
    calls = {int(recorded.trace.activities.launch[work.at]) for work in recorded.work_of(step)}
    return sum(int(rows.dur[call]) for call in calls)


def _what_transposes_cost(flash: Recorded, cudnn: Recorded) -> list[Question]:
    mine = [op for op in flash.ops if op.name == "aten::transpose"]
    theirs = [op for op in cudnn.ops if op.name == "aten::transpose"]
    if not mine:
        return []
    kernels = sum(launched(op) for op in mine)
    cost = sum(op.cpu_ns for op in mine)
    return [
        Question(
            key="transposes",
            about="kernels that flash's transposes launch",
            ask=f"Flash wants [batch, length, heads, dim], so its path calls {counted(len(mine), 'transpose')}. How "
            "many kernels do they launch?",
            hint="The lesson about linear layers had a transpose, too.",
            answer=Number(kernels),
            look=(op_grid(mine),),
            because=(
                prose(
                    "A transpose is a view: other strides over the same memory. The kernel takes strides, and reads "
                    "what it needs where it lies."
                    if kernels == 0
                    else f"They launch {counted(kernels, 'kernel')}.",
                    f"All they cost is {time_text(cost)} on the CPU.",
                    f"cuDNN's path has {counted(len(theirs), 'transpose')}: it takes heads before length."
                    if len(theirs) < len(mine)
                    else "",
                ),
            ),
        )
    ]


def _which_call_launches(flash: Recorded, cudnn: Recorded) -> list[Question]:
    one, other = _attention(flash), _attention(cudnn)
    if one is None or other is None:
        return []
    options = tuple(dict.fromkeys((one.launch, "cudaLaunchKernel", "cuLaunchKernelEx", other.launch)))
    return [
        Question(
            key="launch",
            about="the call that launches cuDNN's kernel",
            ask=f"Flash's kernel is launched by {tick(one.launch)}. By which call is cuDNN's?",
            hint="A kernel that is not compiled into the program is loaded through the driver.",
            answer=Choice(tuple(plain(name) for name in options), options.index(other.launch)),
            look=(kernel_grid(cudnn),),
            because=(
                prose(
                    f"{tick(other.launch)} is a call of the driver, the layer below the runtime. Names of driver calls "
                    "begin with `cu`, those of runtime calls with `cuda`. cuDNN generates its kernel for the plan and "
                    "loads it itself; and newer kernels need launch attributes, such as clusters, that "
                    f"{tick(one.launch)} has no room for."
                    if other.launch.startswith("cu") and not other.launch.startswith("cuda")
                    else f"{tick(other.launch)}, a call of the runtime's.",
                    "A tool with a fixed list of launch calls loses such kernels. foretrace has no such list: the "
                    "launch of a kernel is the call whose id it carries.",
                ),
            ),
        )
    ]


def _recap(found: dict[str, Recorded], naive: Recorded) -> list[Block]:
    best = min(found, key=lambda name: found[name].device_ns)
    recorded = found[best]
    work = _attention(recorded)
    full = None if work is None else recorded.occupancy(work)
    low = full is not None and full.limiter == "registers" and full.theoretical_pct < _LOW_PCT
    return [
        prose(
            f"What to take along: {best} is {times_text(naive.device_ns / recorded.device_ns)} as fast as the code by "
            "hand, first of all because the scores never go to memory.",
            "Low occupancy is no fault by itself: it is what a tile in registers costs. Look at what is achieved."
            if low
            else "",
            f"A kernel that short no longer keeps the device busy: from step to step it takes "
            f"{time_text(recorded.period_ns)}, and the device works {share_text(recorded.busy_share)} of that."
            if recorded.bound != "device"
            else "",
        )
    ]
