"""Nanoseconds from decimal text, against exact rational arithmetic."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrace.trace.raw import MISSING
from foretrace.trace.times import nanoseconds, nanoseconds_column, plain_column


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        (b"0", 0),
        (b"12", 12_000),
        (b"5163465648172.978", 5_163_465_648_172_978),
        (b"1704161511420306.491", 1_704_161_511_420_306_491),
        (b"1.5", 1_500),
        (b"-0.25", -250),
        (b"0.0005", 1),
        (b"0.0004", 0),
        (b"1e3", 1_000_000),
        (b"1.5E-3", 2),
        (b"null", MISSING),
        (b'"soon"', MISSING),
        (b"1e400", 2**63 - 1),
        (b"99999999999999999999", 2**63 - 1),
        (b"-99999999999999999999", 1 - 2**63),
        (b"1e999999999", 2**63 - 1),
        (b"-1e30", 1 - 2**63),
    ],
)
def test_known_texts(text, ns):
    assert nanoseconds(text) == ns


@pytest.mark.case("F14")
def test_text_numbers_keep_every_digit():
    early, late = (nanoseconds(text) for text in (b'"1704161511420306.491"', b'"1704161511420306.492"'))
    assert late - early == 1


@given(st.decimals(min_value=Decimal(-(10**12)), max_value=Decimal(10**15), places=6, allow_nan=False))
def test_against_rationals(value):
    ns = nanoseconds(str(value).encode())
    assert abs(Fraction(ns) - 1000 * Fraction(value)) <= Fraction(1, 2)


PLAIN = st.from_regex(r"[0-9]{1,16}(\.[0-9]{1,3})?", fullmatch=True).map(str.encode)
ODD = st.sampled_from([b"-1.5", b"1e3", b"1.2345", b".5", b"5.", b"1.2.3", b"1,2", b"", b"+4", b"nan", b"9" * 30])


@given(st.lists(PLAIN))
def test_a_plain_column_is_read_as_its_texts(texts):
    found = plain_column(texts)
    if found is None:
        assert not texts or max(map(nanoseconds, texts)) == 2**63 - 1
    else:
        assert found[0].tolist() == [nanoseconds(text) for text in texts]
        assert found[1] == any(b"." in text for text in texts)


@given(st.lists(PLAIN | ODD))
def test_a_mixed_column_is_read_as_its_texts(texts):
    values, fractions = nanoseconds_column(texts)
    assert values.tolist() == [nanoseconds(text) for text in texts]
    assert fractions == any(b"." in text for text in texts)


@given(st.lists(PLAIN | ODD))
def test_no_other_column_is_taken_for_a_plain_one(texts):
    found = plain_column(texts)
    assert found is None or found[0].tolist() == [nanoseconds(text) for text in texts]


@pytest.mark.parametrize("text", [b"9223372036854775.807", b"9223372036854775.808", b"9" * 40, b"9" * 40 + b".5"])
def test_what_does_not_fit_is_the_furthest(text):
    for values, _ in (plain_column([text]) or nanoseconds_column([text]), nanoseconds_column([text])):
        assert values.tolist() == [2**63 - 1]
