"""Compressed streams as what they hold: gzip, zstd, xz and bzip2, told by their first bytes.

A stream that is cut or damaged gives what it holds; what is wrong with it is left in ``damage``, for the trust header.
"""

from __future__ import annotations

import importlib
import struct
from typing import TYPE_CHECKING, Any, Final, Protocol

from foretrace.errors import TraceFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

__all__ = ["Inflated", "Readable", "compression"]

# Small enough for the caches, large enough to cost nothing.
_IN: Final = 256 << 10
_OUT: Final = 1 << 20
_MAGIC: Final = 16

# Of a gzip member: the bytes that every header has, flags for what may follow them, and checksum and size at the end.
_FIXED_HEADER: Final = 10
_CHECKSUM, _EXTRA, _NAME, _COMMENT = 2, 4, 8, 16
_LONGEST_HEADER: Final = 1 << 18
_TRAILER: Final = struct.Struct("<II")

_SKIPPABLE_FRAME: Final = b"\x2a\x4d\x18"

_NO_ZSTD: Final = (
    "the file is compressed with zstd, for which Python before 3.14 needs a package:"
    " pip install backports.zstd, or unpack it with `zstd -d` first"
)


class Readable(Protocol):
    """Anything with ``read``."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""


def compression(head: bytes) -> str | None:
    """The compression of a stream, by its first bytes."""
    if head.startswith(b"\x1f\x8b\x08"):
        return "gzip"
    if head.startswith(b"\x28\xb5\x2f\xfd") or (head[1:4] == _SKIPPABLE_FRAME and head[0] >> 4 == 5):  # noqa: PLR2004
        return "zstd"
    if head.startswith(b"\xfd7zXZ\x00"):
        return "xz"
    if head.startswith(b"BZh") and head[4:10] == b"1AY&SY":
        return "bzip2"
    return None


class _Gzip:
    """One member of a gzip stream.

    Its checksum is compared here and not by the decompressor, which would keep back the data of a wrong one.
    """

    def __init__(self) -> None:
        from isal import igzip_lib, isal_zlib  # noqa: PLC0415 - only when needed

        self._inflate: Any = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_DEFLATE)
        self._crc32: Callable[[bytes, int], int] = isal_zlib.crc32
        self._header = b""
        self._begun = False
        self._crc = self._size = 0
        self.needs_input = True
        self.eof = False
        self.unused_data = b""
        self.damage = ""

    def decompress(self, data: bytes, size: int) -> bytes:
        """At most ``size`` bytes of what the member holds."""
        if not self._begun:
            self._header += data
            begin = _gzip_data(self._header)
            if begin < 0:
                if len(self._header) > _LONGEST_HEADER:
                    raise ValueError("its header does not end")
                return b""
            self._begun, data, self._header = True, self._header[begin:], b""
        if not self._inflate.eof:
            piece: bytes = self._inflate.decompress(data, size)
            self._crc = self._crc32(piece, self._crc)
            self._size += len(piece)
            self.needs_input = self._inflate.needs_input
            data = self._inflate.unused_data if self._inflate.eof else b""
        else:
            piece = b""
        if self._inflate.eof:
            self._trailer(data)
        return piece

    def _trailer(self, data: bytes) -> None:
        self._header += data
        self.eof = len(self._header) >= _TRAILER.size
        self.needs_input = not self.eof
        if self.eof:
            crc, size = _TRAILER.unpack(self._header[: _TRAILER.size])
            if crc != self._crc or size != self._size & 0xFFFFFFFF:
                self.damage = (
                    "the gzip data is damaged (its checksum is wrong); it is read all the same, but some of it may not"
                    " be what was written"
                )
            self.unused_data = self._header[_TRAILER.size :]


def _gzip_data(header: bytes) -> int:
    """Where the data of a gzip member begins, or -1 if the header is not whole yet."""
    if len(header) < _FIXED_HEADER:
        return -1
    flags, at = header[3], _FIXED_HEADER
    if flags & _EXTRA:
        if len(header) < at + 2:
            return -1
        at += 2 + int.from_bytes(header[at : at + 2], "little")
    for flag in (_NAME, _COMMENT):
        if flags & flag:
            at = header.find(b"\0", at) + 1
            if not at:
                return -1
    at += 2 if flags & _CHECKSUM else 0
    return at if at <= len(header) else -1


def _xz() -> Any:
    import lzma  # noqa: PLC0415 - only when needed

    return lzma.LZMADecompressor()


def _bzip2() -> Any:
    import bz2  # noqa: PLC0415 - only when needed

    return bz2.BZ2Decompressor()


def _zstd() -> Any:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name).ZstdDecompressor()
        except ImportError:
            continue
    raise TraceFormatError(_NO_ZSTD)


_MAKERS: Final[dict[str, Callable[[], Any]]] = {"gzip": _Gzip, "zstd": _zstd, "xz": _xz, "bzip2": _bzip2}


class Inflated:
    """A compressed stream, read as what it holds.

    Args:
        stream: the compressed bytes.
        kind: what ``compression`` said.
    """

    def __init__(self, stream: Readable, kind: str) -> None:
        self.damage = ""
        """What is wrong with the compressed stream, if anything."""
        self._stream = stream
        self._kind = kind
        self._pieces = self._inflated()
        self._left = b""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes of the content; none at the end."""
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return b""
            if len(piece) <= size:
                return piece
            self._left = piece
        piece, self._left = self._left[:size], self._left[size:]
        return piece

    def _inflated(self) -> Generator[bytes, None, None]:
        """All members (frames, streams), one after the other; zero bytes behind one are padding."""
        rest = b""
        while True:
            rest = rest.lstrip(b"\0")
            if len(rest) < _MAGIC:
                more = self._stream.read(_IN)
                rest = (rest + more).lstrip(b"\0")
                if more and len(rest) < _MAGIC:
                    continue
                if not rest:
                    return
            if compression(rest) != self._kind:
                self.damage = f"bytes that are no {self._kind} follow the compressed data: ignored"
                return
            try:
                rest = yield from self._member(_MAKERS[self._kind](), rest)
            except TraceFormatError:
                raise
            except (ArithmeticError, EOFError, OSError, ValueError, RuntimeError) as error:
                self._broken(error)
                return
            except Exception as error:
                # The packages' own errors share no base: isal.IsalError, lzma.LZMAError, zstd.ZstdError.
                if type(error).__module__ in ("builtins", __name__):
                    raise
                self._broken(error)
                return

    def _broken(self, error: Exception) -> None:
        self.damage = f"the {self._kind} data is damaged ({error}): what could be unpacked before it is read"

    def _member(self, member: Any, rest: bytes) -> Generator[bytes, None, bytes]:
        """The content of one member; returns what follows it."""
        while True:
            piece = member.decompress(rest, _OUT)
            if piece:
                yield piece
            if member.eof:
                self.damage = self.damage or getattr(member, "damage", "")
                unused: bytes = member.unused_data
                return unused
            rest = b""
            if member.needs_input:
                rest = self._stream.read(_IN)
                if not rest:
                    self.damage = f"the {self._kind} data is cut off: what could be unpacked is read"
                    return b""
