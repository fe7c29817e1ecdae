"""Large files are scanned by several threads; what comes out does not depend on where they were cut."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foretrace.errors import TraceFormatError
from foretrace.trace.raw import RawTrace
from foretrace.trace.read import read_raw

scan = pytest.importorskip("foretrace.trace.scan", reason="the scanner was not built: no C compiler here")

OWN = Path(__file__).parents[1] / "recordings" / "h200"
TEXT = gzip.decompress((OWN / "p3_naive.json.gz").read_bytes())


def assert_same(one: RawTrace, other: RawTrace):
    for table in ("rows", "activities", "ops", "flows", "memory"):
        for name in type(getattr(one, table)).__annotations__:
            left, right = (getattr(getattr(raw, table), name) for raw in (one, other))
            assert np.array_equal(left, right), (table, name)
            assert left.dtype == right.dtype
    for name in ("strings", "threads", "events", "phases", "header", "labels", "fractions", "text_times", "repairs"):
        assert getattr(one, name) == getattr(other, name), name


def both(path, monkeypatch, part, threads):
    one = read_raw(path, reader="scan")
    with monkeypatch.context() as patch:
        patch.setattr(scan, "_PART", part)
        patch.setattr(scan, "_processors", lambda: threads)
        begun = []
        begin = scan.ScanReader._begin
        patch.setattr(scan.ScanReader, "_begin", lambda self, *words: begun.append(begin(self, *words)) or begun[-1][:])
        many = read_raw(path, reader="scan")
    return one, many, len(begun[0]) + 1 if begun else 1


@pytest.mark.parametrize("threads", [2, 3, 8])
@pytest.mark.parametrize("name", ["p3_sdpa_math", "t_naive_fwdbwd", "p3_naive_stack_mem", "m_llama_sdpa_stack"])
def test_the_columns_are_those_of_one_thread(name, threads, tmp_path, monkeypatch):
    path = tmp_path / "plain.json"
    path.write_bytes(gzip.decompress((OWN / f"{name}.json.gz").read_bytes()))
    one, many, parts = both(path, monkeypatch, 1 << 12, threads)
    assert parts == threads
    assert_same(one, many)


def test_a_cut_inside_a_text_is_noticed(tmp_path, monkeypatch):
    bait = '"}, {\\"ph\\": \\"X\\"}, {"'
    event = '{"ph": "X", "cat": "cpu_op", "name": %s, "pid": 1, "tid": 1, "ts": %d.5, "dur": 1, "args": {"a": [%s]}}'
    nested = ", ".join('{"ph": "X", "name": "inner"}' for _ in range(20))
    text = '{"traceEvents": [' + ", ".join(event % (bait, at, nested) for at in range(400)) + "]}"
    path = tmp_path / "bait.json"
    path.write_text(text)
    one, many, parts = both(path, monkeypatch, 1 << 13, 4)
    assert parts > 1
    assert one.events == 400
    assert_same(one, many)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    at=st.integers(0, len(TEXT) - 1),
    damage=st.sampled_from([b"", b"{", b"}", b'"', b",", b"]", b"\x00", b'{"ph": "X"}, {', b"\\", b"]}"]),
    drop=st.integers(0, 3000),
)
def test_damage_anywhere_is_read_past_alike(at, damage, drop, tmp_path, monkeypatch):
    path = tmp_path / "damaged.json"
    path.write_bytes(TEXT[:at] + damage + TEXT[at + drop :])
    one = outcome(path)
    with monkeypatch.context() as patch:
        patch.setattr(scan, "_PART", 1 << 12)
        patch.setattr(scan, "_processors", lambda: 4)
        many = outcome(path)
    if isinstance(one, str):
        assert many == one
    else:
        assert_same(one, many)


def outcome(path):
    """The columns, or the sentence that says why there are none."""
    try:
        return read_raw(path, reader="scan")
    except TraceFormatError as error:
        return str(error)


@pytest.mark.parametrize(
    "entry", ["[" + "1, " * 40_000 + "1]", '{"ph": "X", "name": "a", ' + " " * 120_000 + '"ts": }']
)
def test_what_is_mended_may_reach_over_a_cut(entry, tmp_path, monkeypatch):
    event = '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": %d.5, "dur": 1}'
    events = [event % at for at in range(2000)]
    path = tmp_path / "long.json"
    path.write_text('{"traceEvents": [' + ", ".join([*events[:900], entry, *events[900:]]) + "]}")
    monkeypatch.setattr("foretrace.trace.document._SLICE", 1 << 14)
    one, many, parts = both(path, monkeypatch, 1 << 15, 4)
    assert parts > 1
    assert len(one.rows.ts) == 2000
    assert_same(one, many)
