"""Lesson: SDPA's fused kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.learn.lesson import Block, Choice, Code, Grid, Number, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.recorded import launched
from foretrace.learn.views import counts_sentence, kernel_grid, lanes
from foretrace.learn.words import and_list, counted, tick, times_text
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
_WHERE: Final = ("on the device: the kernel is slower at first", "on the CPU, before the launch")


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
        _how_many(some, naive),
    ]
    if len(found) > 1:
        blocks.append(_which_is_fastest(found, naive, shelf.get("attention-math")))
    if "flash" in found:
        blocks += _how_full(found["flash"], naive)
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


def _how_many(some: Recorded, naive: Recorded) -> Question:
    return Question(
        key="kernels",
        about="kernels of a fused backend",
        ask=f"By hand it took {counted(naive.kernels, 'kernel')}. How many does the flash backend launch for a call?",
        hint="Between the kernels of the code by hand, the scores go to memory and come back.",
        answer=Number(some.kernels),
        recording=some.name,
        metric="kernels",
        near=(),
        look=(lanes(some, "a fused backend"), kernel_grid(some)),
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
        work = _attention(recorded)
        full = None if work is None or name not in found else recorded.occupancy(work)
        rows.append(
            (
                name,
                f"{recorded.kernels:g}",
                scale(recorded.device_ns),
                times_text(naive.device_ns / recorded.device_ns).replace(" times", "x"),
                "" if full is None else f"{full.theoretical_pct:g} %, {full.limiter.replace('_', ' ')}",
            )
        )
    words = _how_built(found, best)
    roof = found[best].roof(_SDPA)
    return Question(
        key="fastest",
        about="the fastest fused backend",
        ask=f"{and_list(names)} all do it that way. Which is the fastest here?",
        hint="The kernels were built for different generations of cards.",
        answer=Choice(names, names.index(best)),
        look=(Grid(("", "kernels", "device", "speed", "occupancy"), tuple(rows), text=(0, 4)),),
        because=(
            prose(
                words,
                f"{best} takes {times_text(roof.over_floor)} the time that the arithmetic needs at the card's peak."
                if roof is not None and roof.over_floor
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


def _how_full(flash: Recorded, naive: Recorded) -> list[Question]:
    work = _attention(flash)
    full = None if work is None else flash.occupancy(work)
    if work is None or full is None:
        return []
    fuller = [
        (other, share)
        for other in naive.kernel_work
        if (share := naive.occupancy(other)) is not None and share.theoretical_pct > full.theoretical_pct
    ]
    busy = max(fuller, key=lambda pair: pair[1].theoretical_pct, default=None)
    roof = flash.roof(_SDPA)
    contrast = (
        f"Compare {tick(busy[0].short)} of the code by hand: {busy[1].theoretical_pct:g} % occupancy, and it alone "
        f"takes {time_text(busy[0].time_ns)}, where flash does everything in {time_text(flash.device_ns)}."
        if busy is not None and busy[0].time_ns > flash.device_ns
        else ""
    )
    low = full.theoretical_pct < _LOW_PCT
    return [
        Question(
            key="occupancy",
            about="occupancy of the flash kernel",
            ask="What share of an SM's warps does the flash kernel keep resident?",
            hint="A tile of queries, the running sums and the output so far live in the registers of its threads.",
            answer=Number(full.theoretical_pct / 100, "share", within=1.5),
            look=(),
            because=(
                prose(
                    full.explanation,
                ),
                prose(
                    "Is that bad? Occupancy counts warps that could step in while others wait. A kernel that streams "
                    "through memory needs many of them, because its warps wait all the time. This one waits little: "
                    "its data lies in registers already, and the registers are what the warps are given up for."
                    if low
                    else "",
                    contrast,
                    f"Judge a kernel by what it achieves, here {rate_text(roof.achieved_flops_per_s, 'FLOP')}, and "
                    "not by how full it keeps the SM."
                    if roof is not None and roof.achieved_flops_per_s
                    else "Judge a kernel by what it achieves, and not by how full it keeps the SM.",
                ),
            ),
        )
    ]


def _where_the_first_call_goes(first: Recorded) -> Question:
    start, *later = first.steps
    middle = sorted(later, key=lambda step: step.cpu_time_ns)[len(later) // 2]
    cpu, device = start.cpu_time_ns - middle.cpu_time_ns, start.device_time_ns - middle.device_time_ns
    return Question(
        key="plan",
        about="where a new shape's first cuDNN call loses its time",
        ask=f"cuDNN at a shape it has not seen: the first step takes {time_text(start.cpu_time_ns)} from begin to end, "
        f"the next ones {time_text(middle.cpu_time_ns)}. Where does the difference go?",
        hint="Compare the device times of the steps.",
        answer=Choice(_WHERE, 1 if cpu > device else 0),
        look=(
            Grid(
                ("step", "CPU", "device"),
                tuple(
                    (f"{number}", time_text(step.cpu_time_ns), time_text(step.device_time_ns))
                    for number, step in enumerate(first.steps, 1)
                ),
            ),
        ),
        because=(
            prose(
                f"The device works {time_text(start.device_time_ns)} in the first step and "
                f"{time_text(middle.device_time_ns)} in a later one; the CPU is where the rest goes.",
                "cuDNN picks an execution plan for each new shape, on the CPU, and keeps it. With lengths that change "
                "from call to call, it does so again and again.",
            ),
        ),
    )


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
            ask=f"In flash's op tree stand {counted(len(mine), 'transpose')}: it wants [batch, length, heads, dim]. "
            "How many kernels do they launch?",
            hint="The lesson about linear layers had a transpose, too.",
            answer=Number(kernels),
            look=(lanes(flash, "flash, all ops", quiet=True),),
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
                    f"{tick(other.launch)}, a call of the driver's, not of the runtime's: cuDNN generates its kernel "
                    "for the plan and loads it itself, and newer kernels need launch attributes (clusters, say) that "
                    f"{tick(one.launch)} has no room for."
                    if other.launch.startswith("cu") and not other.launch.startswith("cuda")
                    else f"{tick(other.launch)}, a call of the runtime's.",
                    "A tool with a fixed list of launch calls loses such kernels. foretrace takes for a launch what "
                    "device activity points to.",
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
            "Its low occupancy is the price of a tile that stays in registers, and a fair one." if low else "",
            f"It is so short that the CPU shows: a step takes {time_text(recorded.period_ns)}, and the device is busy "
            f"{share_text(recorded.busy_share)} of it."
            if recorded.bound != "device"
            else "",
        )
    ]
