"""Damaged recordings through both readers: they agree, are quick, and raise nothing but errors of ours.

`make fuzz` reads 20,000 of them; here it is a slice.
"""

import gzip
import json
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readers import HAS_SCANNER

sys.path.insert(0, str(Path(__file__).parents[2] / "fuzz"))

from compare_readers import RECORDINGS, SECONDS, differences, reading
from mutations import mutated, samples

pytestmark = pytest.mark.skipif(not HAS_SCANNER, reason="the scanner was not built")

DOCUMENTS = samples(RECORDINGS)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_damaged_recordings_read_alike(tmp_path_factory, rng):
    path = tmp_path_factory.getbasetemp() / "damaged.json"
    path.write_bytes(mutated(rng, DOCUMENTS))
    started = time.monotonic()
    assert differences(reading(path, "scan"), reading(path, "msgspec")) == []
    assert time.monotonic() - started < 2 * SECONDS


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False), st.integers(1, 400))
def test_pieces_of_any_size_make_no_difference(tmp_path_factory, rng, size):
    plain, packed = (tmp_path_factory.getbasetemp() / name for name in ("pieces.json", "pieces.json.gz"))
    text = mutated(rng, DOCUMENTS)[:20_000]
    plain.write_bytes(text)
    packed.write_bytes(stored(text))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("foretrace.trace.inflate._OUT", size)
        patched.setattr("foretrace.trace.source._PIECE", size)
        for reader in ("scan", "msgspec"):
            one, other = reading(plain, reader), reading(packed, reader)
            if isinstance(one, str):
                assert one.replace(plain.name, "") == str(other).replace(packed.name, "")
            else:
                assert differences(one, other) == []


def stored(text: bytes) -> bytes:
    """A gzip of the text that does not compress it."""
    return gzip.compress(text, 0)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_at_all(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "bytes.json"
    for text in (data, b"[" + data, b'{"traceEvents": [' + data, b'{"traceEvents": [{"ph": "X", ' + data):
        path.write_bytes(text)
        assert differences(reading(path, "scan"), reading(path, "msgspec")) == []


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["X", "M"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["ph", "cat", "name", "pid", "tid", "ts", "dur", "args", "grid", "Input Dims", "correlation"]
            )
            | st.text(max_size=4),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(JSON, max_size=4), st.booleans(), st.sampled_from([None, 1]))
def test_any_json_at_all(tmp_path_factory, events, ascii_only, indent):
    path = tmp_path_factory.getbasetemp() / "any.json"
    text = json.dumps(events, ensure_ascii=ascii_only, indent=indent)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert differences(reading(path, "scan"), reading(path, "msgspec")) == []


KEYS = ["External id", "external id", "correlation", "Sequence number", "Fwd thread id", "Input Dims", "Input dims"]
KEYS += ["Input type", "Concrete Inputs", "device", "stream", "registers per thread", "shared memory", "grid", "block"]
KEYS += ["bytes", "est. achieved occupancy %", "blocks per SM", "warps per SM", "Addr", "Total Allocated", "Device Id"]
# Mostly what a column usually holds, so that a column holds a few others among them.
VALUES = (
    st.integers(0, 9) | st.just([1, 2, 3]) | st.sampled_from([-0.0, 2.5, -(2**31), 2**31, 2**63, -(2**63), 10**400])
)
VALUES |= st.sampled_from([None, True, "7", " 8 ", "x", "[1, 2, 3]", [1, None, "4"], [1, [2], 3], [], {"args": {}}])
TIMES = st.sampled_from(["1", "2.500", "3.25", '"4.5"', "-5", "6e1", "7.12345", "null", "[8, 9]", '"1,2"', "9" * 20])


@st.composite
def event_texts(draw):
    members = {
        "ph": json.dumps(draw(st.sampled_from(["X", "X", "X", "s", "f", "i", "M", None]))),
        "cat": json.dumps(draw(st.sampled_from(["cpu_op", "kernel", "cuda_runtime", "fwdbwd", None, 1]))),
        "name": json.dumps(draw(st.sampled_from(["aten::mm", "[memory]", "process_name", "é", None, 3]))),
        "pid": json.dumps(draw(st.sampled_from([0, 1, 1.0, True, "1", "CPU functions", [1]]))),
        "ts": draw(TIMES),
        "dur": draw(TIMES),
        "id": json.dumps(draw(VALUES)),
        "args": json.dumps(draw(st.dictionaries(st.sampled_from(KEYS), VALUES) | VALUES), allow_nan=False),
    }
    for name in draw(st.sets(st.sampled_from(list(members)), max_size=2)):
        del members[name]
    return "{" + ", ".join(f'"{name}": {text}' for name, text in members.items()) + "}"


@settings(max_examples=300, deadline=None)
@given(st.lists(event_texts(), max_size=8))
def test_columns_of_any_values(tmp_path_factory, events):
    path = tmp_path_factory.getbasetemp() / "values.json"
    path.write_text("[" + ",\n".join(events) + "]")
    assert differences(reading(path, "scan"), reading(path, "msgspec")) == []


def op(more: str, **values: str) -> str:
    """An op as text, with values as they are written."""
    given = {"cat": '"cpu_op"', "pid": "1", "tid": "1", "ts": "1", **values}
    return (
        "{"
        + ", ".join(['"ph": "X"', '"name": "a"', '"dur": 1', *(f'"{k}": {v}' for k, v in given.items())])
        + more
        + "}"
    )


DEEP = "[" * 65 + "]" * 65
LONG = "1" * 400 + ".5"
ODD_LISTS = {
    "an escaped key beside one key too many": [
        op(', "args": {"a": 1}, "args": {"b": 2}'),
        op(', "\\u0061rgs": {"External id": 77777}'),
    ],
    "an escaped key beside one inside": [op(', "x": {"args": {"q": 1}}, "\\u0061rgs": {"c": 7}')],
    "ids beyond int64": [op("", pid="9223372036854775808"), op("", pid="9223372036854775808.0")],
    "a float before the id it equals": [op("", tid="1e22"), op("", tid="1" + "0" * 22)],
    "thousands of zeros": [op("", ts='"' + "0" * 5000 + '1"'), op("", ts="0." + "0" * 4999 + "1e5000")],
    "a quote and thousands of digits": ['{"ph": "X", "cat": "kernel", "name": "a"b", "ts": ' + "1" * 4301 + "}"],
    **{
        f"{value[:5]} for an id": [op(f', "args": {{"External id": {value}, "external id": 3}}')]
        for value in ("NaN", "1e309", DEEP)
    },
    **{
        f"{value[:5]} for a category": [op("", cat=value, pid='"CPU functions"')]
        for value in ("NaN", "1e309", DEEP, LONG)
    },
}


@pytest.mark.parametrize("last", [False, True], ids=["in a piece", "at the end"])
@pytest.mark.parametrize("case", ODD_LISTS)
def test_odd_events_read_alike_wherever_they_stand(tmp_path, case, last):
    path = tmp_path / "odd.json"
    plain = [op(""), op(', "args": {"External id": 5}')]
    path.write_text("[" + ",\n".join([*plain, *ODD_LISTS[case]] if last else [*ODD_LISTS[case], *plain]) + "]")
    read = reading(path, "msgspec")
    assert not isinstance(read, str), read
    assert differences(reading(path, "scan"), read) == []
