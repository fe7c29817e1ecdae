"""What a sweep leaves behind: the plan, the rows, the traces; written as they come, and read again.

sweep.json     what was asked for: cases, variants, options, run after run
rows.jsonl     a row a line (in a store of objects rows-0001.jsonl, ...), appended as they come
rows.parquet   the same as a table, written at the end where pyarrow is installed
traces/        the traces that were asked for
"""

from __future__ import annotations

import gc
import gzip
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from foretrace._version import __version__
from foretrace.capture.recording import ShapeInfo  # noqa: TC001 - msgspec reads the types
from foretrace.capture.sweep_case import CaseOptions
from foretrace.capture.sweep_row import SweepRow
from foretrace.errors import MissingDataError, TraceFormatError
from foretrace.report.sweep_data import Sweep, sweep_table
from foretrace.sweep.protocol import VariantRef  # noqa: TC001 - msgspec reads the types
from foretrace.sweep.store import open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from foretrace.sweep.store import Store

__all__ = ["Part", "Plan", "SweepFolder", "load_sweep", "no_collection", "shipped_sweeps"]

_PLAN: Final = "sweep.json"
_ROWS: Final = (".jsonl", ".jsonl.gz")
_SHIPPED: Final = Path(__file__).parents[1] / "recordings"


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Cases times variants."""

    cases: tuple[ShapeInfo, ...]
    variants: tuple[VariantRef, ...]
    options: CaseOptions = CaseOptions()
    limit: float = 120.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What a sweep was asked for, run after run."""

    schema: int = 1
    foretrace: str = __version__
    parts: tuple[Part, ...]


class SweepFolder:
    """The folder that a sweep writes to and that the next run goes on from."""

    def __init__(self, place: str | Path) -> None:
        self._store = open_store(place)

    @property
    def place(self) -> str:
        """The folder as the user wrote it."""
        return self._store.place

    def plan(self) -> Plan | None:
        """The plan of the sweep in it; None when there is none. Raises ``TraceFormatError`` when it is damaged."""
        text = self._store.read(_PLAN)
        if not text:
            return None
        try:
            plan = msgspec.json.decode(text, type=Plan)
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
            raise TraceFormatError(f"{self.place}/{_PLAN} is damaged ({error}); remove it to start again.") from error
        if plan.schema != 1:
            raise TraceFormatError(f"{self.place}/{_PLAN} has schema {plan.schema}; use a newer foretrace.")
        return plan

    def write_plan(self, plan: Plan) -> None:
        """Write down what is asked for."""
        self._store.write(_PLAN, msgspec.json.encode(plan) + b"\n")

    def rows(self) -> list[SweepRow]:
        """The rows so far, the newer of two for the same thing."""
        return _latest(_read_rows(self._store)[0])

    def add(self, row: SweepRow, trace: bytes | None) -> None:
        """Keep a row, its trace first, so that no row names a trace that is not there."""
        if trace is not None and row.trace is not None:
            self._store.write(f"traces/{row.trace}", trace)
        self._store.append(msgspec.json.encode(row) + b"\n")

    def finish(self) -> None:
        """Close the rows, and write the table where pyarrow is installed."""
        self._store.close()
        table = _parquet(self.rows())
        if table is not None:
            self._store.write("rows.parquet", table)

    def close(self) -> None:
        """Close the rows."""
        self._store.close()


def load_sweep(place: str | Path) -> Sweep:
    """Read a sweep: a folder, an URL, or the name of one in the package (``h200``).

    Raises ``MissingDataError`` when there are no rows, ``TraceFormatError`` when none of them can be read.
    """
    name = str(place)
    if name in shipped_sweeps():
        place = _SHIPPED / f"sweep-{name}"
    store = open_store(place)
    rows, damaged = _read_rows(store)
    if damaged and not rows:
        raise TraceFormatError(f"{name} holds no rows of a sweep, only lines that are none; give a sweep's folder.")
    if not rows:
        raise MissingDataError(f"{name} holds no rows of a sweep; give the -o folder of `foretrace sweep`.")
    return Sweep(rows=tuple(_latest(rows)), place=name, damaged=damaged)


def shipped_sweeps() -> list[str]:
    """The names of the sweeps in the package."""
    if not _SHIPPED.is_dir():
        return []
    return sorted(folder.name.removeprefix("sweep-") for folder in _SHIPPED.iterdir() if folder.name[:6] == "sweep-")


@contextmanager
def no_collection() -> Iterator[None]:
    """A hundred thousand rows are made and kept: looking for garbage among them again and again takes a second."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _read_rows(store: Store) -> tuple[list[SweepRow], int]:
    """The rows in the order they came, and how many lines could not be read (a run that was killed leaves one)."""
    decoder = msgspec.json.Decoder(SweepRow)
    rows: list[SweepRow] = []
    damaged = 0
    with no_collection():
        for name in store.names("rows", *_ROWS):
            content = store.read(name)
            if name.endswith(".gz"):
                content = _unzipped(content, f"{store.place}/{name}")
            try:
                rows += decoder.decode_lines(content)
            except (msgspec.DecodeError, UnicodeDecodeError):
                for line in content.splitlines():
                    try:
                        rows += [decoder.decode(line)] if line.strip() else []
                    except (msgspec.DecodeError, UnicodeDecodeError):
                        damaged += 1
    return rows, damaged


def _unzipped(content: bytes, name: str) -> bytes:
    try:
        return gzip.decompress(content)
    except (OSError, EOFError) as error:
        raise TraceFormatError(f"{name} is damaged ({error}); fetch or write it again.") from error


def _latest(rows: list[SweepRow]) -> list[SweepRow]:
    """One row for each case, variant and device: the latest; a failure only where there is nothing else."""
    kept: dict[tuple[str, str, str, str], SweepRow] = {}
    worked: set[tuple[str, str]] = set()
    for row in rows:
        where = ("", "") if row.device is None else (row.device.name, row.device.torch or "")
        kept.pop((*row.key, *where), None)
        kept[*row.key, *where] = row
        if row.status == "ok":
            worked.add(row.key)
    return [row for row in kept.values() if row.status == "ok" or row.key not in worked]


def _parquet(rows: list[SweepRow]) -> bytes | None:
    """The rows as a Parquet file; None where pyarrow is not installed."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - only at the end of a sweep, and only where it is
        from pyarrow import parquet  # noqa: PLC0415 - the same
    except ImportError:
        return None
    sink: Any = pa.BufferOutputStream()
    parquet.write_table(sweep_table(rows).to_arrow(), sink)
    content: bytes = sink.getvalue().to_pybytes()
    return content
