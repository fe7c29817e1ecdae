"""Damaged files: what can be read is read, the rest is named with its place; strict reading refuses. Both readers."""

import contextlib
import gzip
import json
import re
import time

import pytest

from foretrace.errors import TraceFormatError
from foretrace.trace.raw import MISSING, MISSING_FLOAT
from foretrace.trace.read import read_raw
from foretrace.trace.window import Window
from readers import READERS, codes, listed, names, read_text, x

pytestmark = pytest.mark.parametrize("reader", READERS)


def event(name: str, more: str = "") -> str:
    """An event whose name is put in as it stands."""
    return f'{{"ph": "X", "cat": "python_function", "name": "{name}", "pid": 1, "tid": 1, "ts": 1.0, "dur": 2{more}}}'


def between(damaged: bytes | str) -> bytes:
    """A damaged event between two good ones."""
    good = [json.dumps(x("before")).encode(), json.dumps(x("after")).encode()]
    damaged = damaged.encode() if isinstance(damaged, str) else damaged
    return b'{"traceEvents": [\n' + good[0] + b",\n" + damaged + b",\n" + good[1] + b"\n]}"


def place(text: bytes, part: bytes) -> tuple[int, int]:
    """Byte and line of a part of a text."""
    at = text.index(part)
    return at, text[:at].count(b"\n") + 1


# ---- strings ----


@pytest.mark.case("F02")
@pytest.mark.parametrize(
    "name",
    [
        r"torch\cuda\__init__.py(219): f",
        r"torch\nn\utils.py(1): f",
        r"C:\new\table\modules\functional.py(7): run",
        r"torch\utils\unicode.py(3): \u12 g",
        r"a\bc\d",
        "\\",
        r"\\server\share\x.py",
    ],
)
def test_single_backslashes_are_read_as_written(tmp_path, reader, name):
    if name == "\\":
        name = "\\ "  # one that ends the string would escape its quote: another kind of damage
    text = between(event(name))
    found = read_text(tmp_path, text, reader)
    # A doubled backslash counts as one even there: both spellings occur in one file.
    assert names(found) == ["before", name.replace("\\\\", "\\"), "after"]
    (repair,) = found.repairs
    assert (repair.code, repair.count) == ("backslash", 1)
    assert text[repair.byte : repair.byte + 1] == b"\\"
    assert repair.line == 3
    assert "backslash" in repair.text


@pytest.mark.case("F02")
def test_paths_that_look_escaped_are_paths_in_a_file_that_does_not_escape(tmp_path, reader):
    looks_escaped = r"torch\nn\functional.py(1): f"
    found = read_text(tmp_path, listed(event(looks_escaped), event(r"torch\cuda\x.py(2): g")), reader)
    assert names(found) == [looks_escaped, r"torch\cuda\x.py(2): g"]
    alone = read_text(tmp_path, listed(event(looks_escaped)), reader)
    assert names(alone) == ["torch\nn\functional.py(1): f"]
    assert alone.repairs == []


@pytest.mark.case("F03")
@pytest.mark.parametrize(
    "name",
    [
        '{"device": "cpu"}(12): run',
        '{"device": "cpu", "index": 0}(12): run',
        'say "hi"(1): f',
        '"',
        '""',
        'a"b"c',
        '"quoted"',
        '["x", "y"]',
        'f("a, b")',
        'print(",")',
    ],
)
def test_quotes_in_a_name_do_not_end_it(tmp_path, reader, name):
    text = between(event(name, ', "args": {"External id": 5}'))
    found = read_text(tmp_path, text, reader)
    assert names(found) == ["before", name, "after"]
    assert found.rows.external_id.tolist() == [MISSING, 5, MISSING]
    assert codes(found) == {"quote": 1}
    assert found.repairs[0].line == 3


@pytest.mark.case("F03")
def test_quotes_in_args_do_not_end_them(tmp_path, reader):
    args = '{"Call stack": "<lambda "x">: f", "Concrete Inputs": ["a"b", ""], "correlation": 3}'
    damaged = event("f", ', "args": ' + args)
    found = read_text(tmp_path, between(damaged), reader)
    assert names(found) == ["before", "f", "after"]
    assert found.rows.correlation.tolist() == [MISSING, 3, MISSING]
    assert codes(found) == {"quote": 2}


def test_a_closing_quote_that_is_lost(tmp_path, reader):
    damaged = '{"ph": "X", "cat": "cpu_op", "name": "aten::mm, "pid": 1, "tid": 1, "ts": 5, "dur": 2}'
    found = read_text(tmp_path, between(damaged), reader)
    assert names(found) == ["before", "aten::mm", "after"]
    assert found.rows.ts.tolist() == [1000, 5000, 1000]


@pytest.mark.case("F04")
@pytest.mark.parametrize(
    ("written", "name"),
    [
        (b"gemm\xc3(", "gemm\ufffd("),
        (b"gemm\xe6\xb3", "gemm\ufffd"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"a\xed\xa0\x80b", "a\ufffd\ufffd\ufffdb"),
        (b"\xf0\x9f\x98", "\ufffd"),
        (b"\xc0\xafx", "\ufffd\ufffdx"),
        (b"\\ud800", "\ufffd"),
        (b"\\udc00\\ud800", "\ufffd\ufffd"),
        (b"\\ud800\\u0041", "\ufffdA"),
        (b"\xe6\xb3\xa8\xff", "\u6ce8\ufffd"),
    ],
)
def test_broken_bytes_are_replaced(tmp_path, reader, written, name):
    damaged = event("@").encode().replace(b"@", written)
    found = read_text(tmp_path, between(damaged), reader)
    assert names(found) == ["before", name, "after"]
    assert codes(found) == {"bad-utf8": 1}


@pytest.mark.case("F04")
def test_broken_bytes_in_what_is_not_read_are_counted_too(tmp_path, reader):
    damaged = event("f", ', "args": {"other": "@", "more": ["@"]}, "@": 1').encode().replace(b"@", b"\xff")
    found = read_text(tmp_path, between(damaged), reader)
    assert names(found) == ["before", "f", "after"]
    assert codes(found) == {"bad-utf8": 3}


@pytest.mark.case("F05")
def test_control_characters_are_text(tmp_path, reader):
    name = "f\x01\x1b[31m\nnext\ttab"
    text = between(event(name))
    found = read_text(tmp_path, text, reader)
    assert names(found) == ["before", name, "after"]
    (repair,) = found.repairs
    assert (repair.code, repair.count) == ("control-character", 1)
    assert (repair.byte, repair.line) == place(text, b"\x01")


@pytest.mark.case("F06")
def test_one_control_character_near_the_end_of_many_events(tmp_path, reader):
    events = [event(f"module.py({at}): import_{at}") for at in range(20_000)]
    events[19_900] = event("module.py(19900): bad\x02")
    text = listed(*events)
    found = read_text(tmp_path, text, reader)
    assert len(found.rows.ts) == 20_000
    assert codes(found) == {"control-character": 1}
    assert found.repairs[0].line == 19_902


# ---- numbers ----


@pytest.mark.parametrize(
    "written", ["NaN", "Infinity", "-Infinity", "nan", "inf", "-inf", "-nan", "NAN", "+inf", "-nan(ind)", "INF"]
)
def test_numbers_that_are_not_finite_are_missing(tmp_path, reader, written):
    damaged = (
        '{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": ' + written + ', "args": {"blocks per SM": '
        + written + ', "grid": [' + written + ', 2, 3], "device": 0}}'
    )  # fmt: skip
    found = read_text(tmp_path, between(damaged), reader)
    assert names(found) == ["before", "gemm", "after"]
    assert found.rows.dur.tolist() == [2000, MISSING, 2000]
    assert found.activities.blocks_per_sm.tolist() == [MISSING_FLOAT]
    assert found.activities.grid_x.tolist() == [MISSING]
    assert found.activities.grid_y.tolist() == [2]
    assert codes(found) == {"not-finite": 3}


@pytest.mark.parametrize(
    ("written", "value"), [("007", 7), ("+7", 7), ("7.", 7), (".7", 0), ("-.5e1", -5), ("00", 0), ("7.e0", 7)]
)
def test_numbers_spelled_otherwise_keep_their_value(tmp_path, reader, written, value):
    found = read_text(tmp_path, between(event("f", ', "args": {"correlation": ' + written + "}")), reader)
    assert found.rows.correlation.tolist() == [MISSING, value, MISSING]
    assert codes(found) == {"number": 1}


# ---- structure ----


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('{"traceEvents": [@, @,], "a": 1}', 1),
        ('{"traceEvents": [@,, @], "a": 1}', 1),
        ('{"traceEvents": [,@, @ ,,,], "a": 1}', 4),
        ('{"traceEvents": [@, @], "a": 1,}', 1),
        ('{"traceEvents": [@, @],, "a": 1}', 1),
    ],
)
def test_commas_with_nothing_behind_them(tmp_path, reader, text, count):
    found = read_text(tmp_path, text.replace("@", event("f")), reader)
    assert names(found) == ["f", "f"]
    assert found.header == {"a": 1}
    assert codes(found) == {"extra-comma": count}


def test_extra_commas_in_an_event(tmp_path, reader):
    damaged = event("f", ', "args": {"grid": [1, 2, 3,], "list": [,], "o": {"a": 1,,}, "correlation": 4,},')
    found = read_text(tmp_path, between(damaged), reader)
    assert names(found) == ["before", "f", "after"]
    assert found.rows.correlation.tolist() == [MISSING, 4, MISSING]
    assert codes(found) == {"extra-comma": 6}


def test_a_comma_that_is_missing(tmp_path, reader):
    text = '{"traceEvents": [' + event("a") + "\n" + event("b") + event("c") + "]}"
    found = read_text(tmp_path, text, reader)
    assert names(found) == ["a", "b", "c"]
    assert codes(found) == {"missing-comma": 2}
    inside = '{"ph": "X" "cat": "cpu_op", "name": "f" "ts": 1, "dur": 2}'
    found = read_text(tmp_path, between(inside), reader)
    assert names(found) == ["before", "f", "after"]
    assert codes(found) == {"missing-comma": 2}


@pytest.mark.case("F01")
def test_a_key_without_its_opening_quote(tmp_path, reader):
    events = [json.dumps(x(name)) for name in "abcd"]
    events[2] = '{"ph": "X", "cat": "cpu_op", "name": "c", "pid": 1, "ts": 1.0,\n tid": 0, "dur": 2}'
    text = listed(*events)
    found = read_text(tmp_path, text, reader)
    assert names(found) == ["a", "b", "c", "d"]
    assert found.threads[found.rows.thread[2]] == ("1", "0")
    (repair,) = found.repairs
    assert (repair.code, repair.count) == ("key-quote", 1)
    assert (repair.byte, repair.line) == place(text.encode(), b'tid": 0, "dur"')


@pytest.mark.case("F01")
def test_strict_reading_says_where_and_shows_the_place(tmp_path, reader):
    text = between('{"ph": "X", "name": "c", "ts": 1.0,\n tid": 0, "dur": 2}')
    byte, line = place(text, b'tid": 0')
    with pytest.raises(TraceFormatError) as error:
        read_text(tmp_path, text, reader, strict=True)
    message = str(error.value)
    assert "trace.json" in message
    assert f"byte {byte}, line {line}" in message
    assert '"ts": 1.0,\\n tid": 0' in message
    assert "\n" not in message
    assert message.endswith(".")


@pytest.mark.case("F01")
@pytest.mark.parametrize(
    "damaged",
    [
        '{"ph": "X", "name" "broken", "ts": 1}',
        '{"ph": "X", "name": broken, "ts": 1}',
        '{"ph": "X", "name": "broken", "args": {"a": [1, 2}, "ts": 1}',
        '{"ph": "X", "name": "broken", "ts": 1, "args": {"a": 1}',
        '{"ph": "X", "name": "broken", "ts": 1, "args": {"a": 1]}',
        '{"ph": "X", "name": "broken", "ts": 1 2 3}',
        '{"ph": "X", "name": "broken", {"a": 1}}',
        '{"ph": "X", "name": "broken", "ts": tru}',
    ],
)
def test_a_broken_event_is_left_out_and_its_neighbours_stay(tmp_path, reader, damaged):
    text = between(damaged)
    found = read_text(tmp_path, text, reader)
    assert names(found) == ["before", "after"]
    assert codes(found) == {"broken-event": 1}
    assert (found.repairs[0].byte, found.repairs[0].line) == place(text, damaged.encode())
    # It keeps its place in the list, so that evidence names the events after it rightly.
    assert found.rows.index.tolist() == [0, 2]
    assert found.events == 3


@pytest.mark.parametrize("garbage", ["xyz", "null", "17", '"text"', "}", "[1, 2]", "::", "\\", "true false"])
def test_what_is_no_event_is_left_out(tmp_path, reader, garbage):
    found = read_text(tmp_path, between(garbage), reader)
    assert names(found) == ["before", "after"]
    assert set(codes(found)) <= {"garbage", "extra-comma"}
    assert codes(found)["garbage"] == 1
    # A JSON value is an entry of the list and keeps its number; other text is none.
    assert found.rows.index.tolist() == [0, 2 if garbage in ("null", "17", '"text"', "[1, 2]") else 1]
    assert found.events == 1 + found.rows.index[-1]


def test_events_that_nest_lists_of_objects_hide_no_others(tmp_path, reader):
    damaged = event("f", ', "args": {"list": [{"name": "inner"}, {"name": "other"}], "text": "a"b"}')
    found = read_text(tmp_path, between(damaged), reader)
    assert names(found) == ["before", "f", "after"]


def test_many_broken_events(tmp_path, reader):
    broken = '{"ph": "X", "name" "broken", "ts": 1}'
    events = [event(f"f{at}") if at % 2 else broken for at in range(400)]
    found = read_text(tmp_path, listed(*events), reader)
    assert names(found) == [f"f{at}" for at in range(1, 400, 2)]
    assert codes(found) == {"broken-event": 200}


# ---- cut off ----


DOCUMENT = listed(
    x("a", "kernel", grid=[1, 2, 3]),
    {"ph": "M", "name": "process_name", "args": {"name": "p"}},
    x('b \u00e9\\"', "cpu_op"),
    schemaVersion=1,
)[:-1] + ', "traceName": "x.json", "deviceProperties": [{"id": 0}]}'  # fmt: skip


@pytest.mark.parametrize("form", ["document", "list"])
def test_a_file_cut_anywhere_keeps_all_whole_events(tmp_path, reader, form):
    text = DOCUMENT if form == "document" else DOCUMENT[DOCUMENT.index("[\n") : DOCUMENT.index("\n]") + 2]
    data = text.encode()
    begins = data.index(b"[") + 1
    ends = [match.end() for match in re.finditer(rb"\}(?=,\n|\n\])", data)]
    for cut in range(len(data)):
        if cut < begins and form == "document":
            with pytest.raises(TraceFormatError):
                read_text(tmp_path, data[:cut], reader)
            continue
        if not data[:cut].strip():
            continue
        found = read_text(tmp_path, data[:cut], reader)
        assert found.events == sum(end <= cut for end in ends), cut
        if cut < len(data.rstrip(b"}")) or form == "document":
            assert found.repairs or not data[cut:].strip(), cut


def test_where_it_was_cut_is_said(tmp_path, reader):
    text = listed(x("a"), x("b"), x("c"))
    at = text.index('{"ph": "X", "cat": "cpu_op", "name": "c"')
    found = read_text(tmp_path, text[: at + 30], reader)
    assert names(found) == ["a", "b"]
    (repair,) = found.repairs
    assert (repair.code, repair.byte, repair.line) == ("cut-off", at, 4)
    assert "all whole events are kept" in repair.text


def test_a_file_cut_behind_the_list(tmp_path, reader):
    text = listed(x("a"))[:-1] + ', "traceName": "x.js'
    found = read_text(tmp_path, text, reader)
    assert names(found) == ["a"]
    assert codes(found) == {"cut-off-header": 1}
    assert found.header == {}


# ---- around the list ----


@pytest.mark.parametrize("tail", ["}", "x", "\0" * 100, "\n{}", '{"traceEvents": []}', ", 1"])
def test_text_behind_the_end_is_ignored(tmp_path, reader, tail):
    found = read_text(tmp_path, listed(x("a"), a=1) + tail, reader)
    assert names(found) == ["a"]
    assert found.header == {"a": 1}
    assert codes(found) == {"trailing-text": 1}
    assert found.repairs[0].byte == len(listed(x("a"), a=1)) + (len(tail) - len(tail.lstrip()))


def test_a_list_without_its_end(tmp_path, reader):
    text = listed(x("a"), x("b")).replace("\n]}", ', "traceName": "t", "n": 2}')
    found = read_text(tmp_path, text, reader)
    assert names(found) == ["a", "b"]
    assert found.header == {"traceName": "t", "n": 2}
    assert codes(found) == {"bracket": 1}


def test_a_list_that_ends_twice(tmp_path, reader):
    text = '{"traceEvents": [' + event("a") + "], " + event("b") + '], "n": 2}'
    found = read_text(tmp_path, text, reader)
    assert names(found) == ["a", "b"]
    assert found.header == {"n": 2}
    assert codes(found) == {"bracket": 1}


def test_a_damaged_header_costs_only_its_key(tmp_path, reader):
    text = listed(x("a"))
    before = text.replace('"traceEvents"', r'"path": "C:\temp\x", "n": nan, "traceEvents"')
    found = read_text(tmp_path, before, reader)
    assert found.header == {"path": r"C:\temp\x", "n": None}
    assert codes(found) == {"backslash": 1, "not-finite": 1}
    broken = text.replace('"traceEvents"', '"path": oops, "traceEvents"')
    found = read_text(tmp_path, broken, reader)
    assert names(found) == ["a"]
    assert codes(found) == {"header": 1}


@pytest.mark.case("F08")
def test_damage_behind_the_list_does_not_cost_events(tmp_path, reader):
    text = listed(x("a"))[:-1] + ', "traceName": "fit-[Strategy]"x].json", "after": 1}'
    found = read_text(tmp_path, text, reader)
    assert names(found) == ["a"]
    assert codes(found) == {"header": 1}


# ---- strict ----


@pytest.mark.parametrize(
    "damaged",
    [
        event(r"a\c"), event("a\x01"), event('a"b'), event("f", ', "n": nan'), event("f", ","), event("f", ', "n": 01'),
        '{"ph": "X"} {"ph": "X"}', "{", "}", "null", '{"ph": X}',
    ],
)  # fmt: skip
def test_strict_reading_refuses_all_damage(tmp_path, reader, damaged):
    text = between(damaged)
    first = min(read_text(tmp_path, text, reader).repairs, key=lambda repair: repair.byte)
    with pytest.raises(TraceFormatError) as error:
        read_text(tmp_path, text, reader, strict=True)
    assert f"byte {first.byte}, line {first.line}" in str(error.value)


def test_strict_reading_takes_what_is_whole(tmp_path, reader):
    assert read_text(tmp_path, listed(x("a")), reader, strict=True).events == 1


def test_every_sentence_is_one(tmp_path, reader):
    strings = [event(r"a\c"), event("b\x01"), event("c\xff"), event('d"d')]
    text = listed("}", *strings, '{"ph": "X" 1}', event("e", ', "n": nan')).encode("latin-1") + b"x"
    found = read_text(tmp_path, text, reader)
    assert len(found.repairs) == 8
    for repair in found.repairs:
        assert repair.text[0].isupper() or repair.text[0].isdigit()
        assert repair.text.endswith(".")
        assert "\n" not in repair.text
    assert [repair.byte for repair in found.repairs] == sorted(repair.byte for repair in found.repairs)


def test_a_truncated_stream_keeps_its_events(tmp_path, reader):
    text = listed(*(x(f"op{at}", number=at * 7919 % 10_007) for at in range(5_000))).encode()
    packed = gzip.compress(text)
    (tmp_path / "t.json.gz").write_bytes(packed[: len(packed) // 2])
    found = read_raw(tmp_path / "t.json.gz", reader=reader)
    assert 0 < found.events < 5_000
    assert names(found) == [f"op{at}" for at in range(found.events)]
    assert set(codes(found)) == {"cut-off", "compression"}
    with pytest.raises(TraceFormatError):
        read_raw(tmp_path / "t.json.gz", reader=reader, strict=True)


# ---- text made to cost time ----


HEAD, GOOD = b'{"traceEvents": [', event("good").encode()
SIZE = 200_000
COSTLY = {
    "events within events": HEAD + b'{"ph":[1,' * (SIZE // 9),
    "objects within objects": HEAD + b'{"ph":{"a":' * (SIZE // 11),
    "events that begin": HEAD + b'{"ph": 1,{' * (SIZE // 40),
    "brackets": HEAD + b"[{" * (SIZE // 2),
    "quotes": HEAD + b'"' * SIZE,
    "quotes in a name": HEAD + b'{"ph":"X","name":"' + b'a", "b' * (SIZE // 6) + b'"},' + GOOD + b"]}",
    "quotes that are escaped": HEAD + b'{"ph":"X","name":"' + b'\\"' * (SIZE // 2) + b"}," + GOOD + b"]}",
    "broken events": HEAD + b'{"ph": "X", "name" "b"},' * (SIZE // 48) + GOOD + b"]}",
    "ends of the list": HEAD + b'],{"ph":"X"}' * (SIZE // 24),
    "a key that does not end": b'{"a":[' * (SIZE // 6),
    "many keys": b"{" + b"".join(b'"k%d": 1,' % at for at in range(SIZE // 10)) + b'"traceEvents": []}',
    "digits": HEAD + b'{"ph":"X","ts":' + b"1" * SIZE + b"}," + GOOD + b"]}",
    "commas": HEAD + b"," * SIZE + GOOD + b"]}",
    "phases": HEAD + b",".join(b'{"ph":"%d"}' % at for at in range(SIZE // 14)) + b"]}",
}


@pytest.mark.parametrize("kind", COSTLY)
def test_hostile_text_costs_a_bounded_time(tmp_path, reader, kind):
    started = time.process_time()
    with contextlib.suppress(TraceFormatError):
        read_text(tmp_path, COSTLY[kind], reader)
    assert time.process_time() - started < 8


def test_an_event_longer_than_any_is_left_out(tmp_path, reader):
    text = between(event("f", ', "text": "' + "a" * (3 << 20) + '"'))
    found = read_text(tmp_path, text, reader)
    assert names(found) == ["before", "after"]
    assert codes(found) == {"broken-event": 1}
    assert len(read_text(tmp_path, between(event("f" * 900_000)), reader).strings[1]) == 900_000


@pytest.mark.parametrize("spaces", ["", " ", "\n  "])
def test_entries_that_are_no_events_are_counted_one_by_one(tmp_path, reader, spaces):
    text = f'{{"traceEvents": [[1, {{"ph": "X"}}],{spaces}3,{spaces}"x",{spaces}null, {event("a")}, 4, 5{spaces}]}}'
    found = read_text(tmp_path, text, reader)
    assert names(found) == ["a"]
    assert codes(found) == {"garbage": 6}
    assert found.repairs[0].byte == text.index("[1")
    assert found.rows.index.tolist() == [4]


def test_a_list_of_no_events_is_not_cut_off(tmp_path, reader):
    found = read_text(tmp_path, '{"traceEvents": [[1, 2], 3, "x", null]}', reader)
    assert codes(found) == {"garbage": 4}
    assert found.events == 4
    assert not len(found.rows.ts)


def test_a_long_event_without_its_brace_ends_no_list(tmp_path, reader):
    lost = '"ph": "X", "name": "n", "args": {"Input Dims": [[1]], "a": [1]}, "dims": [' + "1," * 150_000 + "1]}"
    text = f'{{"traceEvents": [{event("a")}, {lost}, {event("b")}], "schemaVersion": 1}}'
    found = read_text(tmp_path, text, reader)
    assert names(found)[-1] == "b"
    assert "trailing-text" not in codes(found)


def test_a_long_list_among_the_events_ends_no_list(tmp_path, reader):
    entry = "[" + ", ".join('{"a": [1]}' for _ in range(30_000)) + "]"
    found = read_text(tmp_path, f'{{"traceEvents": [{event("a")}, {entry}, {event("b")}], "k": 1}}', reader)
    assert names(found) == ["a", "b"]
    assert codes(found) == {"garbage": 1}


def test_halves_of_surrogate_pairs_in_a_header_are_replaced(tmp_path, reader):
    text = (
        '{"deviceProperties": [{"id": 0, "name": "GPU \\ud800 \\ud83d\\ude00"}], "traceEvents": [' + event("a") + "]}"
    )
    found = read_text(tmp_path, text, reader)
    assert found.header["deviceProperties"][0]["name"] == "GPU \ufffd \U0001f600"
    assert codes(found) == {"bad-utf8": 1}


@pytest.mark.parametrize("damage", ["xx", '{"ph": }', '{"ph":"X","name":"un'])
def test_lines_are_counted_once_for_each_kind_of_damage(tmp_path, reader, damage, monkeypatch):
    counted = []
    line = Window.line
    monkeypatch.setattr(Window, "line", lambda self, byte: counted.append(byte) or line(self, byte))
    text = '{"traceEvents": [' + ",\n".join(entry for _ in range(300) for entry in (event("a"), damage)) + "]}"
    found = read_text(tmp_path, text, reader)
    assert sum(codes(found).values()) >= 299
    assert len(counted) < 10


def test_garbage_before_the_end_of_the_list_does_not_cut_it_off(tmp_path, reader):
    found = read_text(tmp_path, f'{{"traceEvents": [{event("a")}, xx ], "schemaVersion": 1}}', reader)
    assert codes(found) == {"garbage": 1}
    assert found.header == {"schemaVersion": 1}
