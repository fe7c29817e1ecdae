"""Fuzz the scanner in C under AddressSanitizer and UndefinedBehaviorSanitizer.

    python fuzz/scanner.py [--seconds N] [--folder FOLDER]

With clang by libFuzzer, which looks for new paths; with gcc alone by damaged recordings. Exits with 1 on a report.
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
SOURCES = [
    SCANNER / f"{name}.c" for name in ("scanner", "rows", "values", "members", "step", "text", "number", "absorb")
]
SANITIZE = "address,undefined"


def build(compiler: str, program: Path, *options: str) -> None:
    """Compile the scanner and its fuzzer."""
    common = ["-g", "-O1", "-std=c11", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", f"-I{SCANNER}"]
    files = [str(HERE / "scan_fuzzer.c"), *map(str, SOURCES)]
    subprocess.run([compiler, *common, *options, *files, "-lm", "-o", str(program)], check=True)


def with_clang(clang: str, folder: Path, seconds: int) -> int:
    """By libFuzzer."""
    program = folder / "scan_fuzzer"
    build(clang, program, f"-fsanitize=fuzzer,{SANITIZE}")
    write_seeds(folder / "seeds")
    (folder / "corpus").mkdir(exist_ok=True)
    limits = [f"-max_total_time={seconds}", "-max_len=6000", "-timeout=5", "-rss_limit_mb=1024"]
    talk = ["-verbosity=0", "-print_final_stats=1"]
    places = [f"-artifact_prefix={folder}/", str(folder / "corpus"), str(folder / "seeds")]
    return subprocess.run(
        [str(program), f"-dict={HERE / 'tokens.dict'}", *limits, *talk, *places], check=False
    ).returncode


def with_gcc(gcc: str, folder: Path, seconds: int) -> int:
    """By damaged recordings, a few hundred a call."""
    program = folder / "scan_files"
    build(gcc, program, f"-fsanitize={SANITIZE}", "-DREAD_FILES")
    documents = samples(RECORDINGS)
    rng = random.Random()
    ended = time.monotonic() + seconds
    count = 0
    while time.monotonic() < ended:
        batch = []
        for number in range(200):
            path = folder / f"input{number}"
            path.write_bytes(bytes([rng.randrange(256)]) + mutated(rng, documents))
            batch.append(str(path))
        if subprocess.run([str(program), *batch], check=False).returncode:
            print(f"a report: the inputs are in {folder}")
            return 1
        count += len(batch)
    print(f"{count} damaged traces, no report")
    return 0


def main() -> int:
    """Fuzz for a while."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "foretrace-fuzz-scanner")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    clang, gcc = shutil.which("clang"), shutil.which("gcc") or shutil.which("cc")
    if clang:
        return with_clang(clang, given.folder, given.seconds)
    if gcc:
        return with_gcc(gcc, given.folder, given.seconds)
    print("no C compiler: install clang or gcc to fuzz the scanner")
    return 1


if __name__ == "__main__":
    sys.exit(main())
