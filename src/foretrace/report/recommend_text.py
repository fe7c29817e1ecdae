"""What `foretrace recommend` prints: what to run, how sure, the code, and the evidence."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from foretrace.report.console import Column, console, print_grid
from foretrace.report.escape import plain
from foretrace.report.shape_words import shape_words
from foretrace.units import count_text, share_text, time_text

if TYPE_CHECKING:
    from foretrace.report.recommendation import Alternative, Recommendation

__all__ = ["print_recommendation", "recommendation_text"]

_TEXT_WIDTH: Final = 100
_CERTAIN: Final = 0.99  # an estimate is never more certain than this
_ABOUT: Final = 0.1
_SURE: Final = {
    "measured": "measured at this very shape",
    "sure": "sure",
    "likely": "likely",
    "unsure": "unsure",
    "unknown": "unknown",
}


def recommendation_text(found: Recommendation) -> str:
    """The whole view as plain text of 100 columns."""
    sink = io.StringIO()
    print_recommendation(
        Console(file=sink, width=_TEXT_WIDTH, highlight=False, markup=False, emoji=False, color_system=None), found
    )
    return sink.getvalue()


def print_recommendation(out: Console | None, found: Recommendation) -> None:
    """The answer first, then the code, then what it rests on."""
    out = out or console()
    device = found.device
    where = "unknown device" if device is None else plain(device.name)
    release = f", torch {plain(device.torch)}" if device is not None and device.torch else ""
    out.print(Text(f"{shape_words(found.shape)} on {where}{release}", style="bold"), overflow="fold")
    out.print()
    _line(out, Text(_answer(found), style="bold" if found.pin is not None else ""))
    _line(out, _how_sure(found))
    for note in _notes(found):
        _line(out, note)
    if found.code is not None:
        out.print()
        for line in found.code.splitlines():
            out.print(Text(f"     {line}"), overflow="fold")
    if found.alternatives:
        out.print()
        columns = [Column("variant", text=True), Column("than the default"), Column("give or take")]
        print_grid(out, columns, [_cells(each) for each in found.alternatives])
    if found.evidence:
        out.print()
        columns = [
            Column("nearest measured cases", text=True),
            Column("doublings away"),
            Column("fastest", text=True, least=8),
            Column("time"),
            Column("default", text=True, least=8),
        ]
        print_grid(out, columns, _evidence(found))
    _line(out, Text(f"Evidence: {plain(found.sweep)}", style="dim"))


def _line(out: Console, text: str | Text) -> None:
    out.print(Padding(Text(text) if isinstance(text, str) else text, (0, 0, 0, 1), expand=False), overflow="fold")


def _answer(found: Recommendation) -> str:
    default = f"PyTorch picks {plain(found.default_backend)} here" if found.default_backend else "PyTorch picks here"
    if found.pin is not None and found.gain is not None:
        saved = share_text(found.gain)
        beside = f"the default ({plain(found.default_backend)})" if found.default_backend else "the default"
        return f"Pin {plain(found.pin)}: it takes {saved} less time than {beside}."
    if found.sure == "unknown":
        return f"Keep the default: nothing comparable was measured. {default}."
    rival = next((each for each in found.alternatives if each.variant != found.default_backend), None)
    if rival is None or rival.gain <= 0:
        return f"Keep the default: {default}, and nothing is faster."
    return f"Keep the default: {default}, and what {plain(rival.variant)} might save is within the spread."


def _how_sure(found: Recommendation) -> Text:
    text = _SURE[found.sure]
    if found.probability is not None:
        text += " (over 99 %)" if found.probability > _CERTAIN else f" ({share_text(found.probability)})"
    if found.sure not in ("measured", "unknown") and found.evidence:
        near = found.evidence[0].distance
        text += f": estimated from {count_text(found.cases, 'measured case')}, the nearest {near:.1f} doublings away"
    elif found.sure == "unknown":
        text += ": measure it with `foretrace sweep`, or with `foretrace attention`"
    return Text(f"How sure: {text}.")


def _notes(found: Recommendation) -> list[str]:
    notes = []
    waits = found.waits_for_host
    if waits is not None:
        notes.append(
            f"Calls of this size wait for the host ({time_text(waits[0])} to enqueue, {time_text(waits[1])} to run): "
            "a faster kernel shows only where the host is out of the way, as in a CUDA graph."
        )
    if found.elsewhere is not None and found.device is not None:
        notes.append(
            f"This machine has {plain(found.elsewhere)}; the evidence is of {plain(found.device.name)}, and winners "
            "differ between cards: measure here with `foretrace sweep`."
        )
    return notes


def _cells(each: Alternative) -> list[str]:
    if each.gain <= -1:
        word = f"{1 - each.gain:.1f}x as long"
    elif round(each.gain, 3) == 0:
        word = "the same"
    else:
        word = f"{share_text(abs(each.gain))} {'less' if each.gain > 0 else 'more'} time"
    # Within a tenth a difference of less than its uncertainty still says something: about the same.
    sure = each.give_or_take <= max(_ABOUT, abs(each.gain))
    return [plain(each.variant), word if sure else "not known", share_text(each.give_or_take) if sure else "-"]


def _evidence(found: Recommendation) -> list[list[str]]:
    rows = []
    for evidence in found.evidence:
        outcome = evidence.outcome
        default, best, loss = outcome.default, outcome.best, outcome.loss
        if default is None or loss is None:
            chose = "-"
        else:
            chose = plain(default.backend or "ran")
            chose += ", as fast" if outcome.default_is_best else f", {share_text(loss)} longer"
        rows.append(
            [
                shape_words(outcome.shape),
                f"{evidence.distance:.1f}",
                " = ".join(plain(name) for name in outcome.winner_names),
                "-" if best is None else time_text(best.median),
                chose,
            ]
        )
    return rows
