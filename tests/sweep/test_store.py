"""Rows and traces are kept where they are told to be, on this machine or behind fsspec, and read again from there."""

import gzip
import sys
from pathlib import Path

import msgspec
import pytest
from build_sweep import case, shape

import foretrace
from foretrace.errors import MissingDataError, TraceFormatError, UsageError
from foretrace.sweep import store as stores
from foretrace.sweep.protocol import VariantRef
from foretrace.sweep.results import Part, Plan, SweepFolder, load_sweep

ROWS = case({"auto": 10_000, "cudnn": 10_000, "flash": 20_000})


@pytest.fixture(params=["local", "memory", "file"])
def place(request, tmp_path):
    """A folder, and how to look into it."""
    if request.param == "local":
        return str(tmp_path / "sweep")
    fsspec = pytest.importorskip("fsspec")
    if request.param == "file":
        return (tmp_path / "sweep").as_uri()
    url = f"memory://{tmp_path.name}/sweep"
    fsspec.filesystem("memory").store.clear()
    return url


def test_rows_and_traces_come_back(place):
    folder = SweepFolder(place)
    assert folder.plan() is None
    assert folder.rows() == []
    plan = Plan(parts=(Part(cases=(shape(),), variants=(VariantRef("flash"), VariantRef("f", "m:f"))),))
    folder.write_plan(plan)
    traced = msgspec.structs.replace(ROWS[0], trace="a.json.gz")
    folder.add(traced, b"trace")
    folder.add(ROWS[1], None)
    folder.finish()
    again = SweepFolder(place)
    assert again.plan() == plan
    assert again.rows() == [traced, ROWS[1]]
    again.add(ROWS[2], None)
    again.close()
    assert load_sweep(place).rows == (traced, ROWS[1], ROWS[2])
    assert foretrace.load_sweep(place).place == place
    store = stores.open_store(place)
    assert store.read("traces/a.json.gz") == b"trace"
    assert store.read("rows.parquet")[:4] == b"PAR1"
    assert store.read("nothing") == b""


def test_an_object_store_gets_parts_that_are_written_anew_until_they_are_large(monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    memory.store.clear()
    monkeypatch.setattr(stores, "_PART_BYTES", 10)
    monkeypatch.setattr(stores, "_FLUSH_S", 0.0)
    for _run in range(2):
        store = stores.open_store("memory://bucket/s")
        for line in (b"1234\n", b"5678\n", b"9\n"):
            store.append(line)
        store.close()
    assert store.names("rows", ".jsonl") == [f"rows-{number:04d}.jsonl" for number in (1, 2, 3, 4)]
    assert [store.read(name) for name in store.names("rows", ".jsonl")] == [b"1234\n5678\n", b"9\n"] * 2


def test_without_fsspec_an_url_gets_a_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingDataError, match=r"pip install 'foretrace\[remote\]'"):
        load_sweep("s3://bucket/sweep")


def test_an_unknown_kind_of_url_gets_a_sentence():
    pytest.importorskip("fsspec")
    with pytest.raises(MissingDataError, match="cannot be opened"):
        load_sweep("nonsense://bucket/sweep")


def test_a_second_sweep_is_kept_out_of_a_folder_that_one_writes_to(tmp_path):
    first, second = SweepFolder(tmp_path), SweepFolder(tmp_path)
    first.add(ROWS[0], None)
    with pytest.raises(UsageError, match="another sweep is writing"):
        second.add(ROWS[1], None)
    first.close()
    second.add(ROWS[1], None)
    second.close()
    assert len(load_sweep(tmp_path).rows) == 2


def test_the_newer_of_two_rows_counts_and_a_failure_gives_way_to_a_success(tmp_path):
    failed = case({}, math=("crashed", "gone."))[0]
    worked = case({"math": 30_000})[0]
    faster = case({"math": 20_000})[0]
    lost = msgspec.structs.replace(failed, device=None)
    folder = SweepFolder(tmp_path)
    for row in (lost, failed, worked, faster, *case({}, flash=("crashed", "gone."))):
        folder.add(row, None)
    folder.close()
    assert [(row.variant, row.status) for row in load_sweep(tmp_path).rows] == [("math", "ok"), ("flash", "crashed")]
    assert load_sweep(tmp_path).rows[0] == faster


def test_rows_may_be_packed(tmp_path):
    text = b"".join(msgspec.json.encode(row) + b"\n" for row in ROWS)
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(text))
    assert load_sweep(tmp_path).rows == tuple(ROWS)
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(text)[:-20])
    with pytest.raises(TraceFormatError, match=r"rows\.jsonl\.gz is damaged"):
        load_sweep(tmp_path)


def test_what_is_no_sweep_is_refused(tmp_path):
    with pytest.raises(MissingDataError, match="holds no rows"):
        load_sweep(tmp_path / "none")
    (tmp_path / "rows.jsonl").write_text('{"a": 1}\nnonsense\n\xff\n')
    with pytest.raises(TraceFormatError, match="only lines that are none"):
        load_sweep(tmp_path)
    (tmp_path / "sweep.json").write_text("[]")
    with pytest.raises(TraceFormatError, match="remove it to start again"):
        SweepFolder(tmp_path).plan()
    (tmp_path / "sweep.json").write_text('{"schema": 2, "parts": []}')
    with pytest.raises(TraceFormatError, match="use a newer foretrace"):
        SweepFolder(tmp_path).plan()


def test_a_folder_that_cannot_be_written_gets_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    folder = SweepFolder(Path(tmp_path / "file" / "sweep"))
    with pytest.raises(UsageError, match="cannot be written"):
        folder.add(ROWS[0], None)
