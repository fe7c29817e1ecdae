"""The folder of a sweep, on this machine or behind fsspec (``s3://...``): named files, some of which grow.

A local file grows line by line; whatever was written when the process is killed stays. Objects in a store cannot
grow, so there the lines of this run are kept in parts, each written anew as it grows and closed when it is large.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from foretrace.errors import MissingDataError, UsageError

if TYPE_CHECKING:
    from typing import IO

__all__ = ["LocalStore", "RemoteStore", "Store", "open_store"]

_PART_BYTES: Final = 4_000_000
_FLUSH_S: Final = 10.0


class Store(Protocol):
    """What a sweep needs of a folder."""

    place: str
    """The folder as the user wrote it."""

    def names(self, start: str, *ends: str) -> list[str]:
        """The files whose name starts and ends so, sorted."""

    def read(self, name: str) -> bytes:
        """The content of a file; empty when there is none."""

    def write(self, name: str, content: bytes) -> None:
        """Write a whole file. Raises ``UsageError`` where that is not possible."""

    def append(self, line: bytes) -> None:
        """Add a line to the rows. Raises ``UsageError`` where that is not possible, or another sweep is writing."""

    def close(self) -> None:
        """Make sure that everything is written."""


def open_store(place: str | Path) -> Store:
    """The folder at a path or an URL. Raises ``MissingDataError`` when an URL's file system is not installed."""
    return RemoteStore(place) if isinstance(place, str) and "://" in place else LocalStore(Path(place))


class LocalStore:
    """A folder on this machine; made when something is first written."""

    def __init__(self, folder: Path) -> None:
        self.place = str(folder)
        self.folder = folder
        self._rows: IO[bytes] | None = None

    def names(self, start: str, *ends: str) -> list[str]:
        """The files whose name starts and ends so, sorted."""
        if not self.folder.is_dir():
            return []
        found = (entry.name for entry in self.folder.iterdir() if entry.is_file())
        return sorted(name for name in found if name.startswith(start) and name.endswith(ends))

    def read(self, name: str) -> bytes:
        """The content of a file; empty when there is none."""
        path = self.folder / name
        try:
            return path.read_bytes() if path.is_file() else b""
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error.strerror}.") from error

    def write(self, name: str, content: bytes) -> None:
        """Write a whole file, so that it is never seen half written."""
        path = self.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_name(f".{path.name}.part")
            beside.write_bytes(content)
            beside.replace(path)
        except OSError as error:
            raise UsageError(f"{path} cannot be written: {error.strerror}.") from error

    def append(self, line: bytes) -> None:
        """Add a line to ``rows.jsonl``."""
        try:
            if self._rows is None:
                self._rows = self._opened()
            self._rows.write(line)
            self._rows.flush()
        except OSError as error:
            raise UsageError(f"{self.folder / 'rows.jsonl'} cannot be written: {error.strerror}.") from error

    def _opened(self) -> IO[bytes]:
        self.folder.mkdir(parents=True, exist_ok=True)
        rows = (self.folder / "rows.jsonl").open("a+b")
        _lock(rows, self.place)
        # A run that was killed may have left half a line: what follows must not be joined to it.
        if rows.seek(0, os.SEEK_END):
            rows.seek(-1, os.SEEK_END)
            if rows.read(1) != b"\n":
                rows.write(b"\n")
        return rows

    def close(self) -> None:
        """Close the rows."""
        if self._rows is not None:
            self._rows.close()
            self._rows = None


def _lock(file: IO[bytes], place: str) -> None:
    """Keep a second sweep out for as long as the file is open. Raises ``UsageError`` when there is one."""
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise UsageError(f"another sweep is writing to {place}; wait for it, or give another folder.") from error
    except OSError:
        return  # some network file systems know no locks


class RemoteStore:
    """A folder behind fsspec."""

    def __init__(self, url: str) -> None:
        self.place = url
        self._files, self._root = _file_system(url)
        self._part = 0
        self._lines = b""
        self._written = 0.0

    def names(self, start: str, *ends: str) -> list[str]:
        """The files whose name starts and ends so, sorted."""
        self._files.invalidate_cache()
        try:
            found = [str(path).rstrip("/").rpartition("/")[2] for path in self._files.ls(self._root, detail=False)]
        except FileNotFoundError:
            return []
        except Exception as error:
            raise self._failed("listed", error) from error
        return sorted(name for name in found if name.startswith(start) and name.endswith(ends))

    def read(self, name: str) -> bytes:
        """The content of a file; empty when there is none."""
        try:
            content: bytes = self._files.cat_file(f"{self._root}/{name}")
        except FileNotFoundError:
            return b""
        except Exception as error:
            raise self._failed("read", error) from error
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write a whole file."""
        path = f"{self._root}/{name}"
        try:
            with suppress(NotImplementedError, PermissionError):
                self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._files.pipe_file(path, content)
        except Exception as error:
            raise self._failed("written", error) from error

    def append(self, line: bytes) -> None:
        """Add a line to this run's part; it is written within ten seconds, or with the next line after that."""
        if not self._part:
            taken = [int(number) for name in self.names("rows-", ".jsonl") if (number := name[5:-6]).isdecimal()]
            self._part = max(taken, default=0) + 1
        self._lines += line
        if time.monotonic() - self._written >= _FLUSH_S or len(self._lines) >= _PART_BYTES:
            self._flush()
            if len(self._lines) >= _PART_BYTES:
                self._part, self._lines = self._part + 1, b""

    def _flush(self) -> None:
        self.write(f"rows-{self._part:04d}.jsonl", self._lines)
        self._written = time.monotonic()

    def close(self) -> None:
        """Write what is not written yet."""
        if self._lines:
            self._flush()
            self._part, self._lines = self._part + 1, b""

    def _failed(self, done: str, error: Exception) -> UsageError:
        return UsageError(f"{self.place} cannot be {done}: {type(error).__name__}: {error}.")


def _file_system(url: str) -> tuple[Any, str]:
    try:
        import fsspec  # noqa: PLC0415 - only for folders elsewhere
    except ImportError as error:
        raise MissingDataError(
            f"{url} needs fsspec, which is not installed here; install it with pip install 'foretrace[remote]'."
        ) from error
    try:
        files, root = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise MissingDataError(f"{url} cannot be opened: {error}.") from error
    return files, str(root).rstrip("/")
