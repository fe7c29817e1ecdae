"""What one more byte of a trace costs foretrace: whole processes on files grown from one recording.

    python benchmarks/growing.py [--megabytes 50 250 1000] [--recording FILE] [--rounds 15]

The files take turns, and the table gives the median of the rounds. "For each byte" is the difference to the file before
over the difference in size: by time from start to exit, and by the seconds of all processors.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from grown_trace import grow
from whole_processes import FORETRACE, Program, as_installed

RECORDING = Path(__file__).parents[1] / "tests" / "recordings" / "h200" / "m_llama_eager.json.gz"


def _table(programs: list[Program]) -> None:
    sizes = [program.path.stat().st_size for program in programs]
    seconds = [statistics.median(program.seconds) for program in programs]
    processor = [statistics.median(program.processor) for program in programs]
    print(f"{'size':>8} {'seconds':>8} {'processor s':>11} {'for each byte':>14} {'of processors':>14}")
    more = [("", "")]
    for before, after in pairwise(zip(sizes, seconds, processor, strict=True)):
        wall, used = ((after[at] - before[at]) / (after[0] - before[0]) * 1e9 for at in (1, 2))
        more.append((f"{wall:.2f} ns", f"{used:.2f} ns"))
    for size, wall, used, (by_time, by_processor) in zip(sizes, seconds, processor, more, strict=True):
        print(f"{size / 1e6:5.0f} MB {wall:8.3f} {used:11.3f} {by_time:>14} {by_processor:>14}")


def main() -> None:
    """Grow the traces, take turns, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, nargs="+", default=[50, 250, 1000])
    parser.add_argument("--recording", type=Path, default=RECORDING, help="what the traces are grown from")
    parser.add_argument("--traces", type=Path, nargs="+", help="read these files instead, the smallest first")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = given.traces or [Path(folder) / f"grown{megabytes:.0f}.json" for megabytes in given.megabytes]
        for path, megabytes in zip(paths, given.megabytes, strict=False):
            if not given.traces:
                grow(given.recording, int(megabytes * 1e6), path)
        as_installed()
        programs = [Program(path.name, sys.executable, FORETRACE, path) for path in paths]
        for path in paths:
            path.read_bytes()  # into the page cache
        print(f"{given.rounds} rounds, {os.cpu_count()} processors\n")
        for _ in range(given.rounds):
            for program in programs:
                program.run()
        _table(programs)


if __name__ == "__main__":
    main()
