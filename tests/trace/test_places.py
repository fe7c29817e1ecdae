"""Where events end and args begin, found without reading the text."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrace.trace.places import args_places, boundary

SPELLINGS = [
    '"args": {}',
    '"args":{}',
    '"args" : {}',
    '"args":\n {"args": {}}',
    '"args": 1',
    '"args":[]',
    '"args": null',
]
OTHERS = ['"kwargs": {}', '"name": "args"', '"name": "\\"args\\": {"', '"args_": {}', '"é": "args"']


@given(st.lists(st.sampled_from(SPELLINGS) | st.sampled_from(SPELLINGS[:2]) | st.sampled_from(OTHERS), min_size=1))
def test_args_are_found_however_they_are_spelled(members):
    text = ("[" + ",".join("{" + member + "}" for member in members) + "]").encode()
    json.loads(text)
    assert args_places(text).tolist() == [found.end() for found in re.finditer(rb'"args"\s*:\s*', text)]


@pytest.mark.parametrize("text", ["[{}]", '[{"args":1}]', '[{"args":{}}]', '[{"args": {}}]', '[{"ph":"args"}]'])
def test_the_shortest_texts(text):
    expected = [found.end() for found in re.finditer(r'"args"\s*:\s*', text)]
    assert args_places(text.encode()).tolist() == expected


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        (b'{"ph": 1}, {"ph": 2}, {"ph"', b'{"ph": 1}, {"ph": 2}'),
        (b'{"ph": 1} ,\n { "ts": 2}', b'{"ph": 1}'),
        (b'{"args": {"a": [{}, {"b": 1}]}}, {"name": {"x": 1', b'{"args": {"a": [{}, {"b": 1}]}}'),
        (b'{"ph": 1}', b""),
        (b'{"ph": 1} {"ph": 2}', b""),
        (b'{"ph": 1}, {"odd": 2}', b""),
    ],
)
def test_a_piece_ends_where_another_event_follows(text, whole):
    before = b'[{"ph": 0}, '
    end = boundary(before + text, len(before), len(before) + len(text))
    assert (before + text)[len(before) : end] == whole
