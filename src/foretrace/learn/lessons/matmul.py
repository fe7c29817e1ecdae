"""Lesson: a matmul and an add, small and large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.learn.lesson import Block, Choice, Code, Near, Number, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.views import bound_sentence, counts_sentence, kernel_grid, lanes, launched_sentence
from foretrace.learn.words import and_list, before_and_now, counted, tick, times_text
from foretrace.names.devices import WARP
from foretrace.report.roofline_text import rate_text
from foretrace.trace.kineto import Category
from foretrace.units import bytes_text, share_text, time_text

if TYPE_CHECKING:
    from foretrace.learn.recorded import Recorded, Shelf, Work

__all__ = ["build"]

_BOUNDS = (
    "the tensor cores: they multiply as fast as they can",
    "the memory: it moves the matrices as fast as it can",
    "the CPU: it launches more slowly than the device works",
)
_TINY = 64
"""A memset of at most so many bytes clears a counter, no data."""
_FATES = (
    "it is gone: the GEMM's epilogue adds, and nothing else is left of it",
    "it became a copy: the GEMM's epilogue adds to what the copy put there",
    "it is a kernel still, written by Inductor",
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
            f"The matrices are {_size(small)} in bf16. Everything is warm, and no gradients are kept. (Libraries call "
            "a matrix product a GEMM, and so will the trace.)"
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
            "What to take along: count kernels, then ask who waits. A busy share near the whole means that faster "
            "kernels help; a low one means that fewer launches help, and faster kernels do not."
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
        look=(lanes(small, f"a call at {_size(small)}"), kernel_grid(small)),
        because=(
            prose(
                f"A step launches {counts_sentence(small)}: {launched_sentence(small)}.",
                ""
                if chain is None
                else f"Read the chain downwards: {_chain(chain)}. The outer op looks at the shapes and picks the inner "
                "one, which picks the kernel and calls the driver; the letter in the launch row is that call, the "
                "letter below it the kernel.",
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
                f"Meanwhile the CPU needs {time_text(small.cpu_ns)} to get a step through Python, the dispatcher and "
                f"{counted(len({work.launched_ns for work in small.work}), 'launch', 'launches')}.",
                "This is what overhead-bound means: a faster kernel would change nothing."
                if small.bound == "cpu"
                else "",
            ),
        ),
    )


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
    more = f"{times_text(work)} the arithmetic" if work else "far more arithmetic"
    rate = (
        f"The matmul runs at {rate_text(gemm.achieved_flops_per_s, 'FLOP')}, {share_text(gemm.share_of_peak)} of what "
        f"the card can do in bf16: its floor is {time_text(gemm.floor_ns)}, and it is bound by "
        f"{'arithmetic' if gemm.bound == 'compute' else 'memory'}."
        if gemm is not None and gemm.share_of_peak and gemm.achieved_flops_per_s and gemm.floor_ns
        else ""
    )
    added = (
        f"The add is bound by {'memory' if add.bound == 'memory' else 'arithmetic'}: for each byte it moves it "
        f"computes {add.intensity:.2f} FLOPs, and it moves {rate_text(add.achieved_bytes_per_s, 'B')}, "
        f"{share_text(add.share_of_peak)} of the peak."
        if add is not None and add.intensity and add.share_of_peak and add.achieved_bytes_per_s
        else ""
    )
    return Question(
        key="longer",
        about=f"a step at {_size(large)} over one at {_size(small)}",
        ask=f"At {_size(large)} a call does {more}. How many times longer does a step take?",
        hint="As long as the device waits for the CPU, more work for the device costs nothing.",
        answer=Number(ratio, "times", within=2),
        look=(lanes(large, f"a call at {_size(large)}"), kernel_grid(large)),
        because=(
            prose(
                f"A step took {time_text(small.period_ns)} and now takes {time_text(large.period_ns)}.",
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
            f"And {tiny.letter}? The library clears {bytes_text(tiny.bytes or 0)} for a counter of its own before the "
            "GEMM. foretrace counts memsets and copies apart from kernels."
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
        + f"A multiprocessor (SM) has room for a fixed number of warps, groups of {WARP} threads. What share of them "
        "does the GEMM really fill?",
        hint="Registers, shared memory and threads of a block say how many blocks fit on an SM.",
        answer=Number(found.theoretical_pct / 100, "share", within=1.4),
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
    gemm = next((work for work in compiled.kernel_work if work.decoded.role == "gemm"), None)
    epilogue = gemm is not None and "add" in " ".join(token.text for token in gemm.decoded.tokens)
    told = {
        0: "Nothing but the GEMM is left: it adds while it stores its tile.",
        1: "Inductor turned `a @ b + c` into `addmm`. That asks the GEMM to add its result to what already lies in the "
        f"output, so `c` is first copied there ({bytes_text(copies[0].bytes or 0) if copies else ''}), "
        "and the epilogue adds to it"
        + (f" ({tick('badd')} in the kernel's name)" if epilogue and gemm and "badd" in gemm.name else "")
        + ".",
        2: f"Inductor wrote {counted(len(fused), 'kernel')} of its own for it.",
    }[right]
    saved = (
        f"The add's kernel took {time_text(add.time_ns)}; what stands in its place takes {time_text(cost)}."
        if add is not None and cost
        else ""
    )
    return Question(
        key="compiled",
        about="the add after torch.compile",
        ask="Through `torch.compile`, what becomes of the add?",
        hint="The kernel of the sum is not in the trace any more. Look at everything that is not a kernel.",
        answer=Choice(_FATES, right),
        look=(lanes(compiled, "the same call, compiled"), kernel_grid(compiled)),
        because=(
            prose(
                told,
                saved,
                f"A step on the device: {before_and_now(large.device_ns, compiled.device_ns)}.",
                f"On the CPU: {before_and_now(large.cpu_ns, compiled.cpu_ns)}, because guards and wrappers run around "
                "every call."
                if compiled.cpu_ns > large.cpu_ns
                else "",
            ),
        ),
    )


def _how_cold(first: Recorded) -> Question:
    steps = first.steps
    later = sorted(step.cpu_time_ns for step in steps[1:])
    warm = later[len(later) // 2]
    ratio = steps[0].cpu_time_ns / warm
    return Question(
        key="cold",
        about="the first step over a later one, on the CPU",
        ask="This recording begins with the very first call in its process. How many times longer does that step take "
        "on the CPU than the next ones?",
        hint="Libraries are loaded, handles made, kernels brought to the device, when they are first needed.",
        answer=Number(ratio, "times", within=4),
        look=(),
        because=(
            prose(
                f"The steps take {and_list(time_text(step.cpu_time_ns) for step in steps)} on the CPU.",
                "foretrace calls the first one cold and leaves it out of medians and periods; the trust header of "
                "`foretrace read` says so."
                if steps[0].cold
                else "It is not slow enough here to be called cold, so it counts like the others.",
                "Warm up until times settle before you measure anything; `foretrace run` and `foretrace.profile` do.",
            ),
        ),
    )
