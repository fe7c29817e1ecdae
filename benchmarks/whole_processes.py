"""Programs that read a trace, timed as whole processes from start to exit."""

from __future__ import annotations

import compileall
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import foretrace

__all__ = ["FORETRACE", "Program", "as_installed"]

FORETRACE = """
import sys
from foretrace.cli import main
sys.argv = ["foretrace", "read", sys.argv[1], "--json"]
main()
"""

_POLL_S = 0.01
_ANONYMOUS = re.compile(r"RssAnon:\s+(\d+) kB")


def as_installed() -> None:
    """Compile foretrace to bytecode, as an installation does."""
    compileall.compile_dir(Path(foretrace.__file__).parent, quiet=1)


@dataclass
class Program:
    """Something that reads the trace."""

    name: str
    python: str
    code: str
    path: Path
    paths: str = ""
    """What PYTHONPATH gets."""
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    """Seconds of all processors: what remains comparable on a busy machine."""
    peak: int = 0
    """Bytes."""

    def run(self, *, watched: bool = False) -> None:
        """Once, for its time; or, watched, for the peak of its anonymous memory: looking costs time."""
        environment = {**os.environ, "PYTHONPATH": self.paths} if self.paths else dict(os.environ)
        with tempfile.TemporaryFile() as errors:
            started = time.perf_counter()
            process = subprocess.Popen(
                [self.python, "-c", self.code, str(self.path)],
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=environment,
            )
            while True:
                pid, status, used = os.wait4(process.pid, os.WNOHANG if watched else 0)
                if pid:
                    break
                self.peak = max(self.peak, _anonymous(process.pid))
                time.sleep(_POLL_S)
            seconds = time.perf_counter() - started
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode:
                errors.seek(0)
                sys.exit(f"{self.name} failed:\n{errors.read().decode(errors='replace')[-2000:]}")
        if not watched:
            self.seconds.append(seconds)
            self.processor.append(used.ru_utime + used.ru_stime)


def _anonymous(pid: int) -> int:
    """Bytes of anonymous memory of a process and its children."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0
    found = _ANONYMOUS.search(status)
    return (int(found[1]) * 1024 if found else 0) + sum(_anonymous(int(child)) for child in children)
