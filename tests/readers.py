"""Both readers over one text: what a test of reading needs.

READERS parametrizes a test over them; ``read_text(path, text, reader)`` gives the columns.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from foretrace.trace.raw import RawTrace
from foretrace.trace.read import read_raw

HAS_SCANNER = importlib.util.find_spec("foretrace.trace._scan") is not None

READERS = [
    pytest.param("scan", marks=pytest.mark.skipif(not HAS_SCANNER, reason="the scanner was not built")),
    "msgspec",
]

TABLES = ("rows", "activities", "ops", "flows", "memory")


def read_text(folder: Path, text: bytes | str, reader: str, name: str = "trace.json", **options: Any) -> RawTrace:
    """The columns of a file with this text."""
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_raw(path, reader=reader, **options)


def listed(*events: Any, **header: Any) -> str:
    """A document of events: JSON text as it stands, or values."""
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    keys = "".join(f"{json.dumps(key)}: {json.dumps(value)}, " for key, value in header.items())
    return "{" + keys + '"traceEvents": [\n' + ",\n".join(texts) + "\n]}"


def x(name: str = "op", cat: str | None = "cpu_op", ts: Any = 1, dur: Any = 2, **args: Any) -> dict[str, Any]:
    """A complete event."""
    event = {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args}
    return {key: value for key, value in event.items() if value is not None}


def names(raw: RawTrace) -> list[str]:
    """The names of the rows."""
    return [raw.strings[number] for number in raw.rows.name]


def codes(raw: RawTrace) -> dict[str, int]:
    """How often each kind of damage was met."""
    return {repair.code: repair.count for repair in raw.repairs}


def row(raw: RawTrace, number: int = 0) -> dict[str, Any]:
    """One row as plain values."""
    return {column: getattr(raw.rows, column)[number].item() for column in type(raw.rows).__annotations__}


def table(columns: Any) -> list[dict[str, Any]]:
    """All rows of a table as plain values."""
    names = list(type(columns).__annotations__)
    lists = [getattr(columns, name).tolist() for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*lists, strict=True)]
