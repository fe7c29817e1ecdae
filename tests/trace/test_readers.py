"""The columns of a trace, by both readers: one list of tests for the C scanner and for msgspec."""

import gzip
import json
import time
from pathlib import Path

import numpy as np
import pytest

from build import SHARED
from foretrace.errors import TraceFormatError, UsageError
from foretrace.trace.kineto import Category
from foretrace.trace.raw import MISSING, MISSING32, MISSING_FLOAT
from foretrace.trace.read import read_args, read_raw
from readers import READERS, TABLES, codes, listed, names, read_text, row, table, x

OWN = sorted((Path(__file__).parents[1] / "recordings" / "h200").glob("*.json.gz"))

pytestmark = pytest.mark.parametrize("reader", READERS)


# ---- what a row holds ----


def test_a_row_holds_what_its_event_says(tmp_path, reader):
    text = listed({"ph": "M"}, x("aten::mm", ts=12.5, dur=0.75, **{"External id": 7, "correlation": 9}))
    found = read_text(tmp_path, text, reader)
    args = text.index('{"External id"')
    assert row(found) == {
        "index": 1,
        "category": Category.CPU_OP,
        "name": 0,
        "thread": 0,
        "ts": 12_500,
        "dur": 750,
        "correlation": 9,
        "external_id": 7,
        "args_start": args,
        "args_length": text.index("}", args) + 1 - args,
    }
    assert found.strings == ["aten::mm"]
    assert found.threads == [("1", "1")]
    assert found.events == 2
    assert found.phases == {"M": 1, "X": 1}
    assert found.fractions
    assert not found.text_times
    assert found.repairs == []


def test_what_a_file_does_not_give_is_missing(tmp_path, reader):
    found = read_text(tmp_path, '{"traceEvents": [{"ph": "X"}, {"ph": "X", "cat": "kernel"}]}', reader)
    assert row(found) == {
        "index": 0,
        "category": Category.OTHER,
        "name": 0,
        "thread": 0,
        "ts": MISSING,
        "dur": MISSING,
        "correlation": MISSING,
        "external_id": MISSING,
        "args_start": MISSING,
        "args_length": 0,
    }
    assert found.strings == [""]
    assert found.threads == [("", "")]
    (activity,) = table(found.activities)
    assert activity.pop("row") == 1
    assert set(activity.values()) == {MISSING, MISSING32, MISSING_FLOAT}


def test_a_kernel_has_what_only_kernels_have(tmp_path, reader):
    args = {
        "device": 1, "stream": 7, "context": 1, "registers per thread": 40, "shared memory": 49152,
        "grid": [3, 2, 1], "block": [128, 1, 1], "bytes": 4096, "est. achieved occupancy %": 50,
        "blocks per SM": 0.303, "warps per SM": 9.7, "graph node id": 5, "correlation": 3,
    }  # fmt: skip
    found = read_text(tmp_path, listed(x("gemm", "kernel", **args)), reader)
    assert table(found.activities) == [
        {
            "row": 0, "device": 1, "stream": 7, "context": 1, "registers": 40, "shared_memory": 49152,
            "grid_x": 3, "grid_y": 2, "grid_z": 1, "block_x": 128, "block_y": 1, "block_z": 1, "bytes": 4096,
            "occupancy_pct": 50, "blocks_per_sm": 0.303, "warps_per_sm": 9.7, "graph_node": 5,
        }
    ]  # fmt: skip


def test_an_ops_lists_are_kept_as_they_are_written(tmp_path, reader):
    event = (
        '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "args": {"Input Dims": [[2,  3], []], '
        '"Input type": ["float", ""], "Input Strides": [[3, 1], []], "Concrete Inputs": ["", "True"], '
        '"Sequence number": 12, "Fwd thread id": 1}}'
    )
    found = read_text(tmp_path, listed(event, event), reader)
    kept = {"sequence": 12, "forward_thread": 1, "dims": 0, "types": 1, "strides": 2, "concrete": 3}
    assert table(found.ops) == [{"row": 0, **kept}, {"row": 1, **kept}]
    assert found.strings == ["[[2,  3], []]", '["float", ""]', "[[3, 1], []]", '["", "True"]', "aten::mm"]


def test_older_spellings_mean_the_same(tmp_path, reader):
    found = read_text(
        tmp_path,
        listed(
            x("aten::mm", "Operator", **{"Input dims": [[2]], "external id": 4}),
            x("gemm", "Kernel", **{"external id": 4, "External id": None}),
            x("cudaLaunchKernel", "Runtime", **{"external id": 5}),
        ),
        reader,
    )
    assert found.rows.category.tolist() == [Category.CPU_OP, Category.KERNEL, Category.RUNTIME]
    assert found.rows.external_id.tolist() == [4, 4, 5]
    assert found.strings[found.ops.dims[0]] == "[[2]]"


def test_forward_backward_flows(tmp_path, reader):
    start = {"ph": "s", "cat": "fwdbwd", "id": 3, "pid": 1, "tid": 2, "ts": 10, "name": "fwdbwd"}
    finish = {"ph": "f", "cat": "fwdbwd", "id": "3", "pid": 1, "tid": 3, "ts": 20.5, "bp": "e"}
    other = {"ph": "s", "cat": "ac2g", "id": 9, "pid": 1, "tid": 9, "ts": 1}
    found = read_text(tmp_path, listed(start, other, finish), reader)
    assert table(found.flows) == [
        {"id": 3, "thread": 0, "ts": 10_000, "start": 1},
        {"id": 3, "thread": 1, "ts": 20_500, "start": 0},
    ]
    assert found.threads == [("1", "2"), ("1", "3")]


@pytest.mark.parametrize("phase", ["i", "I"])
def test_memory_records_with_and_without_a_category(tmp_path, reader, phase):
    args = {
        "Addr": 139837, "Bytes": -512, "Total Allocated": 0, "Total Reserved": 2097152, "Device Type": 1,
        "Device Id": 0,
    }  # fmt: skip
    event = {"ph": phase, "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 4, "args": args}
    old = {key: value for key, value in event.items() if key != "cat"}
    found = read_text(tmp_path, listed(event, old, {"ph": phase, "name": "Record Window End"}), reader)
    record = {
        "ts": 4_000, "thread": 0, "address": 139837, "bytes": -512, "total_allocated": 0, "total_reserved": 2097152,
        "device_type": 1, "device": 0,
    }  # fmt: skip
    assert table(found.memory) == [record, record]


def test_metadata_names_processes_and_threads(tmp_path, reader):
    found = read_text(
        tmp_path,
        listed(
            {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}},
            {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "GPU 0"}},
            {"ph": "M", "name": "thread_name", "pid": "Spans", "tid": "py", "args": {"name": "thread 1"}},
            {"ph": "M", "name": "thread_sort_index", "pid": 0, "tid": 0, "args": {"sort_index": 3}},
            {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "last"}},
        ),
        reader,
    )
    assert found.labels == {
        ("process_name", "0", "0"): "last",
        ("process_labels", "0", "0"): "GPU 0",
        ("thread_name", "Spans", "py"): "thread 1",
    }


def test_threads_and_strings_are_numbered_by_first_appearance(tmp_path, reader):
    events = [x("b"), {**x("a"), "tid": "2"}, {**x("b"), "tid": 2}, {**x("c"), "pid": "p", "tid": -1}]
    found = read_text(tmp_path, listed(*events), reader)
    assert found.strings == ["b", "a", "c"]
    assert found.rows.name.tolist() == [0, 1, 0, 2]
    assert found.threads == [("1", "1"), ("1", "2"), ("p", "-1")]
    assert found.rows.thread.tolist() == [0, 1, 1, 2]


# ---- values that come in several ways ----


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("7", 7),
        ("-7", -7),
        ("-0", 0),
        ('"7"', 7),
        ('" +7 "', 7),
        ('"\\u0037"', 7),
        ("7.0", 7),
        ("7.9", 7),
        ("-7.9", -7),
        ("7e2", 700),
        ("0.7e1", 7),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775807", -(2**63 - 1)),
        ("9223372036854775808", MISSING),
        ("-9223372036854775808", MISSING),
        ("9223372036854775807.0", MISSING),
        ("9223372036854774784.0", 9223372036854774784),
        ("1" * 400, MISSING),
        ("1e999", MISSING),
        ("1e-999", 0),
        ('"9223372036854775808"', MISSING),
        ('"' + "0" * 5000 + '7"', 7),
        ('"7.0"', MISSING),
        ('"0x7"', MISSING),
        ('"7_0"', MISSING),
        ('"\\u0667"', MISSING),
        ('""', MISSING),
        ("true", MISSING),
        ("null", MISSING),
        ("[7]", MISSING),
        ('{"a": 7}', MISSING),
    ],
)
def test_ids_may_be_numbers_or_text(tmp_path, reader, written, value):
    event = '{"ph": "X", "cat": "kernel", "args": {"correlation": ' + written + "}}"
    assert read_text(tmp_path, listed(event), reader).rows.correlation.tolist() == [value]


@pytest.mark.parametrize(
    ("written", "value"),
    [("40", 40), ("2147483647", 2**31 - 1), ("2147483648", MISSING32), ("-2147483648", MISSING32), ("40.5", 40)],
)
def test_small_columns_hold_small_numbers(tmp_path, reader, written, value):
    event = '{"ph": "X", "cat": "kernel", "args": {"registers per thread": ' + written + "}}"
    assert read_text(tmp_path, listed(event), reader).activities.registers.tolist() == [value]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0.1", 0.1),
        ("-0", 0.0),
        ("-0.0", 0.0),
        ("3", 3.0),
        ("65.0234375", 65.0234375),
        ("0.30000000000000004", 0.30000000000000004),
        ("123456789012345678", 123456789012345678.0),
        ("1.7976931348623157e308", 1.7976931348623157e308),
        ("2.2250738585072011e-308", 2.2250738585072011e-308),
        ("1e999", MISSING_FLOAT),
        ("1" * 400, MISSING_FLOAT),
        ('"0.5"', MISSING_FLOAT),
        ("true", MISSING_FLOAT),
    ],
)
def test_reals_are_rounded_correctly(tmp_path, reader, written, value):
    event = '{"ph": "X", "cat": "kernel", "args": {"blocks per SM": ' + written + "}}"
    (found,) = read_text(tmp_path, listed(event), reader).activities.blocks_per_sm
    assert found.tobytes() == np.float64(value).tobytes()


@pytest.mark.parametrize(
    ("written", "grid"),
    [
        ("[3, 2, 1]", [3, 2, 1]),
        ('"[3, 2, 1]"', [3, 2, 1]),
        ('"[3,2,1]"', [3, 2, 1]),
        ('[3, "2", 1.5]', [3, 2, 1]),
        ("[3, null, 1]", [3, MISSING, 1]),
        ("[3, 2]", [MISSING] * 3),
        ("[3, 2, 1, 0]", [MISSING] * 3),
        ("[[3], 2, 1]", [MISSING] * 3),
        ('"[3, 2]"', [MISSING] * 3),
        ('"3, 2, 1"', [MISSING] * 3),
        ('"[3, 2, 1] "', [3, 2, 1]),
        ('"[3, 2, x]"', [MISSING] * 3),
        ("3", [MISSING] * 3),
        ("[]", [MISSING] * 3),
    ],
)
def test_grids_are_lists_or_their_text(tmp_path, reader, written, grid):
    event = '{"ph": "X", "cat": "kernel", "args": {"grid": ' + written + "}}"
    found = read_text(tmp_path, listed(event), reader).activities
    assert [found.grid_x[0], found.grid_y[0], found.grid_z[0]] == grid


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("5", "5"), ('"5"', "5"), ("-0", "0"), ("5.0", "5"), ("5.7", "5"), ("1e400", ""), ("true", "1"), ("null", ""),
        ("[5]", ""), ('"CPU functions"', "CPU functions"), ("123456789012345678901234567890", "1234567890" * 3),
    ],
)  # fmt: skip
def test_thread_ids_are_text(tmp_path, reader, written, text):
    event = '{"ph": "X", "pid": ' + written + ', "tid": 1, "name": "a", "cat": "cpu_op"}'
    assert read_text(tmp_path, listed(event, event), reader).threads == [(text, "1")]


# ---- times ----


@pytest.mark.case("F14")
@pytest.mark.parametrize(
    ("written", "ns"),
    [
        ('"1704161511420306.491"', 1704161511420306491),
        ('"1704161511420306.492"', 1704161511420306492),
        ("1704161511420306.491", 1704161511420306491),
        ('" 12.5 "', 12500),
        ("0", 0),
        ("12", 12_000),
        ("-0.5", -500),
        ("0.0005", 1),
        ("0.00049999999999999999999", 0),
        ("0.0015", 2),
        ("12.3456", 12346),
        ("1.5e3", 1_500_000),
        ("15E-1", 1500),
        ("1e-400", 0),
        ("1e400", 2**63 - 1),
        ("9223372036854775.807", 2**63 - 1),
        ("9223372036854775.8074", 2**63 - 1),
        ("9223372036854775.8075", 2**63 - 1),
        ("9223372036854775.808", 2**63 - 1),
        ("-9223372036854775.807", -(2**63 - 1)),
        ("-9223372036854775.9", -(2**63 - 1)),
        ("99999999999999999999999999", 2**63 - 1),
        ("0." + "0" * 3000 + "1", 0),
        ("1" + "0" * 3000 + "e-3000", 1000),
        ('"12 us"', MISSING),
        ('""', MISSING),
        ('"."', MISSING),
        ('"1e"', MISSING),
        ("null", MISSING),
        ("true", MISSING),
        ("[1]", MISSING),
    ],
)
def test_times_are_exact_nanoseconds(tmp_path, reader, written, ns):
    event = '{"ph": "X", "cat": "cpu_op", "name": "a", "ts": ' + written + ', "dur": 1}'
    found = read_text(tmp_path, listed(event, x()), reader)
    assert found.rows.ts.tolist() == [ns, 1000]
    assert found.text_times == written.startswith('"')


def test_whole_microseconds_have_no_fractions(tmp_path, reader):
    assert not read_text(tmp_path, listed(x(ts=1, dur=2)), reader).fractions
    assert read_text(tmp_path, listed(x(ts=1, dur=2), x(dur=2.5)), reader).fractions


# ---- the shape of events ----


def test_keys_come_in_any_order(tmp_path, reader):
    event = (
        '{"args": {"correlation": 3, "grid": [1, 2, 3]}, "dur": 2, "ts": 1, "tid": 1, "name": "gemm", "pid": 1,'
        ' "cat": "kernel", "ph": "X"}'
    )
    found = read_text(tmp_path, listed(event), reader)
    assert (found.rows.category[0], found.rows.correlation[0], found.activities.grid_z[0]) == (Category.KERNEL, 3, 3)


def test_the_last_of_two_equal_keys_holds(tmp_path, reader):
    event = (
        '{"ph": "B", "name": "a", "args": {"correlation": 1, "External id": 5}, "name": "b", "ph": "X",'
        ' "args": {"correlation": 2, "correlation": 3}, "cat": "cpu_op", "cat": "kernel"}'
    )
    found = read_text(tmp_path, listed(event), reader)
    assert names(found) == ["b"]
    assert found.phases == {"X": 1}
    assert found.rows.category.tolist() == [Category.KERNEL]
    assert found.rows.correlation.tolist() == [3]
    assert found.rows.external_id.tolist() == [MISSING]
    assert found.rows.args_length.tolist() == [len('{"correlation": 2, "correlation": 3}')]


def test_keys_and_values_may_be_escaped(tmp_path, reader):
    event = (
        r'{"p\u0068": "\u0058", "c\u0061t": "kern\u0065l", "name": "a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\u0000",'
        r' "\u0061rgs": {"corr\u0065lation": 7}}'
    )
    found = read_text(tmp_path, listed(event), reader)
    assert names(found) == ['a"\\/\b\f\n\r\t\u00e9\U0001f600\0']
    assert found.rows.category.tolist() == [Category.KERNEL]
    assert found.rows.correlation.tolist() == [7]
    assert found.repairs == []


def test_what_nobody_asked_for_is_stepped_over(tmp_path, reader):
    extra = {"args": {"args": {"correlation": 1}, "name": "args"}, "list": [{"ph": "X"}, [], {}, [[{}]]], "ph ": "Q"}
    event = {**x("a", correlation=7), "extra": extra}
    event["args"]["nested"] = extra
    found = read_text(tmp_path, listed(event, x("b")), reader)
    assert names(found) == ["a", "b"]
    assert found.rows.correlation.tolist() == [7, MISSING]
    assert found.events == 2


def test_what_is_no_text_where_text_belongs_is_none(tmp_path, reader):
    event = '{"ph": "X", "name": 5, "cat": 7, "pid": 1, "tid": 1, "args": [1]}'
    found = read_text(tmp_path, listed(event, '{"ph": 5}', "{}"), reader)
    assert names(found) == [""]
    assert found.rows.category.tolist() == [Category.OTHER]
    assert found.phases == {"X": 1, "": 2}


def test_text_in_any_alphabet(tmp_path, reader):
    given = ["matmul_\u00e9", "\u6ce8\u610f\u529b", "\U0001f9e0" * 50, "a" * 15 + "\u00fc", "\ud7ff\ue000"]
    found = read_text(tmp_path, listed(*(x(name) for name in given)).encode(), reader)
    raw = read_text(tmp_path, json.dumps([x(name) for name in given], ensure_ascii=False).encode(), reader)
    assert names(found) == names(raw) == given
    assert found.repairs == raw.repairs == []


@pytest.mark.parametrize("depth", [63, 64, 65, 1000, 100_000])
def test_deep_nesting_is_stepped_over(tmp_path, reader, depth):
    event = '{"ph": "X", "cat": "cpu_op", "name": "a", "args": {"deep": ' + "[" * depth + "]" * depth + "}}"
    objects = '{"ph": "X", "cat": "cpu_op", "name": "b", "deep": ' + '{"a":' * depth + "1" + "}" * depth + "}"
    found = read_text(tmp_path, listed(event, objects, x("c")), reader)
    assert names(found) == ["a", "b", "c"]
    assert found.repairs == []


@pytest.mark.parametrize(("depth", "kept"), [(63, True), (64, True), (65, False), (5000, False)])
def test_a_kept_list_is_kept_only_while_it_nests_reasonably(tmp_path, reader, depth, kept):
    written = "[" * depth + "]" * depth
    event = '{"ph": "X", "cat": "cpu_op", "args": {"Input Dims": ' + written + "}}"
    found = read_text(tmp_path, listed(event), reader)
    assert found.strings[found.ops.dims[0]] == (written if kept else "null")


def test_white_space_of_all_kinds(tmp_path, reader):
    text = '\t{ "traceEvents"\r\n:\t[\n\n{ "ph"\t:"X" ,\r\n"name" : "a","args":{ } }\n\t, {"ph":"X","name":"b"}]\n}\r\n'
    found = read_text(tmp_path, text, reader)
    assert names(found) == ["a", "b"]
    assert found.repairs == []


# ---- the document ----


@pytest.mark.case("F08")
def test_metadata_before_and_after_the_list_may_hold_any_text(tmp_path, reader):
    before = {"schemaVersion": 1, "note": '"traceEvents": [{"ph": "X"}]', "devices": [{"id": 0}, {"ph": "X"}]}
    after = {"traceName": "fit-[Strategy]x.json", "tail": ']}, {"ph": "X", "name": "no"}', "n": 1.5, "last": None}
    text = listed(x("a"), x("b"), **before)[:-1] + ", " + json.dumps(after)[1:]
    found = read_text(tmp_path, text, reader)
    assert names(found) == ["a", "b"]
    assert found.header == before | after
    assert found.repairs == []
    assert not found.is_list


@pytest.mark.case("F09")
def test_the_bare_list_of_old_exporters(tmp_path, reader):
    events = [
        {"name": name, "ph": "X", "ts": at, "dur": 5, "tid": 1, "pid": "CPU functions", "args": {}}
        for at, name in enumerate("abcde")
    ]
    found = read_text(tmp_path, json.dumps(events), reader)
    assert found.is_list
    assert found.header == {}
    assert set(found.rows.category.tolist()) == {Category.CPU_OP}
    assert found.threads == [("CPU functions", "1")]
    assert len(found.ops.row) == 5


def test_a_byte_order_mark_is_no_content(tmp_path, reader):
    found = read_text(tmp_path, b"\xef\xbb\xbf" + listed(x("a")).encode(), reader)
    assert names(found) == ["a"]
    assert found.rows.args_start.tolist() == [3 + listed(x("a")).index("{}")]


@pytest.mark.parametrize("text", ['{"traceEvents": []}', "[]", '{"traceEvents": [ ], "schemaVersion": 1}'])
def test_a_trace_without_events_is_one(tmp_path, reader, text):
    found = read_text(tmp_path, text, reader)
    assert found.events == 0
    assert found.repairs == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"", "an empty file"),
        (b" \n ", "an empty file"),
        (b"hello", "text that is no JSON"),
        (b"{}", "without a list of events"),
        (b'{"a": 1, "b": [2]}', "its top-level keys are a, b"),
        (b'{"traceEvents": null}', "traceEvents is no list (byte 16)"),
        (b'{"traceEvents": {"ph": "X"}}', "traceEvents is no list"),
        (b'{"a": ', "at byte 1"),
        (b"\x00\x01\x02", "no JSON"),
    ],
)
def test_what_is_no_trace_is_refused(tmp_path, reader, text, says):
    with pytest.raises(TraceFormatError) as error:
        read_text(tmp_path, text, reader)
    assert says in str(error.value)
    assert "trace.json" in str(error.value)
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


def test_a_file_that_is_not_there(tmp_path, reader):
    with pytest.raises(TraceFormatError, match=r"gone\.json: No such file or directory\.$"):
        read_raw(tmp_path / "gone.json", reader=reader)


# ---- both alike ----


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_recordings_read_alike_in_any_pieces(path, reader, monkeypatch):
    expected = read_raw(path, reader="msgspec")
    monkeypatch.setattr("foretrace.trace.source._PIECE", 1000)
    monkeypatch.setattr("foretrace.trace.inflate._OUT", 777)
    found = read_raw(path, reader=reader)
    check_equal(found, expected)
    assert found.repairs == []


@pytest.mark.parametrize("path", sorted((SHARED / "traces/real").glob("[ERS]*.json*"))[::6] or [None], ids=str)
def test_recordings_of_others_read_alike(path, reader):
    if path is None:
        pytest.skip(f"{SHARED} is not on this machine")
    check_equal(read_raw(path, reader=reader), read_raw(path, reader="msgspec"))


def check_equal(found, expected):
    for name in TABLES:
        for column in type(getattr(found, name)).__annotations__:
            left, right = (getattr(getattr(raw, name), column) for raw in (found, expected))
            assert left.dtype == right.dtype
            assert np.array_equal(left, right), (name, column)
    for name in ("strings", "threads", "labels", "phases", "events", "header", "fractions", "text_times", "is_list"):
        assert getattr(found, name) == getattr(expected, name), name


def test_rows_agree_with_the_json_module(reader):
    path = next(path for path in OWN if path.name == "t_naive_fwdbwd.json.gz")
    document = json.loads(gzip.decompress(path.read_bytes()))
    found = read_raw(path, reader=reader)
    events = [event for event in document["traceEvents"] if event["ph"] == "X"]
    assert names(found) == [event["name"] for event in events]
    assert found.rows.ts.tolist() == [round(event["ts"] * 1000) for event in events]
    correlations = [event.get("args", {}).get("correlation", MISSING) for event in events]
    assert found.rows.correlation.tolist() == correlations
    spans = list(zip(found.rows.args_start.tolist(), found.rows.args_length.tolist(), strict=True))
    assert read_args(path, spans) == [event.get("args", {}) for event in events]


# ---- args on demand ----


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_args_are_read_where_they_lie(tmp_path, reader, name):
    events = [x("a", one=1), {"ph": "X", "name": "b"}, x("c", text='caf\u00e9 \\ "q"', list=[1, [2]])]
    text = listed(*events).encode()
    found = read_text(tmp_path, gzip.compress(text) if name.endswith("gz") else text, reader, name)
    spans = list(zip(found.rows.args_start.tolist(), found.rows.args_length.tolist(), strict=True))
    assert read_args(tmp_path / name, spans) == [event.get("args", {}) for event in events]
    assert read_args(tmp_path / name, spans[::-1]) == [event.get("args", {}) for event in events][::-1]


def test_args_of_a_file_that_changed(tmp_path, reader):
    found = read_text(tmp_path, listed(x("a", one=1)), reader)
    (tmp_path / "trace.json").write_text(listed(x("longer name", two=2)))
    with pytest.raises(TraceFormatError, match="has changed since it was read"):
        read_args(tmp_path / "trace.json", [(int(found.rows.args_start[0]) - 9, int(found.rows.args_length[0]))])


def test_args_of_a_damaged_event(tmp_path, reader):
    event = r'{"ph": "X", "name": "a", "args": {"file": "C:\Users\me", "n": nan, "l": [1,]}}'
    found = read_text(tmp_path, listed(event), reader)
    (args,) = read_args(tmp_path / "trace.json", [(int(found.rows.args_start[0]), int(found.rows.args_length[0]))])
    assert args == {"file": "C:\\Users\\me", "n": None, "l": [1]}


# ---- time ----


@pytest.mark.case("F26")
def test_ten_times_the_events_take_about_ten_times_as_long(tmp_path, reader):
    def seconds(count):
        text = listed(*(x(f"op{at % 50}", ts=at, dur=1, correlation=at) for at in range(count)))
        (tmp_path / "many.json").write_text(text)
        times = []
        for _ in range(3):
            started = time.process_time()
            read_raw(tmp_path / "many.json", reader=reader)
            times.append(time.process_time() - started)
        return min(times)

    few, many = seconds(5_000), seconds(50_000)
    assert many < 25 * few + 0.1


def test_names_made_to_collide_cost_no_more(tmp_path, reader):
    texts = [f"{at:05d}" + "x" * 11 + f"{at * 7919:08d}" for at in range(20_000)]
    started = time.process_time()
    found = read_text(tmp_path, listed(*(x(text) for text in texts)), reader)
    assert found.strings == texts
    assert time.process_time() - started < 5


def test_progress_is_told(tmp_path, reader):
    told = []
    text = listed(*(x(f"op{at}") for at in range(100)))
    read_text(tmp_path, text, reader, progress=told.append)
    assert told
    assert told[-1] <= len(text)


def test_an_unknown_reader(tmp_path, reader):
    del reader
    with pytest.raises(UsageError, match="no reader is called fast"):
        read_text(tmp_path, "[]", "fast")


def test_damage_is_not_noted_where_there_is_none(tmp_path, reader):
    assert codes(read_text(tmp_path, listed(x("a"), x('b\\n"')), reader)) == {}
