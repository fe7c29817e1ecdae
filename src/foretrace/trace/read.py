"""From a path to the columns of a trace, by whichever reader there is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Literal

from foretrace.errors import TraceFormatError, UsageError
from foretrace.trace.document import Document
from foretrace.trace.grammar import Broken, Cut, Tokens
from foretrace.trace.raw import RawTrace, Repair
from foretrace.trace.repair import Guesses
from foretrace.trace.shown import shown
from foretrace.trace.source import MAX_SIZE, open_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from mmap import mmap
    from pathlib import Path

__all__ = ["Reader", "read_args", "read_raw"]

Reader = Literal["auto", "scan", "msgspec"]

_FRAGMENT: Final = 60
_SHORT_CONTROLS: Final = str.maketrans({"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def _maker(reader: Reader) -> tuple[Callable[[], Any], Callable[[bytes | mmap, int, int], int]]:
    if reader not in ("auto", "scan", "msgspec"):
        raise UsageError(f"no reader is called {reader}; there are scan, msgspec and auto.")
    if reader != "msgspec":
        try:
            from foretrace.trace.scan import ScanReader, count_lines  # noqa: PLC0415 - it may not be built
        except ImportError as error:
            if reader == "scan":
                raise UsageError(
                    "the scanner was not built, since there was no C compiler at install; use the msgspec reader."
                ) from error
        else:
            return ScanReader, count_lines
    from foretrace.trace.parse import MsgspecReader, count_lines  # noqa: PLC0415 - only when needed

    return MsgspecReader, count_lines


def read_raw(
    path: str | Path,
    *,
    strict: bool = False,
    max_size: int = MAX_SIZE,
    reader: Reader = "auto",
    progress: Callable[[int], None] | None = None,
) -> RawTrace:
    """Read a trace file into columns.

    Args:
        path: the file, whatever it is packed in; ``-`` for standard input, ``FILE:MEMBER`` for one of an archive.
        strict: refuse a damaged file instead of reading past the damage.
        max_size: most bytes to unpack.
        reader: ``scan`` (C), ``msgspec``, or ``auto``, the first if it was built.
        progress: called now and then with the bytes of text that were read.

    Raises:
        TraceFormatError: the file cannot be read, holds no event list, or is damaged and ``strict`` asked for.
        UsageError: the reader asked for does not exist.
    """
    make, count_lines = _maker(reader)
    with open_source(path, max_size=max_size) as source:
        events = make()
        pieces = source.pieces()
        document = Document(pieces, events, source.name, count_lines, progress)
        try:
            document.read()
        except TraceFormatError as error:
            found = source.damage()
            if found and not document.window.position():
                what = found[0].partition(":")[0]
                raise TraceFormatError(f"{source.name}: {what} before anything of it can be unpacked.") from error
            raise
        for _ in pieces:
            # To the end of the container: what is wrong with it must not depend on how far a thread has read ahead.
            pass
        # What is wrong with the container comes first: damage of the text follows from it.
        place = document.window.position()
        repairs = [
            Repair("compression", 1, place, document.window.line(place), damage[0].upper() + damage[1:] + ".")
            for damage in source.damage()
        ]
        repairs += document.repairs()
    if strict and repairs:
        _refuse(source.name, path, repairs[0], max_size)
    fields = events.columns()
    if any(repair.code == "backslash" for repair in repairs):
        fields["strings"] = _unescaped(fields["strings"])
    return RawTrace(header=document.header, is_list=document.is_list, repairs=repairs, **fields)


def _refuse(name: str, path: str | Path, repair: Repair, max_size: int) -> None:
    """Strict reading: the first damage is an error."""
    start = max(repair.byte - _FRAGMENT // 2, 0)
    try:
        text = next(_spans(path, [(start, _FRAGMENT)], max_size))
    except TraceFormatError:
        text = b""
    fragment = f'; there it reads "{shown(text)}"' if text else ""
    what = (repair.text[0].lower() + repair.text[1:].rstrip(".")).partition(":")[0]
    raise TraceFormatError(
        f"{name}: damaged at byte {repair.byte}, line {repair.line} ({what}){fragment}; without strict reading"
        " it is read past."
    )


def _unescaped(strings: list[str]) -> list[str]:
    r"""Names of a file whose writer does not escape: the "\n" of a path is no line feed.

    A text that would then equal another stays, so that texts remain distinct.
    """
    taken = set(strings)
    found = []
    for text in strings:
        mended = text.translate(_SHORT_CONTROLS)
        if mended != text and mended not in taken:
            taken.add(mended)
            found.append(mended)
        else:
            found.append(text)
    return found


def _spans(path: str | Path, spans: Sequence[tuple[int, int]], max_size: int) -> Iterator[bytes]:
    """Stretches (start, length) of a file's text, in ascending order; compressed files are streamed once."""
    if str(path) == "-":
        raise TraceFormatError("standard input cannot be read twice; save the trace to a file first.")
    with open_source(path, max_size=max_size) as source:
        text: bytes | mmap = b""
        base = 0
        pieces = source.pieces()
        for start, length in spans:
            while base + len(text) < start + length:
                piece = next(pieces, None)
                if piece is None:
                    break
                keep = min(max(start - base, 0), len(text))
                base += keep
                text = bytes(text[keep:]) + piece if len(text) > keep else piece
            yield bytes(text[max(start - base, 0) : max(start + length - base, 0)])


def read_args(path: str | Path, spans: Sequence[tuple[int, int]], *, max_size: int = MAX_SIZE) -> list[dict[str, Any]]:
    """The ``args`` of events by where they lie: ``args_start`` and ``args_length`` of their rows.

    Args:
        path: the file that the columns were read from.
        spans: (start, length) of each; an event without args has length 0 and gives none.
        max_size: most bytes to unpack.

    Raises:
        TraceFormatError: the file cannot be read, or changed since.
    """
    order = sorted((start, length, number) for number, (start, length) in enumerate(spans) if length > 0)
    found: list[dict[str, Any]] = [{} for _ in spans]
    texts = _spans(path, [(start, length) for start, length, _ in order], max_size)
    for (start, _, number), text in zip(order, texts, strict=True):
        found[number] = _args(str(path), start, text)
    return found


def _args(name: str, start: int, text: bytes) -> dict[str, Any]:
    value: Any = None
    if text[:1] == b"{":
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = _mended(text)
    if not isinstance(value, dict):
        raise TraceFormatError(f"{name}: no args at byte {start}; the file has changed since it was read.")
    return value


def _mended(text: bytes) -> Any:
    """Args of a damaged event."""
    for tokens in (Tokens(text, lax=True), Guesses(text, end=len(text), any_quote=False)):
        tokens.begin(0)
        try:
            end = tokens.value(0)
            return json.loads(tokens.clean(end))
        except (Broken, Cut, ValueError, RecursionError):
            continue
    return None
