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
    """Both ways to find parents answer the same tests."""
    if request.param == "numpy":
        monkeypatch.setattr(nesting, "parents_in_c", None)
    elif nesting.parents_in_c is None:
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
