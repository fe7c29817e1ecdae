"""Zip and tar archives: which members are traces, and one member as a stream."""

from __future__ import annotations

import struct
from typing import IO, TYPE_CHECKING, Any, Final

from foretrace.errors import TraceFormatError
from foretrace.trace.shown import shown

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Iterator

    from foretrace.trace.inflate import Readable

__all__ = ["Tar", "archive_format", "choose", "trace_names", "zip_member", "zip_names"]

_SHOWN: Final = 8
_TRACE_ENDINGS: Final = tuple(
    name + packed for name in (".json", ".trace") for packed in ("", ".gz", ".zst", ".xz", ".bz2")
)
_LOCAL_HEADER: Final = struct.Struct("<4s22xHH")
_STORED, _DEFLATED = 0, 8
_ENCRYPTED: Final = 1

_BLOCK: Final = 512
_IN: Final = 256 << 10
_LONGEST_NAME: Final = 1 << 16


def archive_format(head: bytes) -> str | None:
    """Whether a stream is a zip or tar archive, by its first 512 bytes."""
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return "zip"
    if head[257:262] == b"ustar":
        return "tar"
    return None


def trace_names(names: list[str]) -> list[str]:
    """Members that may be traces: those named like JSON; if none is, the only member there is."""
    names = [name for name in names if _is_file(name)]
    named = [name for name in names if is_trace_name(name)]
    return named or (names if len(names) == 1 else [])


def _is_file(name: str) -> bool:
    base = name.rsplit("/", 1)[-1]
    return bool(base) and not base.startswith(".") and not name.startswith("__MACOSX/")


def is_trace_name(name: str) -> bool:
    """Whether a member is named as traces are."""
    return _is_file(name) and name.lower().endswith(_TRACE_ENDINGS)


def choose(names: list[str], wanted: str | None, place: str) -> str:
    """The member to read.

    Raises:
        TraceFormatError: there is none, or several and none was named.
    """
    traces = trace_names(names)
    if wanted is not None:
        if wanted in names:
            return wanted
        held = _listed(traces or names) or "nothing"
        raise TraceFormatError(f"{place}: the archive has no member {shown(wanted)}; it holds {held}.")
    if len(traces) == 1:
        return traces[0]
    if traces:
        raise TraceFormatError(
            f"{place}: the archive holds {len(traces)} traces ({_listed(traces)});"
            f" name one, as in {place}:{shown(traces[0])}, or unpack them into a folder to read them as ranks."
        )
    if any(name.endswith(("data.pkl", "/version")) for name in names):
        raise TraceFormatError(f"{place}: this is a PyTorch checkpoint (a zip archive of tensors), no profiler trace.")
    raise TraceFormatError(f"{place}: the archive holds no trace; it holds {_listed(names) or 'nothing'}.")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(shown(name) for name in names[:_SHOWN]) + more


# ---- zip ----


def zip_names(file: IO[bytes], place: str) -> list[str]:
    """The files in a zip archive."""
    return [info.filename for info in _zip(file, place).infolist() if not info.is_dir()]


def _zip(file: IO[bytes], place: str) -> zipfile.ZipFile:
    import zipfile  # noqa: PLC0415 - only when needed

    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise TraceFormatError(f"{place}: a damaged zip archive ({error}).") from error


def zip_member(file: IO[bytes], name: str, place: str) -> Readable:
    """One member of a zip archive as a stream."""
    import zipfile  # noqa: PLC0415 - only when needed

    archive = _zip(file, place)
    info = archive.getinfo(name)
    if info.flag_bits & _ENCRYPTED:
        raise TraceFormatError(f"{place}: {shown(name)} is encrypted in its zip archive; unpack it first.")
    if info.compress_type not in (_STORED, _DEFLATED):
        try:
            return archive.open(info)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise TraceFormatError(f"{place}: {shown(name)} cannot be unpacked ({error}).") from error
    file.seek(info.header_offset)
    header = file.read(_LOCAL_HEADER.size)
    if len(header) < _LOCAL_HEADER.size or header[:4] != b"PK\x03\x04":
        raise TraceFormatError(f"{place}: a damaged zip archive (the header of {shown(name)}).")
    _, name_size, extra_size = _LOCAL_HEADER.unpack(header)
    file.seek(name_size + extra_size, 1)
    part = _Part(file, info.compress_size)
    return part if info.compress_type == _STORED else _Deflated(part)


class _Part:
    """A stretch of a stream."""

    def __init__(self, stream: Readable, size: int) -> None:
        self._stream = stream
        self.left = size

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes of the stretch."""
        piece = self._stream.read(min(size, self.left)) if self.left else b""
        self.left -= len(piece)
        return piece


class _Deflated:
    """A deflated stretch."""

    def __init__(self, part: _Part) -> None:
        from isal import igzip_lib  # noqa: PLC0415 - only when needed

        self.damage = ""
        self._part = part
        self._inflate: Any = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_DEFLATE)
        self._error: Any = igzip_lib.IsalError

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes of what the stretch holds."""
        while not self._inflate.eof and not self.damage:
            data = self._part.read(_IN) if self._inflate.needs_input else b""
            if not data and self._inflate.needs_input:
                self.damage = "the member is cut off in its zip archive: what could be unpacked is read"
                break
            try:
                piece: bytes = self._inflate.decompress(data, size)
            except self._error as error:
                self.damage = f"the member is damaged in its zip archive ({error}): what could be unpacked is read"
                break
            if piece:
                return piece
        return b""


# ---- tar ----


class Tar:
    """A tar archive read once from front to back: (name, content) of each file.

    The content of a file is read before the next name is asked for, or not at all.
    """

    def __init__(self, stream: Readable, place: str) -> None:
        self._stream = stream
        self._place = place

    def __iter__(self) -> Iterator[tuple[str, Readable]]:
        long_name = ""
        while True:
            header = self._exactly(_BLOCK)
            if len(header) < _BLOCK or not header.strip(b"\0"):
                return
            kind = header[156:157]
            size = self._number(header[124:136])
            part = _Part(self._stream, size)
            if kind in b"Lx" and kind:
                content = self._exactly(min(size, _LONGEST_NAME), part)
                long_name = (_text(content) if kind == b"L" else _pax_path(content)) or long_name
            elif kind in (b"0", b"\0", b"7"):
                prefix = _text(header[345:500]) if header[257:263] == b"ustar\0" else ""
                name = _text(header[:100])
                yield long_name or (f"{prefix}/{name}" if prefix else name), part
                long_name = ""
            elif kind != b"g":
                long_name = ""
            while part.left and part.read(_IN):
                pass
            self._exactly(-size % _BLOCK)

    def _exactly(self, size: int, stream: Readable | None = None) -> bytes:
        parts = []
        while size:
            piece = (stream or self._stream).read(size)
            if not piece:
                break
            parts.append(piece)
            size -= len(piece)
        return b"".join(parts)

    def _number(self, field: bytes) -> int:
        """A size: octal digits, or big-endian bytes behind a first bit."""
        if field[:1] and field[0] & 0x80:
            return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
        digits = field.strip(b" \0")
        try:
            return int(digits, 8) if digits else 0
        except ValueError as error:
            raise TraceFormatError(f"{self._place}: a damaged tar archive (a header's size is no number).") from error


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("utf-8", "replace")


def _pax_path(content: bytes) -> str:
    """The path in the records of an extended header: ``LENGTH path=VALUE``, each with a line feed."""
    at = 0
    while at < len(content):
        digits, space, _ = content[at : at + 20].partition(b" ")
        if not space or not digits.isdigit() or not int(digits):
            break
        key, _, value = content[at + len(digits) + 1 : at + int(digits) - 1].partition(b"=")
        if key == b"path":
            return value.decode("utf-8", "replace")
        at += int(digits)
    return ""
