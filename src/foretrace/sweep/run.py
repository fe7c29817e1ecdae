"""Run a sweep: every variant at every case, rows kept as they come, what is done already left out.

Cases run in an order that is shuffled, always the same way: so the estimate of what is left holds from early on, and
a sweep that is stopped has looked at all of the range and not only at its small end.
"""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from foretrace.capture.attention import chosen_variants
from foretrace.capture.recording import ShapeInfo, shape_info
from foretrace.capture.shapes import AttentionShape, default_shape
from foretrace.capture.sweep_case import CaseOptions, Traces
from foretrace.capture.sweep_row import case_name
from foretrace.errors import UsageError
from foretrace.report.sweep_data import Sweep
from foretrace.sweep.axes import Grid, axis_name, axis_values
from foretrace.sweep.case_file import read_case_file
from foretrace.sweep.executor import CaseEnd
from foretrace.sweep.local_executor import LocalExecutor
from foretrace.sweep.protocol import Job, VariantRef
from foretrace.sweep.results import Part, Plan, SweepFolder
from foretrace.units import count_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from foretrace.capture.sweep_row import SweepRow
    from foretrace.sweep.executor import Executor

__all__ = ["VARIANTS", "Progress", "run_parts", "sweep"]

VARIANTS: Final = ("auto", "math", "efficient", "flash", "cudnn")
"""What is measured where nothing is named: SDPA's backends, and the one that PyTorch picks."""

_MOST_CASES: Final = 1_000_000


@dataclass(frozen=True)
class Progress:
    """How far a sweep is."""

    cases: int
    """Cases in all."""
    done: int
    """Cases that are done, those of earlier runs included."""
    resumed: int
    """Cases that were done before this run."""
    rows: int
    """Rows of this run."""
    failed: int
    """Those of them without a time."""
    left_s: float | None
    """Estimate of the seconds that are left; None before the first case has ended."""
    last: str
    """The case that the latest row is of."""


def sweep(
    output: str | Path,
    *,
    cases: str | Path | Sequence[AttentionShape | Mapping[str, Any]] | None = None,
    variants: Sequence[str] | None = None,
    own: Sequence[str] = (),
    device: str | None = None,
    workers: int | None = None,
    threads: int | None = None,
    ray: str | None = None,
    traces: Traces = "none",
    limit: float = 120.0,
    seconds: float = 2.0,
    spread: float = 0.01,
    samples: bool = False,
    budget: float | None = None,
    retry: bool = False,
    progress: Callable[[Progress], None] | None = None,
    note: Callable[[str], None] | None = None,
    **axes: Any,
) -> Sweep:
    """Measure variants at many shapes, as `foretrace sweep` does, and read what is in ``output`` then.

    What ``output`` holds already is not measured again; with neither cases nor axes, the sweep in it goes on.

    Args:
        output: A folder, or an URL that fsspec knows.
        cases: A TOML or CSV file, or shapes (``AttentionShape``, or mappings of axes to values).
        variants: Names; SDPA's backends and ``auto`` unless given.
        own: Variants of your own, MODULE:CALLABLE or FILE.py:CALLABLE.
        device: ``cpu``, ``cuda``, ``cuda:1``; the GPUs that are here unless given.
        workers: Worker processes; one for each GPU, or one for the CPU, unless given.
        threads: Threads of each worker on a CPU.
        ray: ``auto``, ``local`` or the address of a Ray cluster that carries out the cases.
        traces: Of which variants of a case to keep a trace.
        limit: Seconds that one variant may take at one case before its worker is replaced.
        seconds: Seconds to repeat a case's variants for, at most, until their spreads are small.
        spread: The spread that is small enough, as a share of the median.
        samples: Keep every run's time.
        budget: Seconds after which no further case is begun.
        retry: Measure again what failed before.
        progress: Told how far it is, at each row.
        note: Told, in a sentence, what is worth knowing before it begins.
        **axes: ``batch``, ``heads``, ``kv_heads``, ``length``, ``kv_length``, ``head_dim``, ``dtype``, ``causal``,
            ``mask``, ``training``: a value, values, or text such as ``"512:16384:x2"``. Every combination is a case.

    Raises:
        UsageError: An argument makes no sense.
        CaptureError: torch or the device is missing, or was lost.
        MissingDataError: An extra that is asked for is not installed.
    """
    tell = note or (lambda _sentence: None)
    for word, number in (("limit", limit), ("seconds", seconds), ("spread", spread)):
        if not number > 0:
            raise UsageError(f"--{word} is {number:g}; it must be above 0.")
    grids, named = _grids(cases, axes)
    folder = SweepFolder(output)
    executor = _executor(ray, device, workers, threads)
    try:
        if grids:
            part = Part(
                cases=_cases(grids, executor, tell),
                variants=_references(variants if variants is not None else named, own),
                options=CaseOptions(spread=spread, seconds=seconds, traces=traces, samples=samples),
                limit=limit,
            )
            parts: tuple[Part, ...] = (part,)
            before = folder.plan()
            if before is None or part not in before.parts:
                folder.write_plan(Plan(parts=(*(before.parts if before else ()), part)))
        else:
            parts = _stored(folder)
        finished = run_parts(parts, folder, executor, budget=budget, retry=retry, progress=progress)
    finally:
        executor.close()
        folder.close()
    return Sweep(rows=tuple(folder.rows()), place=str(output), finished=finished)


def run_parts(
    parts: Sequence[Part],
    folder: SweepFolder,
    executor: Executor,
    *,
    budget: float | None = None,
    retry: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> bool:
    """Measure what the folder does not hold yet; True when everything that was asked for is in it then."""
    done = {row.key for row in folder.rows() if row.status in ("ok", "unsupported") or not retry}
    jobs = [job for part in parts for job in _jobs(part, done)]
    cases = sum(len(part.cases) for part in parts)
    count = _Count(cases, cases - len(jobs), progress)
    stop = None if budget is None else time.monotonic() + budget
    taken = 0

    def take() -> Iterator[Job]:
        nonlocal taken
        for job in jobs:
            if stop is not None and time.monotonic() >= stop:
                return
            taken += 1
            yield job

    if jobs:
        for word in executor.results(take()):
            if isinstance(word, CaseEnd):
                count.ended()
            else:
                folder.add(word.row, word.trace)
                count.row(word.row)
    folder.finish()
    return taken == len(jobs)


def _jobs(part: Part, done: set[tuple[str, str]]) -> list[Job]:
    """What is left to do, a job for each case; what is listed here counts as done."""
    jobs = []
    for shape in part.cases:
        case = case_name(shape)
        left = tuple(variant for variant in part.variants if (case, variant.name) not in done)
        done.update((case, variant.name) for variant in left)
        if left:
            jobs.append(Job(case=case, shape=shape, variants=left, options=part.options, limit=part.limit))
    return sorted(jobs, key=lambda job: zlib.crc32(job.case.encode()))


class _Count:
    """Counts rows and cases, and estimates what is left."""

    def __init__(self, cases: int, resumed: int, tell: Callable[[Progress], None] | None) -> None:
        self._cases = cases
        self._resumed = resumed
        self._tell = tell
        self._began = time.monotonic()
        self._ended = 0
        self._rows = 0
        self._failed = 0
        self._last = ""
        self._say()

    def row(self, row: SweepRow) -> None:
        self._rows += 1
        self._failed += row.time_ns is None
        self._last = row.case
        self._say()

    def ended(self) -> None:
        self._ended += 1
        self._say()

    def _say(self) -> None:
        if self._tell is None:
            return
        left = self._cases - self._resumed - self._ended
        took = time.monotonic() - self._began
        self._tell(
            Progress(
                cases=self._cases,
                done=self._resumed + self._ended,
                resumed=self._resumed,
                rows=self._rows,
                failed=self._failed,
                left_s=took / self._ended * left if self._ended else None,
                last=self._last,
            )
        )


def _executor(ray: str | None, device: str | None, workers: int | None, threads: int | None) -> Executor:
    if ray is None:
        return LocalExecutor(device, workers, threads)
    if workers is not None:
        raise UsageError("--workers is for this machine; on a Ray cluster every free GPU (or CPU) takes a case.")
    from foretrace.sweep.ray_executor import RayExecutor  # noqa: PLC0415 - Ray is imported only where it is chosen

    return RayExecutor(ray, device, threads)


def _grids(
    cases: str | Path | Sequence[AttentionShape | Mapping[str, Any]] | None, axes: Mapping[str, Any]
) -> tuple[list[Grid], list[str] | None]:
    """The grids that were asked for, and the variants that a file of cases names."""
    chosen = {axis_name(word): value for word, value in axes.items() if value is not None}
    values = {name: axis_values(name, value, "--") for name, value in chosen.items()}
    if cases is None:
        return ([Grid(values)] if values else []), None
    grids: list[Grid] = []
    named = None
    if isinstance(cases, (str, Path)):
        found = read_case_file(Path(cases))
        grids, named = found.grids, found.variants
    else:
        for number, case in enumerate(cases, 1):
            sizes = msgspec.to_builtins(shape_info(case)) if isinstance(case, AttentionShape) else case
            table = {axis_name(word): value for word, value in sizes.items()}
            grids.append(Grid({name: axis_values(name, value, f"case {number}: ") for name, value in table.items()}))
    # An axis beside a file is for the cases that do not name it.
    return [Grid(values | grid.axes) for grid in grids], named


def _references(variants: Sequence[str] | None, own: Sequence[str]) -> tuple[VariantRef, ...]:
    """The variants by name, and the user's own by where they are. Raises as ``chosen_variants``."""
    for target in own:
        if not isinstance(target, str):
            raise UsageError(f"{target!r} cannot be sent to a worker process; give it as MODULE:CALLABLE.")
    names = list(dict.fromkeys(variants if variants is not None else VARIANTS))
    found = chosen_variants(names, own)
    targets: list[str | None] = [*([None] * len(names)), *map(_from_anywhere, own)]
    return tuple(VariantRef(candidate.name, target) for candidate, target in zip(found, targets, strict=True))


def _from_anywhere(target: str) -> str:
    """FILE.py:CALLABLE with the whole path: a worker may run in another folder."""
    module, _, name = target.rpartition(":")
    return f"{Path(module).resolve()}:{name}" if module.endswith(".py") else target


def _cases(grids: list[Grid], executor: Executor, tell: Callable[[str], None]) -> tuple[ShapeInfo, ...]:
    """Every case of the grids, once; sizes that are not given are the defaults of the device."""
    defaults = {name: axis_values(name, value)[0] for name, value in default_shape(executor.device_type).items()}
    defaults |= {"causal": True, "mask": "none", "training": False}
    shapes: dict[str, ShapeInfo] = {}
    misfits: list[str] = []
    for grid in grids:
        if grid.size > _MOST_CASES:
            raise UsageError(f"a grid of {grid.size:,} cases is more than anybody waits for; give fewer values.")
        found, left_out = grid.shapes(defaults)
        misfits += left_out
        shapes |= {case_name(shape): shape for shape in map(shape_info, found)}
    if not shapes:
        raise UsageError(f"no case is left to measure: {misfits[0]}")
    if misfits:
        tell(f"{count_text(len(misfits), 'combination')} left out, which do not fit together; the first: {misfits[0]}")
    return tuple(shapes.values())


def _stored(folder: SweepFolder) -> tuple[Part, ...]:
    plan = folder.plan()
    if plan is None:
        raise UsageError(
            f"{folder.place} holds no sweep to go on with; say what to measure: --seq 512:16384:x2, or --cases FILE."
        )
    return plan.parts
