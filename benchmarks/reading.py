"""How long whole processes take to read one trace: foretrace beside HolisticTraceAnalysis and TraceLens.

    python benchmarks/reading.py [--megabytes 250] [--recording FILE] [--rounds 5]
        [--hta PYTHON] [--tracelens PYTHON[:CHECKOUT]]

The trace is grown from a recording, so that every program reads the same file. The programs take turns; the table gives
the median of the rounds, the ratio of it to foretrace's, and the peak of anonymous memory over all processes of a
program. ``--hta`` names a Python that has HolisticTraceAnalysis, ``--tracelens`` one that has TraceLens or its
dependencies and a checkout; without them foretrace is timed alone.

What each does: foretrace reads the file, links launches, finds steps, and prints all tables and findings as JSON.
HolisticTraceAnalysis loads the file and computes kernel breakdown, temporal breakdown and launch statistics. TraceLens
loads the file and computes the timeline and the kernels by op.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from grown_trace import grow
from whole_processes import FORETRACE, Program, as_installed

RECORDING = Path(__file__).parents[1] / "tests" / "recordings" / "h200" / "m_llama_eager.json.gz"

MSGSPEC = "import sys; sys.modules['foretrace.trace._scan'] = None" + FORETRACE

HTA = """
import os, sys, tempfile, warnings, logging
warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
path = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as folder:
    analysis = TraceAnalysis(trace_files={0: path}, trace_dir=folder)
    analysis.get_gpu_kernel_breakdown(visualize=False)
    analysis.get_temporal_breakdown(visualize=False)
    analysis.get_cuda_kernel_launch_stats(visualize=False)
"""

TRACELENS = """
import sys, warnings
warnings.filterwarnings("ignore")
from TraceLens import TreePerfAnalyzer
analyzer = TreePerfAnalyzer.from_file(sys.argv[1])
analyzer.get_df_gpu_timeline()
launchers = analyzer.get_df_kernel_launchers()
analyzer.get_df_kernel_launchers_summary(launchers)
"""


def _table(programs: list[Program], size: int) -> None:
    first = programs[0]
    print(
        f"{'program':25} {'seconds':>8} {'ratio':>6} {'processor s':>11} {'ratio':>6} {'MB/s':>5} {'anonymous':>10}"
        f" {'of file':>8}"
    )
    for program in programs:
        wall, processor = statistics.median(program.seconds), statistics.median(program.processor)
        print(
            f"{program.name:25} {wall:8.3f} {wall / statistics.median(first.seconds):5.1f}x {processor:11.3f}"
            f" {processor / statistics.median(first.processor):5.1f}x {size / wall / 1e6:5.0f}"
            f" {program.peak / 1e6:7.0f} MB {program.peak / size:7.2f}x"
        )


def main() -> None:
    """Grow the trace, take turns, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=250)
    parser.add_argument("--recording", type=Path, default=RECORDING, help="what the trace is grown from")
    parser.add_argument("--trace", type=Path, help="read this file instead of growing one")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hta", metavar="PYTHON")
    parser.add_argument("--tracelens", metavar="PYTHON[:CHECKOUT]")
    parser.add_argument("--gzip", action="store_true", help="time foretrace on the gzipped file too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.trace or Path(folder) / "grown.json"
        if not given.trace:
            grow(given.recording, int(given.megabytes * 1e6), path)
        size = path.stat().st_size
        programs = [
            Program("foretrace", sys.executable, FORETRACE, path),
            Program("foretrace without scanner", sys.executable, MSGSPEC, path),
        ]
        if given.gzip:
            packed = Path(folder) / "grown.json.gz"
            with packed.open("wb") as file:
                subprocess.run(["gzip", "-1", "-c", str(path)], stdout=file, check=True)
            programs.append(Program("foretrace, gzipped", sys.executable, FORETRACE, packed))
        if given.hta:
            programs.append(Program("HolisticTraceAnalysis", given.hta, HTA, path))
        if given.tracelens:
            python, _, checkout = given.tracelens.partition(":")
            programs.append(Program("TraceLens", python, TRACELENS, path, checkout))
        print(f"{path.name}: {size / 1e6:.0f} MB, {given.rounds} rounds, {os.cpu_count()} processors\n")
        as_installed()
        path.read_bytes()  # into the page cache, for whoever comes first
        for program in programs:
            program.run(watched=True)
        for _ in range(given.rounds):
            for program in programs:
                program.run()
        _table(programs, size)


if __name__ == "__main__":
    main()
