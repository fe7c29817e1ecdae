"""A sweep of 24 small cases as a command of its own, for the tests that kill parts of it or compare executors."""

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import psutil

from foretrace.capture.sweep_row import SweepRow

GRID = (
    "--batch", "1,2", "--heads", "2,4", "--head-dim", "8,16", "--seq", "8:32:x2",
    "--variants", "auto,math", "--device", "cpu", "--threads", "1", "--seconds", "0.1",
)  # fmt: skip
CASES = 24
ROWS = 2 * CASES
PATIENCE_S = 120.0


def command(*arguments):
    return [sys.executable, "-m", "foretrace", "sweep", *map(str, arguments)]


def start(*arguments):
    """The command in the background, its output kept."""
    return subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=os.environ | {"LANG": "C"}
    )


def run(*arguments, code=0):
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == code, done.stderr + done.stdout
    return done


def lines(folder):
    path = Path(folder) / "rows.jsonl"
    return path.read_bytes().splitlines() if path.exists() else []


def rows(folder):
    return [msgspec.json.decode(line, type=SweepRow) for line in lines(folder)]


def without_times(found):
    """Rows by what they are of, all that is a time left out."""
    return {row.key: msgspec.structs.replace(row, time_ns=None, host_ns=None) for row in found}


def wait_for(condition, process=None):
    """Wait until it holds; fail when the process ends before or it never does."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert process is None or process.poll() is None, process.stdout.read()
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def workers(process):
    """The worker processes of a sweep."""
    found = []
    for child in psutil.Process(process.pid).children(recursive=True):
        try:
            if "foretrace.sweep.worker" in child.cmdline():
                found.append(child)
        except psutil.NoSuchProcess:
            continue
    return found
