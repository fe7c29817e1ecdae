"""Lesson: a matmul and an add, small and large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.analysis.overhead import LOADING, PROFILER
from foretrace.learn.cold import cpu_parts
from foretrace.learn.compiled import compiled_sentence
from foretrace.learn.lesson import Block, Choice, Code, Grid, Near, Number, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.views import (
    bound_sentence,
    counts_sentence,
    kernel_grid,
    label_sentence,
    lanes,
    launched_sentence,
    step_grid,
)
from foretrace.learn.words import and_list, before_and_now, counted, one_unit, tick, times_text
from foretrace.names.devices import WARP
from foretrace.report.escape import plain
from foretrace.report.roofline_text import rate_text
from foretrace.trace.kineto import Category
from foretrace.units import bytes_text, share_text, time_text

if TYPE_CHECKING:
    from foretrace.learn.cold import CpuParts
    from foretrace.learn.recorded import Recorded, Shelf, Work

__all__ = ["build"]

_BOUNDS = (
    "the tensor cores: they multiply as fast as they can",
    "the memory: it moves the matrices as fast as it can",
    "the CPU: it launches more slowly than the device works",
)
_TINY = 64
"""A memset of at most so many bytes clears a counter, no data."""
_UNEVEN = 1.5
"""A step that takes so many times as long as the one looked at is worth a word."""
_FATES = (
    "nothing: the GEMM adds before it stores its result",
    "a copy: z is copied to the output, and the GEMM adds to that",
    "a kernel still, written by Inductor, the compiler behind `torch.compile`",
)


def build(shelf: Shelf) -> list[Block]:
    """The lesson over some recordings."""
    small, large = shelf["matmul-64"], shelf["matmul-4096"]
    compiled, first = shelf.get("matmul-4096-compiled"), shelf.get("matmul-first")
    blocks: list[Block] = [
        Prose(
            "A trace has a side for the CPU and a side for the device. On the CPU, Python calls ops, and ops launch "
            "kernels into a queue. On the device, kernels leave the queue and run. Who waits for whom is the first "
            "thing to read in any trace."
        ),
        Code(source("matmul", "matmul_add")),
        Prose(
            f"The matrices are {_size(small)} in bf16. Libraries call a matrix product a GEMM, and so will the trace. "
            "Everything is warm, and no gradients are kept. Each recorded call is a step, `ProfilerStep#N`; of the "
            "steps you see the one nearest to their medians."
        ),
        _how_many(small),
        _what_bounds(small),
        _how_much_longer(small, large),
    ]
    gemm = max(large.kernel_work, key=lambda work: work.time_ns, default=None)
    if gemm is not None and large.occupancy(gemm) is not None:
        blocks.append(_how_many_warps(large, gemm))
    if compiled is not None:
        blocks.append(_what_became_of_the_add(large, compiled))
    if first is not None and len(first.steps) > 1:
        blocks.append(_how_cold(first))
    blocks += [
        Prose(
            "What to take along: count kernels, then ask who waits. Where the device is nearly always busy, faster "
            "kernels help; where it is mostly idle, fewer launches help, and faster kernels do not."
        ),
        Try(
            "Run it on your own card. The size at which the device becomes the bound is a property of your CPU as much "
            "as of your GPU.",
            "foretrace learn matmul --live",
        ),
    ]
    return blocks


def _size(recorded: Recorded) -> str:
    """``64 x 64``: the matmul's first input."""
    return " x ".join(f"{size}" for size in recorded.dims("aten::matmul")) or "square"


def _how_many(small: Recorded) -> Question:
    chain = next((work for work in small.kernel_work if len(work.path) > 1), None)
    steps = small.kernels
    return Question(
        key="kernels",
        about=f"kernels a call, {_size(small)}",
        ask="How many kernels does a call launch?",
        hint="Eager PyTorch runs op after op. Nothing looks ahead to see what could be done together.",
        answer=Number(steps),
        recording=small.name,
        metric="kernels",
        near=(*((Near(1, "Only a compiler joins ops into a kernel, and nothing is compiled here."),) * (steps != 1)),),
        look=(lanes(small, f"a call at {_size(small)}", legend="long"), kernel_grid(small)),
        because=(
            *(Prose(text) for text in (label_sentence(small.kernel_work[0]) if small.kernel_work else "",) if text),
            prose(
                f"A step launches {counts_sentence(small)}: {launched_sentence(small)}.",
                ""
                if chain is None
                else f"Read the chain downwards: {_chain(chain)}. The outer op looks at the shapes and picks the inner "
                "one, which picks the kernel and launches it.",
            ),
        ),
    )


def _chain(work: Work) -> str:
    return (
        " calls ".join(
            (tick(work.path[0]), ", which calls ".join(tick(name) for name in (*work.path[1:], work.launch)))
        )
        + f", which enqueues {work.letter}"
    )


def _what_bounds(small: Recorded) -> Question:
    waits = small.bound == "cpu"
    return Question(
        key="bound",
        about=f"what bounds it, {_size(small)}",
        ask=f"What bounds this call at {_size(small)}?",
        hint="Compare how long the ops take on the CPU with how long the kernels run.",
        answer=Choice(_BOUNDS, _bound(small)),
        look=(),
        because=(
            prose(
                bound_sentence(small),
                f"The CPU needs {time_text(small.cpu_ns)} to get this step through Python, the dispatcher and "
                f"{counted(len({work.launched_ns for work in small.work}), 'launch', 'launches')}"
                + (f"{_rest_of_the_period(small)}." if waits else "."),
                "This is what overhead-bound means: a faster kernel would change nothing." if waits else "",
            ),
        ),
    )


def _rest_of_the_period(recorded: Recorded) -> str:
    """What else lies in the period, and is not in the step itself."""
    if len(recorded.reading.timeline.used) < 2 or recorded.cpu_ns >= recorded.period_ns:  # noqa: PLR2004 - no period
        return ""
    first = recorded.steps[recorded.reading.timeline.used[0]].cpu_time_ns
    told = "; the rest of the time from step to step is the profiler's bookkeeping between steps"
    return told + (", and a first step that took longer" if first > _UNEVEN * recorded.cpu_ns else "")


def _bound(recorded: Recorded) -> int:
    """Position in ``_BOUNDS``."""
    if recorded.bound != "device":
        return 2
    longest = max(recorded.work, key=lambda work: work.time_ns)
    roof = recorded.roof(longest.top)
    return 0 if roof is not None and roof.bound == "compute" else 1


def _how_much_longer(small: Recorded, large: Recorded) -> Question:
    ratio = large.period_ns / small.period_ns
    work = _flops(large) / _flops(small) if _flops(small) else 0
    gemm, add = large.roof("aten::matmul"), large.roof("aten::add")
    more = f"{work:,.0f} times the arithmetic" if work else "far more arithmetic"
    rate = (
        f"The matmul runs at {rate_text(gemm.achieved_flops_per_s, 'FLOP')}, {share_text(gemm.share_of_peak)} of what "
        f"the card can do at most, and is bound by {'arithmetic' if gemm.bound == 'compute' else 'memory'}."
        if gemm is not None and gemm.share_of_peak and gemm.achieved_flops_per_s
        else ""
    )
    added = (
        f"The add is bound by {'memory' if add.bound == 'memory' else 'arithmetic'}: for each byte that it moves it "
        f"computes {add.intensity:.2f} FLOPs. It moves {rate_text(add.achieved_bytes_per_s, 'B')}, "
        f"{share_text(add.share_of_peak)} of the peak."
        if add is not None and add.intensity and add.share_of_peak and add.achieved_bytes_per_s
        else ""
    )
    scale = one_unit(small.period_ns, large.period_ns)
    return Question(
        key="longer",
        about=f"a step at {_size(large)} over one at {_size(small)}",
        ask=f"At {_size(large)} a call does {more}. How many times longer does a step take?",
        hint="As long as the device waits for the CPU, more work for the device costs nothing.",
        answer=Number(ratio, "times", within=2),
        look=(lanes(large, f"a call at {_size(large)}", legend="short"), kernel_grid(large)),
        because=(
            prose(
                f"A step took {scale(small.period_ns)} and now takes {scale(large.period_ns)}.",
                f"{_compared(small, large)}",
                bound_sentence(large),
            ),
            *((prose(rate, added),) if rate or added else ()),
            *_about_the_memset(large),
        ),
    )


def _about_the_memset(large: Recorded) -> tuple[Prose, ...]:
    """A word on the tiny memsets that libraries launch, which everybody wonders about."""
    tiny = next((work for work in large.work if work.kind == "memset" and work.bytes and work.bytes <= _TINY), None)
    if tiny is None:
        return ()
    return (
        Prose(
            f"The memset ({tiny.letter}) clears {bytes_text(tiny.bytes or 0)} before the GEMM, a counter of the "
            "library's own. foretrace counts memsets and copies apart from kernels."
        ),
    )


def _compared(small: Recorded, large: Recorded) -> str:
    times = large.device_ns / small.device_ns
    idle = small.period_ns - small.device_ns
    if small.bound == "device":
        return f"The kernels themselves take {times_text(times)} as long."
    return (
        f"The kernels themselves take {times_text(times)} as long, but the small call left the device idle for "
        f"{time_text(idle)} of each step, and the first thing that more work does is to fill that."
    )


def _flops(recorded: Recorded) -> float:
    roof = recorded.roof("aten::matmul")
    return 0 if roof is None else roof.flops


def _how_many_warps(large: Recorded, gemm: Work) -> Question:
    found = large.occupancy(gemm)
    assert found is not None  # noqa: S101 - asked before
    asks = sorted({large.trace.name(int(row)) for row in large.trace.rows_of(Category.RUNTIME)})
    queries = [name for name in asks if "Occupancy" in name]
    reported = found.reported_pct
    zero = reported is not None and reported == 0
    return Question(
        key="occupancy",
        about="occupancy of the large GEMM",
        ask=(
            f"The file's own estimate for the occupancy of the GEMM ({gemm.letter}) is {reported:.0f} %. "
            if reported is not None
            else ""
        )
        + f"A multiprocessor (SM) has room for a fixed number of warps, groups of {WARP} threads; occupancy is the "
        "share of them that is filled. What share does the GEMM really fill?",
        hint="Registers, shared memory and threads of a block say how many blocks fit on an SM.",
        answer=Number(found.theoretical_pct / 100, "share", within=1.5, most=1),
        near=((Near(0, "Then nothing could have run."),) if zero and found.theoretical_pct else ()),
        look=(),
        because=(
            prose(
                found.explanation,
                f"Before the launch, {and_list(tick(name) for name in queries)} asks the driver the same question."
                if queries
                else "",
                f"`foretrace kernel {gemm.name}` takes the name apart." if gemm.name.isidentifier() else "",
            ),
        ),
    )


def _what_became_of_the_add(large: Recorded, compiled: Recorded) -> Question:
    copies = [work for work in compiled.work if work.kind == "memcpy"]
    fused = [work for work in compiled.kernel_work if work.decoded.library == "Inductor Triton"]
    add = next((work for work in large.kernel_work if work.decoded.op == "add"), None)
    right = 1 if copies else 2 if fused else 0
    cost = sum(work.time_ns for work in (copies or fused))
    named = any("badd" in work.name for work in compiled.kernel_work)
    told = {
        0: "Nothing but the GEMM is left: it adds while it stores its tile.",
        1: "Inductor turned `x @ y + z` into `addmm`. That asks the GEMM to add its result to what lies in the output "
        "already, so `z` is first copied there "
        f"({bytes_text(copies[0].bytes or 0) if copies else ''}), and the GEMM adds to it on the way out"
        + (f" ({tick('badd')} in the kernel's name)." if named else "."),
        2: f"Inductor wrote {counted(len(fused), 'kernel')} of its own for it.",
    }[right]
    scale = one_unit(add.time_ns if add else 0, cost)
    saved = (
        f"The add's kernel took {scale(add.time_ns)}; what stands in its place takes {scale(cost)}."
        if add is not None and cost
        else ""
    )
    return Question(
        key="compiled",
        about="the add after torch.compile",
        ask="Through `torch.compile`, what becomes of the add?",
        hint="The kernel of the sum is not in the trace any more. Look at everything that is not a kernel.",
        answer=Choice(_FATES, right),
        look=(lanes(compiled, "the same call, compiled", legend="short"), kernel_grid(compiled)),
        because=(
            prose(told, saved),
            prose(
                f"A step on the device: {before_and_now(large.device_ns, compiled.device_ns)}. On the CPU: "
                f"{before_and_now(large.cpu_ns, compiled.cpu_ns)}.",
                compiled_sentence(compiled) if compiled.cpu_ns > large.cpu_ns else "",
            ),
            Prose(_did_it_pay(large, compiled)),
        ),
    )


def _did_it_pay(large: Recorded, compiled: Recorded) -> str:
    """What compiling did to the time from step to step, and to the bound."""
    told = f"From step to step: {before_and_now(large.period_ns, compiled.period_ns)}."
    if compiled.cpu_ns > compiled.device_ns and large.cpu_ns < large.device_ns:
        told += " Now the CPU takes longer than the device, so the device waits"
        told += (
            ": for a call this short, compiling made things slower."
            if compiled.period_ns > large.period_ns
            else ", but the step is no slower."
        )
    return told


def _how_cold(first: Recorded) -> Question:
    start, usual = first.steps[0], first.later_cpu_ns
    parts = cpu_parts(first, 0)
    return Question(
        key="cold",
        about="the first step over the median of the later ones, on the CPU",
        ask="This recording begins with the very first call in its process. How many times as long as the later steps "
        "(their median) does that first step take on the CPU?",
        hint="Libraries are loaded, handles made, kernels brought to the device, when they are first needed.",
        answer=Number(start.cpu_time_ns / usual, "times", within=4),
        look=(step_grid(first.steps), Prose("What fills the first step on the CPU:"), _filling(parts)),
        because=(
            prose(
                f"The median of the later steps is {one_unit(start.cpu_time_ns, usual)(usual)}.",
                _what_fills_it(parts),
            ),
            prose(
                "foretrace calls such a first step cold and leaves it out of medians and periods."
                if start.cold
                else "It is not slow enough here to be called cold, so it counts like the others.",
                "Warm up until times settle before you measure anything; `foretrace run` and `foretrace.profile` do.",
            ),
        ),
    )


def _filling(parts: CpuParts) -> Grid:
    """A step on the CPU part by part."""
    rows = [(f"inside {op}, with no call recorded", time) for op, time in parts.silent]
    rows += [
        ("calls of the runtime and the driver", parts.calls_ns),
        (f"{LOADING} ({', '.join(parts.loading)})", parts.loading_ns),
        (f"{PROFILER} ({', '.join(parts.profiler)})", parts.profiler_ns),
        ("outside any op", parts.outside_ns),
    ]
    known = [(what, time) for what, time in rows if time > 0]
    scale = one_unit(*(time for _, time in known))
    ordered = sorted(known, key=lambda row: -row[1])
    return Grid(("part", "CPU"), tuple((plain(what), scale(time)) for what, time in ordered))


def _what_fills_it(parts: CpuParts) -> str:
    """What the longest part is, and how much the trace can say about it."""
    silent = sum(time for _, time in parts.silent)
    if silent <= parts.calls_ns + parts.loading_ns + parts.profiler_ns + parts.outside_ns:
        return "Most of the first step lies in calls and in what they load."
    sides = [tick(name) for name in (parts.pause_after, parts.pause_before) if name]
    where = f" between {and_list(sides)}" if len(sides) == len(("after", "before")) else ""
    return (
        "Most of the first step has no name in the trace: an op runs and nothing below it is recorded, "
        f"{time_text(parts.pause_ns)} of it at a stretch{where}. In a first call that is mostly libraries "
        "being loaded, their handles made, and a kernel chosen. The CUDA context is not in it: the matrices were on "
        "the device before."
    )
