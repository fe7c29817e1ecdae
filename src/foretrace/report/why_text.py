"""`foretrace why` for people: which backend, and one line for why each other one is not it."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Final

from rich.text import Text

from foretrace.analysis.dispatch.decide import BACKENDS
from foretrace.analysis.dispatch.releases import RELEASES, release_named
from foretrace.report.escape import plain
from foretrace.units import count_text, time_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from foretrace.analysis.dispatch.asked import Compared
    from foretrace.analysis.dispatch.call import Call, Operand
    from foretrace.analysis.dispatch.decide import Dispatch, Verdict
    from foretrace.analysis.dispatch.recorded import RecordedCall

__all__ = ["call_text", "print_dispatch", "print_live", "print_recorded", "release_text"]

_NAME: Final = 11
_ANSWER: Final = 10


def _operand_text(operand: Operand) -> str:
    return f"[{','.join(map(str, operand.dims))}]"


def call_text(call: Call) -> str:
    """A call in one line, e.g. ``bf16 · q [8,16,1024,64] · causal``."""
    query, key, value = call.query, call.key, call.value
    parts = [query.dtype]
    if query.dims == key.dims == value.dims:
        parts.append(f"q, k, v {_operand_text(query)}")
    else:
        parts.append(f"q {_operand_text(query)} · k {_operand_text(key)} · v {_operand_text(value)}")
    if call.mask is not None:
        grad = " that requires grad" if call.mask.requires_grad else ""
        parts.append(f"{call.mask.dtype} mask {_operand_text(call.mask)}{grad}")
    if call.causal:
        parts.append("is_causal")
    if call.dropout:
        parts.append(f"dropout {call.dropout:g}")
    if call.grad:
        parts.append("gradients")
    if call.gqa:
        parts.append("enable_gqa")
    return plain(" · ".join(parts))


def _paragraph(out: Console, text: str, *, indent: str = " ", style: str = "") -> None:
    for line in wrap(plain(text), max(20, out.width - len(indent) - 1), break_on_hyphens=False):
        out.print(Text(indent + line, style=style), soft_wrap=True)


def _answer(name: str, verdict: Verdict, chosen: str | None) -> tuple[str, str]:
    if name == chosen:
        return "runs", "bold"
    if verdict.certain:
        return ("can", "") if verdict.eligible else ("cannot", "dim")
    return ("can?", "") if verdict.eligible else ("cannot?", "dim")


def _verdicts(out: Console, verdicts: dict[str, Verdict], chosen: str | None) -> None:
    room = max(20, out.width - _NAME - _ANSWER - 3)
    for name in BACKENDS:
        verdict = verdicts[name]
        answer, style = _answer(name, verdict, chosen)
        said = verdict.text if verdict.reason is None else f"{verdict.reason}: {verdict.text}"
        for at, line in enumerate(wrap(plain(said), room, break_on_hyphens=False)):
            head = f"   {name if at == 0 else '':<{_NAME}}{answer if at == 0 else '':<{_ANSWER}}"
            out.print(Text(head + line, style=style), soft_wrap=True)


def release_text(asked: str | None, unknown: str) -> str:
    """The release whose rules are used; where none was given, why not and what is done instead.

    Raises:
        UsageError: it is no release, or older than the oldest known.
    """
    oldest, newest = RELEASES[0].name, RELEASES[-1].name
    if asked is None:
        return f"{unknown}: {oldest} to {newest} tried, {newest}'s answer first where they differ"
    named = release_named(asked)
    if named.exact:
        return f"torch {named.release.name}"
    return f"torch {asked} is newer than the rules known: those of {newest} stand in"


def print_dispatch(out: Console, call: Call, found: Dispatch, place: str) -> None:
    """One call from its arguments: what runs, and every backend's answer."""
    _paragraph(out, call_text(call), style="bold")
    _paragraph(out, f"{place} · {release_text(found.torch_asked, 'torch not given')}", style="dim")
    out.print()
    chosen = "The call raises" if found.backend == "error" else f"{found.backend} runs"
    doubt = "" if found.certain else " (possible, not certain)"
    text = found.text.removeprefix("the call raises: ")
    _paragraph(out, f"{chosen}{doubt}: {text}.", style="bold")
    _verdicts(out, found.backends, found.backend)
    if any("?" in _answer(name, verdict, found.backend)[0] for name, verdict in found.backends.items()):
        _paragraph(out, "?: possible; it depends on what is not given.", style="dim")


def print_live(out: Console, row: Compared) -> None:
    """What the PyTorch at hand said, under the rules' answer."""
    out.print()
    _paragraph(out, f"PyTorch {row.torch} itself: {row.backend}", style="bold")
    room = max(20, out.width - _NAME - _ANSWER - 3)
    for name, (ran, words) in row.backends.items():
        for at, line in enumerate(wrap(plain(words), room, break_on_hyphens=False) or [""]):
            label, said = (name, "ran" if ran else "refused") if at == 0 else ("", "")
            out.print(Text(f"   {label:<{_NAME}}{said:<{_ANSWER}}{line}".rstrip()), soft_wrap=True)
    apart = row.differences
    _paragraph(out, f"The rules disagree about {', '.join(apart)}." if apart else "The rules agree.")


def print_recorded(out: Console, title: str, rows: Sequence[RecordedCall], *, limit: int | None) -> None:
    """The attention calls of a trace, the most device time first."""
    _paragraph(out, title, style="bold")
    ordered = sorted(rows, key=lambda row: -row.device_time_ns)
    shown = ordered if limit is None else ordered[:limit]
    for row in shown:
        out.print()
        what = call_text(row.call) if row.call else plain(row.name)
        times = count_text(row.count, "call") + (
            f" · {time_text(row.device_time_ns)} on the device"
            if row.device_time_ns
            else " · no device activity of theirs in the file: captured into a graph, or not recorded"
        )
        _paragraph(out, what, style="bold")
        _paragraph(out, times, style="dim")
        _paragraph(out, row.text)
        if row.dispatch:
            _verdicts(out, row.dispatch.backends, row.ran)
        for note in row.notes:
            _paragraph(out, note, indent="   ", style="italic")
    if len(ordered) > len(shown):
        out.print()
        _paragraph(out, f"and {count_text(len(ordered) - len(shown), 'more shape')}; --all shows them.", style="dim")
