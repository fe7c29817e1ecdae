"""A worker process as the sweep sees it: started, spoken to, and ended with everything it started itself."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from foretrace.errors import CaptureError
from foretrace.sweep.protocol import Hello, Reply, Sorry, decode_reply, line

if TYPE_CHECKING:
    from foretrace.sweep.protocol import Job

__all__ = ["Worker", "WorkerGoneError"]

_START_LIMIT: Final = 300.0  # seconds; importing torch from a cold network disk takes minutes
_LAST_WORDS: Final = 4096
_TEXT: Final = 200


class WorkerGoneError(Exception):
    """The process ended; its text says how."""


class Worker:
    """One worker process. Raises ``CaptureError`` when it does not come up."""

    def __init__(self, device: str | None, threads: int = 0) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="foretrace-sweep-", ignore_cleanup_errors=True)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        self._process = subprocess.Popen(  # noqa: S603 (our own module)
            [
                sys.executable,
                "-m",
                "foretrace.sweep.worker",
                device or "",
                str(threads),
                self._folder.name,
                # What imports here imports there, wherever this process found it.
                *(path for path in sys.path if path),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._replies: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self.hello = self._greeting()
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    @property
    def folder(self) -> Path:
        """Where its traces lie."""
        return Path(self._folder.name)

    def _listen(self) -> None:
        out = self._process.stdout
        if out is not None:
            # A line that is cut off by the end of the process is no reply.
            with suppress(msgspec.DecodeError, ValueError, OSError):
                for text in out:
                    self._replies.put(decode_reply(text))
        self._replies.put(None)

    def _greeting(self) -> Hello:
        try:
            first = self.reply(_START_LIMIT)
        except WorkerGoneError as gone:
            raise CaptureError(f"no worker process comes up here: {gone}.") from gone
        except TimeoutError as error:
            raise CaptureError(f"no worker process comes up here within {_START_LIMIT:.0f} s.") from error
        if isinstance(first, Hello):
            return first
        raise CaptureError(first.reason if isinstance(first, Sorry) else "a worker process spoke out of turn.")

    def send(self, job: Job) -> None:
        """Give it a case. Raises ``WorkerGoneError``."""
        stdin = self._process.stdin
        try:
            if stdin is None:
                raise BrokenPipeError
            stdin.write(line(job))
            stdin.flush()
        except (OSError, ValueError) as error:
            raise WorkerGoneError(self._how_it_ended()) from error

    def reply(self, seconds: float) -> Reply:
        """Its next word. Raises ``TimeoutError``, or ``WorkerGoneError`` when the process has ended."""
        try:
            reply = self._replies.get(timeout=max(seconds, 0.0))
        except queue.Empty as error:
            raise TimeoutError from error
        if reply is None:
            self._replies.put(None)
            raise WorkerGoneError(self._how_it_ended())
        return reply

    def end(self) -> None:
        """End the process and all that it started; nothing when that has been done."""
        with suppress(OSError):
            # It leads a session of its own, so this group is its own.
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(OSError):
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        self._errors.close()
        self._folder.cleanup()

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            return "it closed its output and went on"
        text = f"it ended with exit code {code}"
        if code < 0:
            try:
                name = signal.Signals(-code).name
            except ValueError:
                name = f"signal {-code}"
            text = f"it was ended by {name}"
            if -code == signal.SIGKILL:
                text += ", as the system does when memory runs out"
        said = self._last_words()
        return f"{text} ({said})" if said else text

    def _last_words(self) -> str:
        """The last line that the process wrote to standard error."""
        try:
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - _LAST_WORDS))
            text = self._errors.read().decode("utf-8", "replace")
        except (OSError, ValueError):
            return ""
        lines = [each.strip() for each in text.splitlines() if each.strip()]
        return lines[-1][:_TEXT] if lines else ""
