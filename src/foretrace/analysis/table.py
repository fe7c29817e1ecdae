"""A table: named columns of equal length, for people, files and data frames."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foretrace.errors import MissingDataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["Table"]


@dataclass(frozen=True)
class Table:
    """Rows under named columns; missing values are ``None``."""

    name: str
    columns: dict[str, Sequence[Any]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names = list(self.columns)
        for values in zip(*self.columns.values(), strict=True):
            yield dict(zip(names, values, strict=True))

    @staticmethod
    def of(name: str, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> Table:
        """A table of these columns from rows."""
        return Table(name, {column: [row[column] for row in rows] for column in columns})

    def to_pandas(self) -> Any:
        """As a pandas data frame. Raises MissingDataError where pandas is not installed."""
        return _needs("pandas").DataFrame(dict(self.columns))

    def to_polars(self) -> Any:
        """As a polars data frame. Raises MissingDataError where polars is not installed."""
        return _needs("polars").DataFrame({key: list(value) for key, value in self.columns.items()}, strict=False)

    def to_arrow(self) -> Any:
        """As an Arrow table. Raises MissingDataError where pyarrow is not installed."""
        return _needs("pyarrow").table({key: list(value) for key, value in self.columns.items()})

    def to_csv(self, path: Path) -> None:
        """Write the table as CSV: UTF-8, a header line, empty where a value is missing, control characters escaped."""
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.columns)
            for values in zip(*self.columns.values(), strict=True):
                writer.writerow([_cell(value) for value in values])


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in value)
    # A spreadsheet runs a cell that begins like this as a formula.
    return "'" + text if text[:1] in ("=", "+", "-", "@") else text


def _needs(module: str) -> Any:
    import importlib  # noqa: PLC0415 - only who asks for a data frame pays for it

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDataError(f"{module} is not installed here; install it with: pip install {module}") from error
