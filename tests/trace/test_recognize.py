"""Files that are no PyTorch profiler trace, named by what they are."""

import json
import pickle
import sqlite3

import pytest

import foretrace
from foretrace.errors import TraceFormatError
from foretrace.trace.load import load_trace
from readers import READERS, listed, read_text, x


def refusal(path) -> str:
    with pytest.raises(TraceFormatError) as error:
        load_trace(path)
    message = str(error.value)
    assert message.startswith(str(path))
    assert message.endswith(".")
    assert "\n" not in message
    return message


EXECUTION_TRACE = {
    "schema": "1.0.1",
    "pid": 1,
    "time": "2024-01-01 00:00:00",
    "start_ts": 1,
    "nodes": [
        {"id": 1, "name": "[pytorch|profiler|execution_graph|thread]", "ctrl_deps": 1, "inputs": {}, "attrs": []}
    ],
    "finish_ts": 2,
}


@pytest.mark.case("F13")
@pytest.mark.parametrize("reader", READERS)
def test_an_execution_trace(tmp_path, reader):
    for document in (
        EXECUTION_TRACE,
        {"schema": "1.0", "nodes": []},
        {"nodes": [{"id": 1}], "schema": "1.1.1-chakra.0.0.4"},
    ):
        with pytest.raises(TraceFormatError, match="this is an execution trace"):
            read_text(tmp_path, json.dumps(document), reader)


@pytest.mark.case("F13")
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("cut", [60, 150, 200])
def test_a_broken_execution_trace(tmp_path, reader, cut):
    text = json.dumps(EXECUTION_TRACE)
    with pytest.raises(TraceFormatError) as error:
        read_text(tmp_path, text[:cut], reader)
    assert cut < text.index('"nodes"') or "this is an execution trace" in str(error.value)


@pytest.mark.case("F13")
@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"segments": [], "device_traces": [[]], "allocator_settings": {}}, "a CUDA memory snapshot"),
        ({"schema": 1, "foretrace": "0.1.0", "trace": {}}, "a result that foretrace wrote"),
        ({"$schema": "https://www.speedscope.app/x.json", "profiles": [], "shared": {}}, "a speedscope profile"),
        ({"cells": [], "nbformat": 4, "metadata": {}}, "a Jupyter notebook"),
        ({"meta": {}, "threads": [], "libs": []}, "a Firefox Profiler recording"),
        ({"ph": "X", "name": "a", "ts": 1}, "one event a line"),
        ({"some": 1, "thing": 2}, "its top-level keys are some, thing"),
    ],
)
def test_other_json(tmp_path, document, says):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document))
    assert says in refusal(path)


def database(path):
    with sqlite3.connect(path) as connection:
        connection.execute("create table CUPTI_ACTIVITY_KIND_KERNEL (start integer)")
    connection.close()
    return path.read_bytes()


@pytest.mark.case("F13")
@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.sqlite", database, "Nsight Systems"),
        ("t.nsys-rep", b"\x12\x34\x56\x00\x78", "an Nsight Systems report"),
        ("t.ncu-rep", b"NVR\0\x01\x02", "an Nsight Compute report"),
        ("t.pickle", pickle.dumps({"segments": [], "device_traces": []}), "a Python pickle"),
        ("t.pt", pickle.dumps([1, 2], protocol=2), "a Python pickle"),
        ("t.pftrace", b"\n\x05\x08\x01\x50\x01\x00\n\x04\x50\x01\x08\x02\n\x02\x50\x01", "a Perfetto trace in its"),
        ("t.xplane.pb", b"\n\x19\x08\x01\x12\x09/host:CPU\x1a\x00", "an XPlane profile"),
        ("t.json", b"<!DOCTYPE html>\n<html><body>trace.json</body></html>", "a web page"),
        ("t.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 5\n", "a Git LFS pointer"),
        ("t.txt", b"-------  ------------  \n Name    Self CPU %   # of Calls\n", "a table that the profiler printed"),
        ("t.txt", b"train.py(3): f;torch/nn.py(2): g;aten::mm 125\nx;y 3\n", "collapsed stacks"),
        ("t.so", b"\x7fELF\x02\x01", "a program or library"),
        ("t.json", b"Traceback (most recent call last):\n", "text that is no JSON"),
        ("t.bin", bytes(range(128, 256)), "no JSON"),
    ],
)  # fmt: skip
def test_other_files(tmp_path, name, content, says):
    path = tmp_path / name
    path.write_bytes(content(tmp_path / "made.db") if callable(content) else content)
    assert says in refusal(path)


def test_what_a_file_shows_of_itself_is_harmless(tmp_path):
    path = tmp_path / "t.json"
    path.write_bytes(b"\x1b[31m\x07" + bytes(range(256)))
    assert "\x1b" not in refusal(path)
    path.write_text(json.dumps({"\x1b[2J": 1, "a\nb": 2}))
    assert "\x1b" not in refusal(path)


def begin(name, **more):
    return {"ph": "B", "name": name, "pid": 1, "tid": 1, "ts": 1, **more}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (json.dumps([begin("a"), {**begin("a"), "ph": "E"}]), "1 begin, 1 end"),
        (listed(x("f", "FEE"), viztracer_metadata={"version": "0.16"}), "a VizTracer recording"),
        (listed(x("a", "thing")), "a Chrome trace of another program"),
        (listed({"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "/device:GPU:0"}}, x("a", None)), "JAX"),
        (listed(x("ExecuteCompiler", None)), "a clang -ftime-trace"),
        (json.dumps([{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": "AIU 0"}}]), "another program"),
    ],
)
def test_traces_of_other_programs(tmp_path, text, says):
    path = tmp_path / "t.json"
    path.write_text(text)
    message = refusal(path)
    assert says in message
    assert "no PyTorch profiler trace" in message


@pytest.mark.case("M06")
@pytest.mark.parametrize(
    "text",
    [
        '{"traceEvents": []}',
        listed({"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "python"}}),
        listed({"ph": "i", "name": "Iteration Start: PyTorch Profiler", "s": "g", "pid": "Traces"}, schemaVersion=1),
        listed({"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "p"}}, traceName="t"),
    ],
)
def test_an_empty_trace_of_pytorch_is_one(tmp_path, text):
    path = tmp_path / "t.json"
    path.write_text(text)
    assert foretrace.read(path) is not None
