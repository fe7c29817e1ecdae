"""What `foretrace read FOLDER` prints: one line a rank, and the ranks that are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from foretrace.report.console import Column, print_grid
from foretrace.report.escape import plain
from foretrace.report.read_text import print_fact
from foretrace.units import share_text, time_scale

if TYPE_CHECKING:
    from rich.console import Console

    from foretrace.analysis.ranks import Ranks

__all__ = ["print_ranks"]

_SHOWN = 20


def print_ranks(out: Console, name: str, found: Ranks, refused: list[str]) -> None:
    """The ranks of a folder."""
    size = f" of {found.world_size}" if found.world_size else ""
    out.print(Text(f"{plain(name)} · {len(found.ranks)} traces{size}", style="bold"), soft_wrap=True)
    out.print()
    scale = time_scale(max(rank.per_step.device_time_ns.median for rank in found.ranks))
    rows = []
    for rank in found.ranks:
        figures = rank.per_step
        share = figures.busy_share
        rows.append(
            [
                "-" if rank.rank is None else str(rank.rank),
                plain(rank.file),
                str(len(rank.step_names)),
                f"{figures.kernels.value:,}",
                scale(figures.device_time_ns.median),
                "-" if share is None else share_text(share),
            ]
        )
    columns = [
        Column("rank"),
        Column("file", text=True, most=50),
        Column("steps"),
        Column("kernels a step"),
        Column("device time"),
        Column("busy"),
    ]
    print_grid(out, columns, rows)
    out.print()
    if found.missing:
        shown = ", ".join(map(str, found.missing[:_SHOWN])) + (" ..." if len(found.missing) > _SHOWN else "")
        print_fact(out, "Trust", f"No trace of {len(found.missing)} of {found.world_size} ranks: {shown}.")
    for note in (*found.notes, *refused):
        print_fact(out, "Trust", plain(note))
    out.print(Text(" Read one with: foretrace read FILE", style="dim"))
