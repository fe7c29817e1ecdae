"""Unions, gaps and overlaps, against counting every nanosecond."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from foretrace.analysis.intervals import gaps, overlaps, union, union_length

INTERVALS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=20)


def columns(intervals):
    start = np.array([start for start, _ in intervals], np.int64)
    return start, start + np.array([length for _, length in intervals], np.int64)


@given(INTERVALS)
def test_the_union_covers_each_moment_once(intervals):
    moments = {moment for start, length in intervals for moment in range(start, start + length)}
    assert union_length(*columns(intervals)) == len(moments)


@given(INTERVALS)
def test_gaps_and_union_make_the_span(intervals):
    start, end = columns(intervals)
    low, high = union(start, end)
    between = gaps(start, end)
    span = int(high[-1] - low[0]) if low.size else 0
    assert union_length(start, end) + int((between[1] - between[0]).sum()) == span


@given(INTERVALS)
def test_what_overlaps_an_earlier_one_is_found(intervals):
    start, end = columns(intervals)
    order = sorted((s, s + length, at) for at, (s, length) in enumerate(intervals) if length)
    expected = [at for place, (s, _, at) in enumerate(order) if any(e > s for _, e, _ in order[:place])]
    late, length = overlaps(start, end)
    assert sorted(late.tolist()) == sorted(expected)
    assert (length > 0).all()


def test_touching_is_not_overlapping():
    late, _ = overlaps(np.array([0, 10]), np.array([10, 20]))
    assert late.size == 0
