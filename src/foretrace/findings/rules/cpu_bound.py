"""The CPU bounds the step: the device waits for launches more than half of the time.

## What it looks for

A busy share of 0.5 or less: the time in a step during which the device does anything, over the period of a step.
Steps without device work wait for nothing. In `foretrace attention`, where a call was timed without the profiler, that
time is what counts.

What to change depends on what most of the idle time goes to. A graph, or fewer launches, where the time from one launch
to the next adds up to half of it; a launch counts for 0.1 ms at most, twice that with Python stacks, as what takes
longer is something else. Otherwise the one thing that the host is in meanwhile: calls that wait for the device
(`host-sync`), calls that allocate (`allocator-calls`), the `DataLoader`, the first use of a kernel or library (calls of
a millisecond and more), a capture, an op that computes on the CPU, entering compiled code. At stake is what that change
can win, not all idle time. A graph is no help either where one launch makes the step, or where graphs replay most of
the work already. Where the next work is launched already and does not start, the device waits for something else than
the CPU (`idle-device`).

## Why it matters

The device is idle for the rest. Faster kernels change nothing; what the host does meanwhile does. Each launch from
eager PyTorch costs the CPU some 5 to 10 microseconds, its op as much and more, and all of it more while a profiler
records, most of all Python stacks.

## How to confirm it

Double the batch: if a step takes as long as before, the CPU bounds it. `foretrace read TRACE --steps` gives CPU,
device and busy time of each step.

## What usually helps

For launches: a CUDA graph (on AMD a HIP graph) replays them all in one call, `torch.compile(model,
mode="reduce-overhead")` or `torch.cuda.graph`; or fewer, larger kernels: `torch.compile`, a larger batch, a fused
optimizer. Otherwise take what holds the host out of its way: loader workers, no waiting for the device inside the step,
tensors made on the device, a few steps of warm-up before the recording.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import numpy as np

from foretrace.findings.facts import Facts, facts_of
from foretrace.findings.host_bound import graph_share, graph_word, is_host_bound, waits_idle_ns
from foretrace.findings.idle_advice import LOADER, WARM_UP, unblock
from foretrace.findings.idle_causes import Filler, IdleCause
from foretrace.findings.rule import Confidence, Finding, Needs, Rule
from foretrace.trace.distinct import distinct
from foretrace.trace.kineto import Category
from foretrace.units import count_text, share_text, time_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.trace.model import Trace
    from foretrace.trace.raw import I64

RULE = Rule(code="FT201", name="cpu-bound", needs=Needs.LAUNCHES, since="0.1")

# One gap with this share of the idle time is what to look at.
_MAIN_SHARE: Final = 0.5
# From this share of the device time up the launches are in graphs already.
_REPLAYED: Final = 0.5
# A graph makes one launch of many: of one it makes one.
_FEWEST: Final = 2
_IN_GRAPHS: Final = "the launches are in graphs already: look at what the CPU does between the replays"
_GRAPH: Final = """\
replay the launches as a {}, or make fewer of them:
    model = torch.compile(model, mode="reduce-overhead")"""
# Triton makes code for compute capability 7.0 and later, so that torch.compile makes none for what is older.
_TRITON_SINCE: Final = (7, 0)
_GRAPH_ALONE: Final = """\
replay the launches as a {}:
    model = torch.cuda.make_graphed_callables(model, (sample,))"""
_BATCH: Final = "give each launch more work, as a larger batch does, or replay several steps as one {}"
_AFTER_CAPTURE: Final = "record later: capture the graph in the warm-up, and let the recording hold its replays"
_ON_DEVICE: Final = "let {} work on the device, or take it out of the step: its tensors are on the CPU"
_MADE: Final = re.compile(r"aten::(?:rand|normal|zeros|ones|full|arange|linspace|uniform|bernoulli)")
_MAKE: Final = """\
make tensors on the device, where they are used:
    torch.randn(shape, device="cuda")  # rather than torch.randn(shape).to("cuda")"""
# With a wait for every few launches no graph can hold more than those few.
_BETWEEN_WAITS: Final = 10
_WAITS_FIRST: Final = """\
take out the waits between the launches first: no graph holds one. Then make fewer launches:
    model = torch.compile(model)"""
_WAITS_ALONE: Final = "take out the waits between the launches first: no graph holds one"
_VIEWS: Final = re.compile(
    r"aten::(?:split(?:_with_sizes)?|chunk|unbind|narrow|slice|select|view(?:_as)?|expand(?:_as)?|as_strided|detach_?|alias"
    r"|permute|transpose|t|unsqueeze|squeeze|unflatten|flatten|movedim|diagonal)\Z"
)
_FEWER_VIEWS: Final = """\
make fewer views in the step (one split, not a slice for each part), and record without what slows each op: \
with_stack, profile_memory, record_shapes"""
_FOLLOWS: Final = {Filler.ALLOCATION: "FT207"}
_MEANWHILE: Final = {
    Filler.LOADER: "the host waits for the next batch of the DataLoader",
    Filler.ALLOCATION: "the driver allocates or frees memory",
    Filler.FIRST_USE: "the host is in calls of a millisecond and more, as the first use of a kernel, a library or a "
    "stream takes",
    Filler.COMPILED: "the host looks up and enters compiled code",
    Filler.CAPTURE: "a graph is captured, whose kernels do not run then",
}


def check(trace: Trace) -> Iterator[Finding]:
    """Yield one finding where the busy share says so."""
    facts = facts_of(trace)
    figures = facts.timeline.per_step
    if is_host_bound(facts) and figures.period_ns is not None:
        yield _finding(facts, figures.period_ns, figures.busy_ns.median)


def title(busy_ns: float, period_ns: float) -> str:
    """How little of a period is work."""
    return f"the GPU waits for the CPU: {time_text(busy_ns)} of work every {time_text(period_ns)}"


def _finding(facts: Facts, period_ns: float, busy_ns: float) -> Finding:
    waits, replayed, cause = waits_idle_ns(facts), graph_share(facts), facts.idle_cause
    text = f"{_busy(facts, period_ns, busy_ns)} "
    if waits is None:
        text += _meanwhile(facts, cause)
    else:
        text += (
            f"Not launches but calls in which the host waits explain most of it: {time_text(waits)} {facts.per} of "
            "idle time in and after them. "
        )
    if replayed >= _REPLAYED:
        text += f"Graph replays launch {share_text(replayed)} of the device time already. "
    if facts.trace.has_stacks and waits is None:
        text += "Python stacks were recorded, which slows the CPU: without them the share is larger."
    return RULE.finding(
        title(busy_ns, period_ns),
        count=1,
        at_stake_ns=min(waits, cause.idle_ns) if waits is not None else _stake(facts, cause),
        confidence=_confidence(facts, cause, waits),
        evidence=facts.evidence_of_rows(cause.rows if cause.rows.size else _longest_launches(facts), limit=4),
        text=text.strip(),
        change=None if waits is not None else _change(facts, cause),
        because=_FOLLOWS.get(cause.filler) if waits is None else "FT203",
    )


def _meanwhile(facts: Facts, cause: IdleCause) -> str:
    """What the host does in the idle time, and what launches explain of it where that is not most."""
    filler = cause.filler
    if filler in (Filler.LAUNCHES, Filler.OTHER):
        text = _longest_gaps(facts, cause)
    else:
        doing = _MEANWHILE.get(filler) or _computing(_host_op(facts, cause))
        text = f"{time_text(cause.filled_ns)} of idle time {facts.per} fall while {doing}. "
    if filler is not Filler.LAUNCHES:
        return text + f"Launches explain {time_text(cause.launching_ns)} of it at most. "
    return text + (_waits_in_graph(facts) if _wants_graph(facts, cause) else "")


def _computing(op: str) -> str:
    """What it means that the host is in an op that launches nothing."""
    return (
        f"the CPU is in {op}, which makes views only"
        if _VIEWS.match(op)
        else f"the CPU computes {op}, which launches nothing"
    )


def _waits_in_graph(facts: Facts) -> str:
    waits = _waits(facts)
    return f"A graph holds no waits for the device: there are {facts.number_each(waits)}. " if waits else ""


def _wants_graph(facts: Facts, cause: IdleCause) -> bool:
    return (
        cause.filler in (Filler.LAUNCHES, Filler.COMPILED)
        and facts.launches >= _FEWEST
        and graph_share(facts) < _REPLAYED
    )


def _stake(facts: Facts, cause: IdleCause) -> float:
    """What the change can win: a larger batch and cheaper replays shrink all idle time."""
    return cause.idle_ns if cause.filler is Filler.LAUNCHES and not _wants_graph(facts, cause) else cause.filled_ns


def _change(facts: Facts, cause: IdleCause) -> str | None:
    if cause.filler is Filler.LOADER:
        return LOADER
    if cause.filler is Filler.ALLOCATION:
        return None
    if cause.filler is Filler.FIRST_USE:
        return WARM_UP
    if cause.filler is Filler.CAPTURE:
        return _AFTER_CAPTURE
    if cause.filler is Filler.HOST_OP:
        name = _host_op(facts, cause)
        return _FEWER_VIEWS if _VIEWS.match(name) else _MAKE if _MADE.match(name) else _ON_DEVICE.format(name)
    if graph_share(facts) >= _REPLAYED:
        return _IN_GRAPHS
    if cause.filler in (Filler.LAUNCHES, Filler.COMPILED):
        return _of_launches(facts, cause).format(graph_word(facts))
    main = facts.gaps.longer_than(0).main
    return unblock(main.host_name, has_stacks=facts.trace.has_stacks) if main is not None else None


def _of_launches(facts: Facts, cause: IdleCause) -> str:
    if not _wants_graph(facts, cause):
        return _BATCH
    compiles = facts.capability is None or facts.capability >= _TRITON_SINCE
    if _BETWEEN_WAITS * facts.per_step(_waits(facts)) > facts.launches:
        return _WAITS_FIRST if compiles else _WAITS_ALONE
    return _GRAPH if compiles else _GRAPH_ALONE


def _waits(facts: Facts) -> int:
    return len(facts.waits.in_program) if len(facts.waits) else 0


def _host_op(facts: Facts, cause: IdleCause) -> str:
    return facts.trace.name(int(cause.rows[0]))


def _busy(facts: Facts, period_ns: float, busy_ns: float) -> str:
    each = "" if facts.has_steps else " in this window"
    launches = facts.launches
    waits = (
        f"{count_text(round(launches), 'launch', 'launches')} {facts.per}, one every {time_text(period_ns / launches)}"
        if launches >= 1
        else f"less than one launch {facts.per}"
    )
    return f"The device is busy {share_text(busy_ns / period_ns)} of the time{each} and waits for {waits}."


def _longest_gaps(facts: Facts, cause: IdleCause) -> str:
    main = facts.gaps.longer_than(0).main
    if main is not None and main.total_ns >= _MAIN_SHARE * cause.idle_ns * facts.steps:
        return (
            f"Its longest gaps, {time_text(facts.per_step(main.total_ns))} {facts.per}, fall while the CPU is in "
            f"{main.host_name}. "
        )
    return ""


def _confidence(facts: Facts, cause: IdleCause, waits: float | None) -> Confidence:
    """Several steps show a period; one window shows its edges too, and recorded stacks slow the CPU."""
    if not facts.has_steps:
        return Confidence.POSSIBLE
    sure = facts.steps > 1 and not facts.trace.has_stacks and waits is None and cause.filler is Filler.LAUNCHES
    sure = sure and _wants_graph(facts, cause)
    return Confidence.CERTAIN if sure else Confidence.LIKELY


def _longest_launches(facts: Facts) -> I64:
    """The launches that took the CPU longest in the first counted step."""
    acts, rows = facts.trace.activities, facts.trace.rows
    some = facts.counted[acts.category[facts.counted] == Category.KERNEL]
    some = some if some.size else facts.counted
    launch = distinct(acts.launch[some[acts.step[some] == acts.step[some[0]]]])
    return launch[np.argsort(-rows.dur[launch], kind="stable")]
