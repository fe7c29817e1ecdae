"""What `foretrace sweep show` prints: who wins where, where that flips, what the default loses, what failed."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from foretrace.capture.sweep_row import FAILURES
from foretrace.report.console import Column, console, print_grid
from foretrace.report.escape import plain
from foretrace.report.shape_words import common_words, shape_words
from foretrace.units import count_text, share_text, time_scale, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.report.sweep_data import DefaultLoss, DeviceSweep, Failure, Standing, Sweep
    from foretrace.report.sweep_flips import Flip
    from foretrace.report.sweep_outcome import CaseOutcome
    from foretrace.units import TimeScale

__all__ = [
    "Views",
    "case_cells",
    "failure_text",
    "flip_cells",
    "loss_text",
    "print_sweep",
    "standing_cells",
    "sweep_notes",
    "sweep_text",
]

_TEXT_WIDTH: Final = 100
_SHOWN: Final = 6
"""Flips and failures on the first screen, which should fit 30 lines."""

_FAILED: Final = {"wrong": "gave a wrong result", "ok": "was not timed"} | {
    str(status): text for status, text in FAILURES.items()
}
_AXIS_WORDS: Final = {
    "length": "length",
    "kv_length": "kv length",
    "batch": "batch",
    "heads": "heads",
    "kv_heads": "kv heads",
    "head_dim": "head dim",
}


@dataclass(frozen=True)
class Views:
    """What is asked for beyond the first screen."""

    cases: bool = False
    flips: bool = False
    failures: bool = False


def sweep_text(found: Sweep) -> str:
    """The first screen as plain text of 100 columns."""
    sink = io.StringIO()
    out = Console(file=sink, width=_TEXT_WIDTH, highlight=False, markup=False, emoji=False, color_system=None)
    print_sweep(out, found, Views())
    return sink.getvalue()


def print_sweep(out: Console | None, found: Sweep, views: Views) -> None:
    """Print the first screen, or the views that were asked for, device by device."""
    out = out or console()
    for number, device in enumerate(found.devices):
        if number:
            out.print()
        _print_device(out, found, device, views)
    notes = sweep_notes(found)
    if notes and found.devices:
        out.print()
    for note in notes:
        _line(out, note)


def sweep_notes(found: Sweep) -> list[str]:
    """What to know about the rows as a whole: none yet, some unreadable, some still to come."""
    notes = [] if found.devices else [f"{plain(found.place)} holds no rows yet."]
    if found.damaged:
        lines = count_text(found.damaged, "line")
        notes.append(
            f"{lines} of the rows could not be read; a run that was killed leaves one, and its case is redone."
        )
    if not found.finished:
        notes.append("Not everything that was asked for is measured; the same command goes on with it.")
    return notes


def _print_device(out: Console, found: Sweep, device: DeviceSweep, views: Views) -> None:
    common = common_words(outcome.shape for outcome in device.outcomes)
    _print_title(out, found, device, common)
    if not (views.cases or views.flips or views.failures):
        _print_standings(out, device)
        if device.default_loss is not None:
            out.print()
            _line(out, loss_text(device.default_loss, common))
        _print_flips(out, device.flips, common, most=_SHOWN)
        _print_failures(out, device, common, most=_SHOWN)
        return
    if views.cases:
        _print_cases(out, device, common)
    if views.flips:
        _print_flips(out, device.flips, common, most=None)
    if views.failures:
        _print_failures(out, device, common, most=None)


def _line(out: Console, text: str | Text) -> None:
    out.print(Padding(Text(text) if isinstance(text, str) else text, (0, 0, 0, 1), expand=False), overflow="fold")


def _print_title(out: Console, found: Sweep, device: DeviceSweep, common: dict[str, str]) -> None:
    parts = [f"Sweep {plain(found.place)}", plain(device.name), count_text(len(device.outcomes), "case")]
    parts.append(count_text(len(device.variants), "variant"))
    line = Text(" · ".join(parts), style="bold")
    about = device.device
    said = (
        []
        if about is None
        else [f"torch {about.torch}"] * bool(about.torch) + [f"driver {about.driver}"] * bool(about.driver)
    )
    if said:
        where = plain(", ".join(said))
        space = out.width - line.cell_len - len(where)
        line.append(" " * space + where if space > 1 else f"\n{where}", style="not bold dim")
    out.print(line, overflow="fold")
    words = " ".join(text for text in common.values() if text)
    if words:
        _line(out, Text(f"in all cases: {words}", style="dim"))


def _print_standings(out: Console, device: DeviceSweep) -> None:
    columns = [
        Column("variant", text=True),
        Column("fastest"),
        Column("tied"),
        Column("of cases"),
        Column("behind the fastest"),
        Column("failed"),
    ]
    rows = [standing_cells(each) for each in device.standings]
    out.print()
    if rows:
        print_grid(out, columns, rows)
        _line(out, Text("tied: within the spread of the fastest; behind: in the median case.", style="dim"))


def standing_cells(each: Standing) -> list[str]:
    """Variant, alone the fastest, tied, cases, behind the fastest, failed."""
    return [
        plain(each.variant),
        f"{each.wins:,}",
        f"{each.ties:,}" if each.ties else "-",
        f"{each.cases:,}",
        "-" if each.behind is None else _behind(each.behind),
        f"{each.failed:,}" if each.failed else "-",
    ]


def _behind(share: float) -> str:
    """How much longer it takes: in percent, and from twice the time on as a factor."""
    return f"{1 + share:.1f}x" if share >= 1 else "0 %" if share <= 0 else share_text(share)


def loss_text(loss: DefaultLoss, common: dict[str, str]) -> str:
    """What the default dispatch loses, in a sentence or two; shapes without what is ``common``."""
    ran = ", ".join(f"{plain(name)} in {number:,}" for name, number in loss.backends.items())
    text = f"Default dispatch is as fast as any in {loss.within_spread:,} of {count_text(loss.cases, 'case')}"
    text += f" (it chose {ran})." if ran else "."
    worst = loss.worst
    if worst is None or loss.median is None or worst.best is None or worst.default is None:
        return text
    default = worst.default.time_ns
    took = "" if default is None else time_text(default.median)
    where = shape_words(worst.shape, common)
    text += f" Elsewhere it takes {_longer(loss.median)} in the median, at most {_longer(worst.loss or 0.0)}"
    return (
        f"{text}: at {where or 'the one case'}, where {plain(worst.winner_names[0])} takes "
        f"{time_text(worst.best.median)} and {plain(worst.default.backend or 'the default')} {took}."
    )


def _longer(share: float) -> str:
    return f"{1 + share:.1f}x as long" if share >= 1 else f"{share_text(share)} longer"


def _print_flips(out: Console, flips: Sequence[Flip], common: dict[str, str], *, most: int | None) -> None:
    if not flips:
        if most is None:
            out.print()
            _line(out, "The winner flips nowhere.")
        return
    out.print()
    shown = flips if most is None else sorted(flips, key=lambda flip: -flip.lines)[:most]
    columns = [
        Column("the winner flips", text=True),
        Column("as", text=True, least=6),
        Column("grows from"),
        Column("to"),
        Column("in lines"),
        Column("for example", text=True, least=8),
    ]
    print_grid(out, columns, [flip_cells(flip, common) for flip in shown])
    if len(shown) < len(flips):
        _line(out, Text(f"{len(flips) - len(shown):,} more: --flips", style="dim"))


def flip_cells(flip: Flip, common: dict[str, str]) -> list[str]:
    """Who to whom, which size, from, to, in how many lines, an example."""
    return [
        f"{_names(flip.before)} -> {_names(flip.after)}",
        _AXIS_WORDS[flip.axis],
        f"{flip.low:,}",
        f"{flip.high:,}",
        f"{flip.lines} of {flip.of_lines}",
        shape_words(flip.example.shape, common),
    ]


def _names(names: Sequence[str]) -> str:
    return " = ".join(plain(name) for name in names)


def _print_failures(out: Console, device: DeviceSweep, common: dict[str, str], *, most: int | None) -> None:
    failures = device.failures
    if not failures:
        if most is None:
            out.print()
            _line(out, "Nothing failed.")
        return
    out.print()
    for failure in failures[:most]:
        head, said = failure_text(failure, common)
        _line(out, Text(head, style="yellow").append(said, style="default"))
    if most is not None and len(failures) > most:
        _line(out, Text(f"{len(failures) - most:,} more reasons: --failures", style="dim"))


def failure_text(failure: Failure, common: dict[str, str]) -> tuple[str, str]:
    """Who failed and how; where, how often and why."""
    where = shape_words(failure.example.shape, common)
    said = f" in {count_text(failure.count, 'case')}" + (f" (first {where})" if where else "")
    said += f": {plain(failure.reason)}" if failure.reason else "."
    return f"{plain(failure.variant)} {_FAILED.get(failure.status, failure.status)}", said


def _print_cases(out: Console, device: DeviceSweep, common: dict[str, str]) -> None:
    times = [outcome.best.median for outcome in device.outcomes if outcome.best is not None]
    scale = time_scale(sorted(times)[len(times) // 2]) if times else time_scale(0)
    columns = [
        Column("case", text=True, least=16),
        Column("fastest", text=True, least=8),
        Column("time"),
        Column("spread"),
        Column("next", text=True, least=6),
        Column("behind"),
        Column("default", text=True, least=6),
        Column("behind"),
    ]
    out.print()
    print_grid(out, columns, [case_cells(outcome, common, scale) for outcome in device.outcomes])
    _line(out, Text("= between variants: a tie, within the spread of each other.", style="dim"))


def case_cells(outcome: CaseOutcome, common: dict[str, str], scale: TimeScale) -> list[str]:
    """Case, fastest, time, spread, next, how far behind it is, default, how far behind that is."""
    best, runner_up, default = outcome.best, outcome.runner_up, outcome.default
    words = shape_words(outcome.shape, common) or outcome.case
    if best is None:
        return [words, "-", "-", "-", "-", "-", "-", "-"]
    behind, loss = outcome.behind(runner_up), outcome.loss
    return [
        words,
        _names(outcome.winner_names),
        scale(best.median),
        share_text(best.spread / best.median) if best.median else "-",
        "-" if runner_up is None else plain(runner_up.variant),
        "-" if behind is None else _behind(behind),
        "-" if default is None else plain(default.backend or "ran"),
        "-" if loss is None else "tie" if outcome.default_is_best else _behind(loss),
    ]
