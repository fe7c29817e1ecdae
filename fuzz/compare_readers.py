"""Damage recordings and read them with both readers: they must agree, quickly, and raise nothing but our errors.

    python fuzz/compare_readers.py [--count N] [--seed S] [--keep FOLDER]

Prints what failed and keeps its input; exits with 1 then.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np
from mutations import mutated, samples

from foretrace.errors import ForetraceError
from foretrace.trace import document, scan
from foretrace.trace.read import read_raw

if TYPE_CHECKING:
    from foretrace.trace.raw import RawTrace

RECORDINGS = Path(__file__).parents[1] / "tests" / "recordings" / "h200"
SECONDS = 5.0


def differences(one: RawTrace | str, other: RawTrace | str) -> list[str]:
    """What two readings do not agree on."""
    if isinstance(one, str) or isinstance(other, str):
        return [] if one == other else [f"{one!s:.300} against {other!s:.300}"]
    found = []
    for table in ("rows", "activities", "ops", "flows", "memory"):
        for name in type(getattr(one, table)).__annotations__:
            left, right = getattr(getattr(one, table), name), getattr(getattr(other, table), name)
            if left.dtype != right.dtype or left.tobytes() != right.tobytes():
                found.append(f"{table}.{name}: {left[:8]} against {right[:8]} ({len(left)}, {len(right)})")
    for name in ("strings", "threads", "labels", "phases", "events", "fractions", "text_times", "is_list", "repairs"):
        left, right = getattr(one, name), getattr(other, name)
        if left != right or (isinstance(left, dict) and list(left) != list(right)):
            found.append(f"{name}: {left!s:.400} against {right!s:.400}")
    if repr(one.header) != repr(other.header):
        found.append("header")
    return found


def reading(path: Path, reader: str) -> RawTrace | str:
    """The columns, or the message of the error."""
    try:
        return read_raw(path, reader=reader)
    except ForetraceError as error:
        return f"{type(error).__name__}: {error}"


def in_parts(path: Path) -> RawTrace | str:
    """The same by four scanners side by side, however small the file."""
    with (
        mock.patch.object(scan, "_PART", 300),
        mock.patch.object(scan, "_processors", return_value=4),
        mock.patch.object(document, "_SLICE", 700),
    ):
        return reading(path, "scan")


def check(path: Path) -> list[str]:
    """What is wrong with how the file is read."""
    started = time.monotonic()
    one = reading(path, "scan")
    middle = time.monotonic()
    other = reading(path, "msgspec")
    ended = time.monotonic()
    found = differences(one, other) + differences(one, in_parts(path))
    for name, seconds in (("scan", middle - started), ("msgspec", ended - middle)):
        if seconds > SECONDS:
            found.append(f"{name} took {seconds:.1f} s")
    return found


def main() -> int:
    """Read damaged traces until there are enough."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "foretrace-fuzz")
    given = parser.parse_args()
    documents = samples(RECORDINGS)
    given.keep.mkdir(parents=True, exist_ok=True)
    path = given.keep / "now.json"
    failed = 0
    np.seterr(all="raise")
    for number in range(given.count):
        rng = random.Random(f"{given.seed}-{number}")
        text = mutated(rng, documents)
        path.write_bytes(text)
        try:
            found = check(path)
        except Exception as error:  # noqa: BLE001 - any other error is what is looked for
            found = [f"{type(error).__name__}: {error}"]
        if found:
            failed += 1
            kept = given.keep / f"{given.seed}-{number}.json"
            kept.write_bytes(text)
            print(f"{kept}: " + "; ".join(found), flush=True)
        elif number % 1000 == 999:
            print(f"{number + 1} read, {failed} failed", flush=True)
    print(f"{given.count} damaged traces, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
