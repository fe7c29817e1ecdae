"""The forest of ranges, against a search that looks at every pair."""

import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foretrace.trace import nesting
from foretrace.trace.nesting import forest

# The fixture holds for a whole test; that it is not set again for each example is what is wanted.
settings.register_profile("nesting", suppress_health_check=[HealthCheck.function_scoped_fixture])
settings.load_profile("nesting")

RANGES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 8)), max_size=25)


def innermost(ranges, thread, moment, before=None):
    """Of the ranges around the moment: latest start, then shortest, then latest in the file."""
    around = [
        (start, -length, at)
        for at, (where, start, length) in enumerate(ranges)
        if where == thread and start <= moment < start + length
    ]
    if before is not None:
        around = [key for key in around if key < before]
    return max(around)[2] if around else -1


@pytest.fixture(params=["c", "numpy"], autouse=True)
def way(request, monkeypatch):
    """Both ways answer the same tests."""
    if request.param == "numpy":
        monkeypatch.setattr(nesting, "compiled", None)
    elif nesting.compiled is None:
        pytest.skip("the scanner was not built: no C compiler here")


def grown(ranges):
    columns = np.array(ranges, np.int64).reshape(-1, 3)
    thread, start, length = columns.T
    return forest(thread.astype(np.int32), start, start + length)


@given(RANGES)
def test_the_parent_is_the_innermost_range_around_the_start(ranges):
    expected = [
        innermost(ranges, thread, start, before=(start, -length, at))
        for at, (thread, start, length) in enumerate(ranges)
    ]
    assert grown(ranges).parents().tolist() == expected


@given(RANGES, st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 22)), max_size=20))
def test_innermost_around_any_moment(ranges, asked):
    threads = np.array([thread for thread, _ in asked], np.int32)
    moments = np.array([moment for _, moment in asked], np.int64)
    expected = [innermost(ranges, thread, moment) for thread, moment in asked]
    assert grown(ranges).innermost(threads, moments).tolist() == expected


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(0, 3)), max_size=120))
def test_the_order_is_by_thread_start_length_and_place(ranges):
    thread, start, length = np.array(ranges, np.int64).reshape(-1, 3).T
    order = nesting.nesting_order(thread.astype(np.int32), start, start + length)
    expected = sorted(range(len(ranges)), key=lambda at: (ranges[at][0], ranges[at][1], -ranges[at][2], at))
    assert order.tolist() == expected


@pytest.mark.parametrize("shape", ["sorted", "reversed", "saw", "two runs", "random"])
def test_many_ranges_in_any_order_are_sorted(shape):
    at = np.arange(20_000, dtype=np.int64)
    start = {
        "sorted": at,
        "reversed": at[::-1].copy(),
        "saw": at % 137,
        "two runs": np.concatenate((at[:9000] * 2, at[:11_000])),
        "random": np.random.default_rng(5).integers(0, 500, len(at)),
    }[shape]
    end = start + at % 7
    thread = (at % 5).astype(np.int32)
    order = nesting.nesting_order(thread, start, end)
    assert order.tolist() == np.lexsort((at, start - end, start, thread)).tolist()


def test_numbers_of_threads_may_be_of_any_size():
    for thread in ([2**40, 1, 2**40 + 2**32], [-7, 3, -7], [0, 5_000_000, 0]):
        columns = np.array(thread), np.array([5, 4, 3]), np.array([9, 9, 9])
        for kind in (np.int64, np.int32) if max(thread) < 2**31 else (np.int64,):
            woods = forest(columns[0].astype(kind), *columns[1:])
            assert woods.original.tolist() == sorted(range(3), key=lambda at: (thread[at], columns[1][at]))
            assert woods.parents().tolist() == [2 if thread[0] == thread[2] else -1, -1, -1]


@given(RANGES)
def test_own_length_is_without_what_lies_directly_inside(ranges):
    woods = grown(ranges)
    own = {int(at): int(length) for at, length in zip(woods.original, woods.own_lengths(), strict=True)}
    ends = [start + length for _, start, length in ranges]
    for at, (_, start, length) in enumerate(ranges):
        children = [child for child, parent in enumerate(woods.parents().tolist()) if parent == at]
        inside = sum(min(ends[child], start + length) - ranges[child][1] for child in children)
        assert own[at] == length - inside


@given(RANGES)
def test_depth_counts_the_parents(ranges):
    woods = grown(ranges)
    parents = woods.parents().tolist()

    def depth(at):
        return 0 if parents[at] < 0 else 1 + depth(parents[at])

    assert woods.depths().tolist() == [depth(at) for at in range(len(ranges))]


@pytest.mark.case("F26")
@pytest.mark.parametrize("shape", ["flat", "deep", "comb"])
def test_the_forest_grows_nearly_linearly(shape):
    def seconds(count):
        at = np.arange(count, dtype=np.int64)
        start, end = {
            "flat": (2 * at, 2 * at + 1),
            "deep": (at, 2 * count - at),
            "comb": (2 * at, np.where(at == 0, 4 * count, 2 * at + 1)),
        }[shape]
        begin = time.perf_counter()
        forest(np.zeros(count, np.int32), start, end)
        return time.perf_counter() - begin

    seconds(1000)
    small = min(seconds(100_000) for _ in range(3))
    large = min(seconds(1_000_000) for _ in range(2))
    assert large < 10 * small * 4 + 0.05
    assert large < 3
