"""A trace under the roof, for people: each op's time against its floor, and the step's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from foretrace.report.console import Column, print_grid
from foretrace.report.escape import ellipsis, plain
from foretrace.report.read_text import print_note
from foretrace.units import count_text, share_text, time_scale, time_text

if TYPE_CHECKING:
    from rich.console import Console

    from foretrace.analysis.roofline.bound import Bound
    from foretrace.analysis.roofline.recorded import OpRoof, TraceRoofline

__all__ = ["over_floor_text", "print_roofline", "rate_text"]

_ROWS: Final = 12
_BARE: Final = 9.95
_HUNDREDFOLD: Final = 999.5
_ROOMY: Final = 96
"""From this many columns on there is room for the achieved rate."""


def rate_text(per_s: float, unit: str) -> str:
    """A rate in decimal units, e.g. ``298 TFLOP/s``, ``1.16 TB/s``."""
    for prefix, scale in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if per_s >= scale:
            return (
                f"{per_s / scale:.3g} {prefix}{unit}/s"
                if per_s < 999.5 * scale
                else f"{per_s / scale:.0f} {prefix}{unit}/s"
            )
    return f"{per_s:.0f} {unit}/s"


def over_floor_text(over: float | None) -> str:
    """Measured over floor, e.g. ``3.3x``, ``151x``; a dash where it is not known."""
    if over is None:
        return "-"
    if over > _HUNDREDFOLD:
        return ">999x"
    return f"{over:.1f}x" if over < _BARE else f"{over:.0f}x"


def _achieved(bound: Bound) -> str:
    """The rate of what bounds it."""
    if bound.bound == "compute" and bound.achieved_flops_per_s is not None:
        return rate_text(bound.achieved_flops_per_s, "FLOP")
    if bound.bound == "memory" and bound.achieved_bytes_per_s is not None:
        return rate_text(bound.achieved_bytes_per_s, "B")
    if bound.achieved_flops_per_s:
        return rate_text(bound.achieved_flops_per_s, "FLOP")
    return "-"


def _cells(op: OpRoof) -> list[str | Text]:
    bound, each = op.bound, op.device_time_ns / op.calls
    name = ellipsis(plain(op.name), 44)
    label = Text(name)
    if op.shapes:
        label.append(f"  {plain(op.shapes)}", style="dim")
    share = "-" if bound.share_of_peak is None else share_text(bound.share_of_peak)
    floor = "-" if bound.floor_ns is None else time_text(bound.floor_ns)
    return [
        label, f"{op.calls:,}", time_text(each), floor, over_floor_text(bound.over_floor), bound.bound,
        share, _achieved(bound),
    ]  # fmt: skip


def print_roofline(out: Console, found: TraceRoofline, *, limit: int | None = _ROWS) -> None:
    """The ops by device time: time and floor of one call, how many times the floor it took, and what bounds it."""
    shown = found.ops if limit is None else found.ops[:limit]
    columns = [
        Column("Roofline", text=True, most=60, least=16),
        Column("calls"),
        Column("a call"),
        Column("floor"),
        Column("over"),
        Column("bound", text=True, least=7),
        Column("of peak"),
        Column("achieved"),
    ]
    kept = len(columns) if out.width >= _ROOMY else len(columns) - 1
    out.print()
    if not shown:
        print_note(
            out,
            "Roofline: no op has a floor. That takes ops with recorded shapes (record_shapes=True) whose work is known"
            " and whose launches are in the file.",
        )
        return
    print_grid(out, columns[:kept], [_cells(op)[:kept] for op in shown])
    if len(found.ops) > len(shown):
        out.print(Text(f" and {count_text(len(found.ops) - len(shown), 'more row')}", style="dim"))
    if any(op.bound.bound == "memory" and (op.bound.share_of_peak or 0) > 1 for op in shown):
        print_note(out, "Above 100 %: its tensors were still in the L2 cache, which is faster than the memory.")
    step = found.per_step
    if step.over_floor is not None:
        scale = time_scale(step.judged_ns.median)
        rest = f", and {scale(step.unknown_ns.median)} of which no floor is known" if step.unknown_ns.median else ""
        print_note(
            out,
            f"A step: {scale(step.judged_ns.median)} over a floor of {scale(step.floor_ns.median)}, "
            f"{over_floor_text(step.over_floor)}{rest}.",
        )
    print_note(out, _peaks_note(found))


def _peaks_note(found: TraceRoofline) -> str:
    if found.peaks is None:
        where = f"{found.device} is in no table" if found.device else "the file names no device"
        return f"Peak rates are not known: {plain(where)}. Give them in a TOML file."
    peaks = found.peaks
    rates = [
        f"{rate_text(rate, 'FLOP')} {dtype}"
        for unit, dtype in (("tensor_core", "bf16"), ("tensor_core", "fp16"), ("cuda_core", "fp32"))
        if (rate := peaks.flops.get((unit, dtype)))
    ]
    if peaks.bytes_per_s:
        rates.append(rate_text(peaks.bytes_per_s, "B"))
    return (
        f"Floor: the longer of FLOPs and fewest bytes at the peaks of {plain(peaks.device)}: {', '.join(rates)} "
        f"({plain(peaks.source)})."
    )
