"""Cases from a file: a TOML file of grids and single cases, or a CSV file with a case a line.

variants = ["auto", "flash", "cudnn"]       # optional

[[grid]]
batch = [1, 8]
length = "512:16384:x2"
dtype = "bf16"

[[case]]
batch = 4
length = 1
kv_length = 8192
"""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from foretrace.errors import UsageError
from foretrace.sweep.axes import Grid, axis_name, axis_values

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["CaseFile", "read_case_file"]


@dataclass(frozen=True)
class CaseFile:
    """What a file of cases says."""

    grids: list[Grid] = field(default_factory=list)
    variants: list[str] | None = None


def read_case_file(path: Path) -> CaseFile:
    """Read a ``.toml`` or ``.csv`` file. Raises ``UsageError`` that names the file and the place in it."""
    readers = {".toml": _toml, ".csv": _csv}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"{path}: cases come from a .toml or a .csv file; name it so.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text in UTF-8 (byte {error.start}); save it as such.") from error
    found = reader(path, text)
    if not found.grids:
        raise UsageError(f"{path} holds no cases; give it at least one.")
    return found


def _toml(path: Path, text: str) -> CaseFile:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is no valid TOML: {error}.") from error
    unknown = content.keys() - {"grid", "case", "variants"}
    if unknown:
        raise UsageError(f"{path}: there is no {min(unknown)!r} in a file of cases; use [[grid]], [[case]], variants.")
    grids = []
    for word in ("grid", "case"):
        tables = content.get(word, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise UsageError(f"{path}: write {word} as a list of tables, [[{word}]].")
        grids += [_grid(table, f"{path}, {word} {number}: ") for number, table in enumerate(tables, 1)]
    return CaseFile(grids, _variants(path, content.get("variants")))


def _variants(path: Path, value: Any) -> list[str] | None:
    if value is None:
        return None
    if isinstance(value, str):
        value = [word.strip() for word in value.split(",")]
    if not isinstance(value, list) or not all(isinstance(word, str) and word for word in value):
        raise UsageError(f'{path}: variants is a list of names, e.g. ["auto", "flash"].')
    return value


def _csv(path: Path, text: str) -> CaseFile:
    reader = csv.DictReader(text.splitlines(), strict=True, skipinitialspace=True)
    grids = []
    try:
        for row in reader:
            if None in row or None in row.values():
                raise UsageError(f"{path}, line {reader.line_num}: it has not as many fields as the first line.")
            cells = {key: value for key, value in row.items() if value.strip()}
            if cells:
                grids.append(_grid(cells, f"{path}, line {reader.line_num}: "))
    except csv.Error as error:
        raise UsageError(f"{path}, line {reader.line_num}: no valid CSV ({error}).") from error
    return CaseFile(grids)


def _grid(table: Mapping[str, Any], where: str) -> Grid:
    axes: dict[str, list[Any]] = {}
    for word, value in table.items():
        try:
            name = axis_name(word)
        except UsageError as error:
            raise UsageError(f"{where}{error}") from error
        axes[name] = axis_values(name, value, where)
    return Grid(axes)
