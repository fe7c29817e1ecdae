"""Fuzz what is in C under AddressSanitizer and UndefinedBehaviorSanitizer: the scanner, then the passes over ranges.

    python fuzz/scanner.py [--seconds N] [--folder FOLDER]

With clang by libFuzzer, which looks for new paths; with gcc alone by damaged recordings and random ranges. The passes
get a tenth of the seconds on top. Exits with 1 on a report.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mutations import mutated, samples
from seeds import RECORDINGS, write_seeds

HERE = Path(__file__).parent
SCANNER = HERE.parent / "scanner"
SOURCES = {
    "scan_fuzzer": ("scanner", "rows", "values", "members", "step", "text", "number", "absorb"),
    "nest_fuzzer": ("nest",),
}
SANITIZE = "address,undefined"
BATCH = 200
LONGEST_RANGES = 400


def build(compiler: str, name: str, program: Path, *options: str) -> None:
    """Compile a fuzzer with what it fuzzes."""
    common = ["-g", "-O1", "-std=c11", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", f"-I{SCANNER}"]
    files = [HERE / f"{name}.c", *(SCANNER / f"{source}.c" for source in SOURCES[name])]
    subprocess.run([compiler, *common, *options, *map(str, files), "-lm", "-o", str(program)], check=True)


def with_clang(clang: str, name: str, folder: Path, seconds: int) -> int:
    """By libFuzzer."""
    program, corpus = folder / name, folder / f"{name}-corpus"
    build(clang, name, program, f"-fsanitize=fuzzer,{SANITIZE}")
    corpus.mkdir(exist_ok=True)
    limits = [f"-max_total_time={seconds}", "-timeout=5", "-rss_limit_mb=1024"]
    talk = ["-verbosity=0", "-print_final_stats=1", f"-artifact_prefix={folder}/"]
    if name == "scan_fuzzer":
        write_seeds(folder / "seeds")
        what = [f"-dict={HERE / 'tokens.dict'}", "-max_len=6000", str(corpus), str(folder / "seeds")]
    else:
        what = [f"-max_len={LONGEST_RANGES}", str(corpus)]
    return subprocess.run([str(program), *limits, *talk, *what], check=False).returncode


def with_gcc(gcc: str, name: str, folder: Path, seconds: int) -> int:
    """By inputs made here, a few hundred a call."""
    program = folder / name
    build(gcc, name, program, f"-fsanitize={SANITIZE}", str(HERE / "read_files.c"))
    rng = random.Random()
    documents = samples(RECORDINGS)
    ended = time.monotonic() + seconds
    count = 0
    while time.monotonic() < ended:
        batch = []
        for number in range(BATCH):
            path = folder / f"input{number}"
            damaged = name == "scan_fuzzer"
            rest = mutated(rng, documents) if damaged else rng.randbytes(rng.randrange(LONGEST_RANGES))
            path.write_bytes(rng.randbytes(1) + rest)
            batch.append(str(path))
        if subprocess.run([str(program), *batch], check=False).returncode:
            print(f"a report of {name}: the inputs are in {folder}")
            return 1
        count += len(batch)
    print(f"{count} inputs to {name}, no report")
    return 0


def main() -> int:
    """Fuzz for a while."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "foretrace-fuzz-scanner")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    clang, gcc = shutil.which("clang"), shutil.which("gcc") or shutil.which("cc")
    compiler = clang or gcc
    if compiler is None:
        print("no C compiler: install clang or gcc to fuzz the scanner")
        return 1
    fuzz = with_clang if clang else with_gcc
    turns = {"scan_fuzzer": given.seconds, "nest_fuzzer": max(given.seconds // 10, 1)}
    return max(abs(fuzz(compiler, name, given.folder, seconds)) for name, seconds in turns.items())


if __name__ == "__main__":
    sys.exit(main())
