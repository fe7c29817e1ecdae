"""From a path to the plain text of a trace: containers and compression by content, and bounds on what they unpack to.

``open_source`` takes plain files, gzip, zstd, xz and bzip2 streams, zip and tar archives, compressed archives, and
standard input (``-``), whatever they are called. A member of an archive is named behind a colon:
``ranks.zip:rank0.json``. Plain files are mapped; a thread unpacks the others while the reader reads.
"""

from __future__ import annotations

import codecs
import mmap
import stat
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self

from foretrace.errors import TraceFormatError
from foretrace.trace.archive import Tar, archive_format, choose, is_trace_name, zip_member, zip_names
from foretrace.trace.inflate import Inflated, compression
from foretrace.trace.shown import shown
from foretrace.units import bytes_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from foretrace.trace.inflate import Readable

__all__ = ["MAX_SIZE", "Source", "members", "open_source", "split_member"]

# Nothing is unpacked or read beyond this, unless asked for.
MAX_SIZE: Final = 32_000_000_000

_HEAD: Final = 512
_PIECE: Final = 1 << 20
_AHEAD: Final = 4
_PATIENCE_S: Final = 0.2
_LAYERS: Final = 5
# Less than this is unpacked faster than a thread starts.
_SMALL: Final = 128 << 10


def split_member(path: str | Path) -> tuple[str, str | None]:
    """A path, and the member named behind a colon where the path as a whole is no file."""
    text = str(path)
    if text == "-" or Path(text).exists():
        return text, None
    at = text.find(":")
    while at > 0:
        if Path(text[:at]).is_file() and text[at + 1 :]:
            return text[:at], text[at + 1 :]
        at = text.find(":", at + 1)
    return text, None


class Source:
    """An opened trace file; a context manager.

    Args:
        path: the file, ``-`` for standard input, or an archive and a member as ``FILE:MEMBER``.
        max_size: most bytes to unpack or read.

    Raises:
        TraceFormatError: there is no such file, or it is an archive that holds no trace or several.
    """

    def __init__(self, path: str | Path, *, max_size: int = MAX_SIZE) -> None:
        self.path, self.member = split_member(path)
        self.name = "standard input" if self.path == "-" else str(path)
        """The file as messages name it."""
        self.size = 0
        """Bytes of the file itself; 0 where that cannot be told."""
        self.is_plain = False
        """The file is the text itself, and can be mapped."""
        self._max_size = max_size
        self._files: list[IO[bytes]] = []
        self._layers: list[object] = []
        try:
            self._file = self._open()
            self._stream = self._unpack(self._file)
        except OSError as error:
            self.close()
            raise TraceFormatError(f"{self.name}: {error.strerror or error}.") from error
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        for file in self._files:
            file.close()
        self._files = []

    def damage(self) -> list[str]:
        """What is wrong with the compressed data, once it was read; a sentence without its full stop each."""
        return [found for layer in self._layers if (found := getattr(layer, "damage", ""))]

    def pieces(self) -> Iterator[bytes | mmap.mmap]:
        """The text: one map of it, or pieces of about a megabyte. It can be asked for once."""
        if self.is_plain:
            if self.size:
                yield mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        elif 0 < self.size <= _SMALL:
            while piece := self._stream.read(_PIECE):
                yield piece
        else:
            yield from _ahead(self._stream.read)

    # ---- layers ----

    def _open(self) -> IO[bytes]:
        if self.path == "-":
            return _standard_input()
        file = Path(self.path).open("rb", buffering=0)  # noqa: SIM115 - closed by close()
        self._files.append(file)
        status = Path(self.path).stat()
        if stat.S_ISREG(status.st_mode):
            self.size = status.st_size
        return file

    def _unpack(self, file: IO[bytes]) -> Readable:
        """Through compression and archives down to the text."""
        seekable = self.size > 0
        head, stream = _peek(file)
        for _ in range(_LAYERS):
            kind = compression(head)
            archive = archive_format(head)
            if kind:
                inflated = Inflated(stream, kind)
                self._layers.append(inflated)
                head, stream = _peek(_Bounded(inflated, self._max_size, self.name))
            elif archive == "zip":
                if not seekable or self._layers:
                    file = self._spooled(stream)
                name = choose(zip_names(file, self.path), self.member, self.path)
                member = zip_member(file, name, self.path)
                self._layers.append(member)
                head, stream = _peek(_Bounded(member, self._max_size, self.name))
            elif archive == "tar":
                member = _TarMember(Tar(stream, self.path), self.member, self.path)
                self._layers.append(member)
                head, stream = _peek(_Bounded(member, self._max_size, self.name))
            else:
                break
        else:
            raise TraceFormatError(f"{self.name}: more than {_LAYERS} archives and compressions within one another.")
        if self.member is not None and not any(not isinstance(layer, Inflated) for layer in self._layers):
            raise TraceFormatError(f"{self.path}: this is no archive, so it has no member {shown(self.member)}.")
        encoding = _wide_encoding(head)
        if encoding:
            return _Recoded(stream, encoding)
        if not self._layers:
            if self.size > self._max_size:
                raise TraceFormatError(_too_large(self.name, self._max_size))
            self.is_plain = self.size > 0
            return _Bounded(stream, self._max_size, self.name)
        return stream

    def _spooled(self, stream: Readable) -> IO[bytes]:
        """A stream as a file that can be searched."""
        import tempfile  # noqa: PLC0415 - rarely needed

        file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._files.append(file)
        bounded = _Bounded(stream, self._max_size, self.name)
        while piece := bounded.read(_PIECE):
            file.write(piece)
        file.seek(0)
        return file


def _standard_input() -> IO[bytes]:
    """Standard input without Python's buffer, whose lock a thread that waits for input would keep to the end."""
    if sys.stdin is None or sys.stdin.closed:
        raise TraceFormatError("standard input is closed: give a file, or pipe a trace into the command.")
    if sys.stdin.isatty():
        raise TraceFormatError("standard input is a terminal: give a file, or pipe a trace into the command.")
    try:
        number = sys.stdin.fileno()
    except OSError:
        return sys.stdin.buffer  # something in memory stands in for it
    return open(number, "rb", buffering=0, closefd=False)


def open_source(path: str | Path, *, max_size: int = MAX_SIZE) -> Source:
    """Open a trace, whatever it is packed in; see ``Source``."""
    return Source(path, max_size=max_size)


def members(path: str | Path) -> list[str]:
    """The traces in an archive, as paths that ``open_source`` takes; none where the file is no archive.

    Raises:
        TraceFormatError: the file cannot be read.
    """
    try:
        with Path(path).open("rb") as file:
            head, stream = _peek(file)
            kind = compression(head)
            if kind:
                head, stream = _peek(_Bounded(Inflated(stream, kind), MAX_SIZE, str(path)))
            archive = archive_format(head)
            if archive == "zip" and not kind:
                names = zip_names(file, str(path))
            elif archive == "tar":
                names = [name for name, _ in Tar(stream, str(path))]
            else:
                return []
    except OSError as error:
        raise TraceFormatError(f"{path}: {error.strerror or error}.") from error
    return [f"{path}:{name}" for name in sorted(names) if is_trace_name(name)]


# ---- streams ----


class _Head:
    """A stream from which the first bytes were taken, with them put back."""

    def __init__(self, head: bytes, stream: Readable) -> None:
        self._head = head
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        if self._head:
            piece, self._head = self._head[:size], self._head[size:]
            return piece
        return self._stream.read(size)


def _peek(stream: Readable) -> tuple[bytes, Readable]:
    head = b""
    while len(head) < _HEAD and (piece := stream.read(_HEAD - len(head))):
        head += piece
    return head, _Head(head, stream)


class _Bounded:
    """A stream that ends in an error when it gives more than it may."""

    def __init__(self, stream: Readable, most: int, name: str) -> None:
        self._stream = stream
        self._left = most
        self._most = most
        self._name = name

    def read(self, size: int, /) -> bytes:
        piece = self._stream.read(size)
        self._left -= len(piece)
        if self._left < 0:
            raise TraceFormatError(_too_large(self._name, self._most))
        return piece


def _too_large(name: str, most: int) -> str:
    return (
        f"{name}: the trace holds more than {bytes_text(most)} once unpacked, the most that is read;"
        " raise --max-size if it really is that large."
    )


class _TarMember:
    """One trace in a tar archive that is read from front to back."""

    def __init__(self, tar: Tar, wanted: str | None, place: str) -> None:
        self.damage = ""
        self._members = iter(tar)
        self._names: list[str] = []
        self._wanted = wanted
        self._place = place
        self._content: Readable | None = None
        for name, content in self._members:
            self._names.append(name)
            if name == wanted or (wanted is None and is_trace_name(name)):
                self._content = content
                return
        name = choose(self._names, wanted, place)
        raise TraceFormatError(
            f"{place}: the archive holds {shown(name)}; name it, as in {place}:{shown(name)}, if it is a trace."
        )

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; at the end of the trace the archive must hold no other, unless one was named."""
        piece = self._content.read(size) if self._content else b""
        if not piece and self._content:
            left = getattr(self._content, "left", 0)
            self._content = None
            if left:
                self.damage = "the tar archive is cut off: what could be unpacked is read"
            elif self._wanted is None:
                self._names += [name for name, _ in self._members]
                choose(self._names, None, self._place)
        return piece


def _wide_encoding(head: bytes) -> str | None:
    """UTF-16 and UTF-32, as Windows shells write what a command prints."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if head[:1] in (b"{", b"[") and head[1:2] == b"\0":
        return "utf-16-le"
    return None


class _Recoded:
    """A stream in another encoding, as UTF-8."""

    def __init__(self, stream: Readable, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ended = False

    def read(self, size: int, /) -> bytes:
        while not self._ended:
            piece = self._stream.read(size)
            self._ended = not piece
            text = self._decoder.decode(piece, final=self._ended)
            if text:
                return text.encode("utf-8", "replace")
        return b""


def _ahead(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Pieces that a thread reads ahead."""
    import queue  # noqa: PLC0415 - only for what is large
    import threading  # noqa: PLC0415 - the same

    ready: queue.Queue[bytes | BaseException] = queue.Queue(_AHEAD)
    stopped = threading.Event()

    def put(item: bytes | BaseException) -> None:
        while not stopped.is_set():
            try:
                ready.put(item, timeout=0.1)
            except queue.Full:
                continue
            return

    def run() -> None:
        try:
            piece = b"-"
            while piece and not stopped.is_set():
                piece = read(_PIECE)
                put(piece)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that reads the pieces
            put(error)

    thread = threading.Thread(target=run, name="foretrace-unpack", daemon=True)
    thread.start()
    try:
        while True:
            item = ready.get()
            if isinstance(item, BaseException):
                raise item
            if not item:
                return
            yield item
    finally:
        stopped.set()
        # A read that waits for somebody else's output may never end.
        thread.join(_PATIENCE_S)
