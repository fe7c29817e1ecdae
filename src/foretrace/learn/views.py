"""Views of a recording that lessons share: its kernels, some ops, a name taken apart, what bounds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from foretrace.learn.lesson import Grid, Lanes
from foretrace.learn.words import and_list, counted, one_unit, tick
from foretrace.report.escape import plain
from foretrace.units import bytes_text, share_text, time_scale

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from foretrace.analysis.timeline import Step
    from foretrace.analysis.tree import Node
    from foretrace.learn.recorded import Recorded, Work
    from foretrace.names.decoded import Decoded
    from foretrace.units import TimeScale

__all__ = [
    "annotated_sentence",
    "bound_sentence",
    "compared_grid",
    "counts_sentence",
    "grid_scale",
    "kernel_grid",
    "kinds_text",
    "label_sentence",
    "lanes",
    "launched_sentence",
    "launcher",
    "op_grid",
    "role_grid",
    "step_grid",
    "token_grid",
    "token_proving",
]

_SHORT_NAME: Final = 20
_NAMED: Final = 26
"""A table of more activities than this is by kind instead."""


def lanes(
    recorded: Recorded,
    title: str,
    *,
    quiet: bool = False,
    apart: bool = False,
    lettered: bool = True,
    legend: Literal["", "short", "long"] = "",
) -> Lanes:
    """The lanes of the step to look at; the rest as in ``Lanes``."""
    return Lanes(recorded, recorded.shown, title, quiet, apart, lettered, legend)


def kernel_grid(recorded: Recorded, *, details: bool = True, launchers: bool = True) -> Grid:
    """Every activity of the step in launch order: letter, what it is, time, share, and the op that launched it.

    Args:
        recorded: the recording.
        details: sizes, tiles and units, and shares of the time; left out where they are asked for later.
        launchers: the ops that launched; likewise.

    """
    works = recorded.work
    if len(works) > _NAMED:
        return role_grid(works)
    total = sum(work.time_ns for work in works) or 1
    scale = grid_scale(recorded)
    rows = []
    for work in works:
        row = [work.letter, _labelled(work) if details else _in_short(work), scale(work.time_ns)]
        row += [share_text(work.time_ns / total)] * details + [launcher(work)] * launchers
        rows.append(tuple(row))
    headings = ("", "what it is", "device", *(("share",) * details), *(("launched by",) * launchers))
    return Grid(headings, tuple(rows), text=(0, 1, *((len(headings) - 1,) * launchers)))


def grid_scale(recorded: Recorded) -> TimeScale:
    """The unit of the times in ``kernel_grid``."""
    return time_scale(max((work.time_ns for work in recorded.work), default=0))


def launcher(work: Work) -> str:
    """The op that launched it, inside the one around that where its name is short enough to help."""
    names = [plain(name).removeprefix("aten::") for name in work.path[-2:]]
    return " > ".join(names if len(names[0]) <= _SHORT_NAME else names[-1:]) if names else "outside any op"


def _labelled(work: Work) -> str:
    return f"{work.short}, {bytes_text(work.bytes)}" if work.kind == "memcpy" and work.bytes else work.short


def _in_short(work: Work) -> str:
    return "GEMM" if work.decoded.role == "gemm" else work.short


def role_grid(works: Sequence[Work]) -> Grid:
    """Some activities by what they compute: how many, and how long."""
    found: dict[str, list[int]] = {}
    for work in works:
        word = work.decoded.role.replace("_", " ")
        if word == "copy" and work.kind == "kernel":
            word = "copy, by a kernel"
        found.setdefault("copy" if work.kind == "memcpy" else word, []).append(work.time_ns)
    total = sum(map(sum, found.values())) or 1
    order = sorted(found, key=lambda word: -sum(found[word]))
    scale = time_scale(max(map(sum, found.values()), default=0))
    rows = tuple(
        (word, f"{len(found[word]):,}", scale(sum(found[word])), share_text(sum(found[word]) / total)) for word in order
    )
    return Grid(("what they are", "how many", "device", "share"), rows)


def compared_grid(recordings: Mapping[str, Recorded]) -> Grid:
    """Recordings side by side: a step's device time, CPU time and period in one unit, and the busy share."""
    figures = {name: (each.device_ns, each.cpu_ns, each.period_ns) for name, each in recordings.items()}
    scale = one_unit(*(time for row in figures.values() for time in row))
    rows = tuple(
        (name, *(scale(time) for time in row), share_text(recordings[name].busy_share)) for name, row in figures.items()
    )
    return Grid(("", "device", "CPU", "period", "busy"), rows)


def step_grid(steps: Sequence[Step]) -> Grid:
    """The steps of a recording: on the CPU and on the device, each column in its own unit."""
    cpu, device = (
        one_unit(*(step.cpu_time_ns for step in steps)),
        one_unit(*(step.device_time_ns for step in steps)),
    )
    rows = tuple((plain(step.name), cpu(step.cpu_time_ns), device(step.device_time_ns)) for step in steps)
    return Grid(("step", "CPU", "device"), rows)


def op_grid(nodes: Sequence[Node], verb: str = "launches") -> Grid:
    """Some ops with their shapes and the number of activities under each."""
    rows = tuple(
        (plain(node.name), plain(node.shapes), f"{sum(each.activity >= 0 for each in node.walk()):,}") for node in nodes
    )
    return Grid(("op", "inputs", verb), rows, text=(0, 1))


def token_grid(decoded: Decoded, keep: Callable[[str], bool] | None = None) -> Grid:
    """A kernel's name piece by piece; ``keep`` picks pieces by the fact they prove."""
    rows = tuple(
        (plain(token.text), plain(token.meaning))
        for token in decoded.tokens
        if keep is None or any(keep(fact) for fact in (token.fact or "").split(", "))
    )
    return Grid(("piece of the name", "what it says"), rows, text=(0, 1))


def token_proving(decoded: Decoded, fact: str) -> str | None:
    """The piece of a name that proves a fact."""
    return decoded.evidence.get(fact)


def counts_sentence(recorded: Recorded) -> str:
    """``5 kernels, 1 copy and 1 memset``: what a step launches."""
    figures = recorded.per_step
    return _counts(figures.kernels.value, figures.memcpys.value, figures.memsets.value)


def kinds_text(works: Sequence[Work]) -> str:
    """The same of some activities."""
    kinds = [work.kind for work in works]
    return _counts(kinds.count("kernel"), kinds.count("memcpy"), kinds.count("memset"))


def _counts(kernels: float, copies: float, memsets: float) -> str:
    parts = [counted(kernels, "kernel")]
    if copies:
        parts.append(counted(copies, "copy", "copies"))
    if memsets:
        parts.append(counted(memsets, "memset"))
    return and_list(parts)


def label_sentence(work: Work) -> str:
    """What the label of a GEMM says, for who meets one for the first time; empty where its name gives no tile."""
    decoded = work.decoded
    if decoded.role != "gemm" or not decoded.tile:
        return ""
    dtype = f" in {decoded.input_dtype}" if decoded.input_dtype else ""
    return (
        f"The label {tick(work.short)} comes from the kernel's name: a GEMM{dtype} whose output is computed in tiles "
        f"of {decoded.tile} numbers, each by a block of threads; the kernel is of the family "
        f"{decoded.library.split()[-1]}."
    )


def launched_sentence(recorded: Recorded) -> str:
    """Which op launched which kernel, in launch order."""
    parts = [f"{tick(work.owner)} launches {work.letter} ({work.short})" for work in recorded.work]
    return and_list(parts)


def bound_sentence(recorded: Recorded) -> str:
    """How busy the device is, and what that makes of the step."""
    word = {
        "device": "device-bound",
        "cpu": "CPU-bound: the device waits for launches",
        "mixed": "in between, neither clearly CPU-bound nor clearly device-bound",
    }.get(recorded.bound, "bound by what this trace does not show")
    scale = one_unit(recorded.device_ns, recorded.period_ns)
    works = (
        f"The device works {scale(recorded.device_ns)} of every {scale(recorded.period_ns)}, busy "
        f"{share_text(recorded.busy_share)} of the time."
        if recorded.device_ns < recorded.period_ns
        else "The device works all the time."
    )
    return f"{works} The step is {word}."


def annotated_sentence(recorded: Recorded) -> str:
    """What the recorded call is called in the drawings; empty where nothing stands around it."""
    name = recorded.annotation
    return f"In the recording the call stands inside an annotation, {tick(name)}." if name else ""
