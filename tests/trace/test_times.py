"""Nanoseconds from decimal text, against exact rational arithmetic."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretrace.trace.raw import MISSING
from foretrace.trace.times import nanoseconds


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
