"""The forest of ranges, against a search that looks at every pair."""

import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foretrace.trace import nesting, preorder
from foretrace.trace.nesting import forest, forest_of_chosen

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


@pytest.fixture(params=["c", "numpy", "loops"], autouse=True)
def way(request, monkeypatch):
    """All ways answer the same tests; the loops do what a few array passes leave."""
    if request.param == "loops":
        monkeypatch.setattr(nesting, "_PASSES", 1)
    if request.param != "c":
        monkeypatch.setattr(preorder, "compiled", None)
    elif preorder.compiled is None:
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
    own = {int(at): int(length) for at, length in zip(woods.original, woods.own_lengths, strict=True)}
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


@given(RANGES, st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 30)), max_size=20))
def test_numbers_of_threads_do_not_matter_for_moments(ranges, asked):
    thread, start, length = np.array(ranges, np.int64).reshape(-1, 3).T
    apart = thread * 2**33 - 5
    moments = np.array([moment for _, moment in asked], np.int64)
    threads = np.array([thread * 2**33 - 5 for thread, _ in asked], np.int64)
    expected = [innermost(ranges, thread, moment) for thread, moment in asked]
    assert forest(apart, start, start + length).innermost(threads, moments).tolist() == expected
    assert grown(ranges).innermost(threads // 2**33 + 1, moments).tolist() == expected


@given(RANGES, st.data())
def test_the_nesting_of_some_ranges_is_as_if_there_were_no_others(ranges, data):
    chosen = data.draw(st.lists(st.integers(0, len(ranges) - 1), unique=True)) if ranges else []
    chosen.sort()
    thread, start, length = np.array(ranges, np.int64).reshape(-1, 3).T
    for kind in (np.int32, np.int64):
        columns = thread.astype(kind), start, start + length
        order = nesting.nesting_order(*columns)
        woods = forest_of_chosen(order, *columns, np.array(chosen, np.int32))
        alone = grown([ranges[at] for at in chosen])
        for name in ("original", "parent", "thread", "start", "end"):
            assert getattr(woods, name).tolist() == getattr(alone, name).tolist()
        assert woods.bounds == alone.bounds


def ancestors(parents, at):
    """From the nearest outward."""
    while parents[at] >= 0:
        at = parents[at]
        yield at


@given(RANGES, st.lists(st.integers(-50, 2**60), min_size=25, max_size=25))
def test_a_sum_is_over_all_that_lies_inside(ranges, amounts):
    woods = grown(ranges)
    parents = woods.parents().tolist()
    inside = {at: set(ancestors(parents, at)) for at in range(len(ranges))}
    expected = [
        (amounts[at] + sum(amounts[other] for other in inside if at in inside[other]) + 2**63) % 2**64 - 2**63
        for at in range(len(ranges))
    ]
    values = np.array(amounts[: len(ranges)], np.int64)
    assert woods.sums(values).tolist() == expected
    assert values.tolist() == amounts[: len(ranges)]


def test_sums_that_are_too_large_wrap_around_both_ways():
    woods = grown([(0, 0, 9), (0, 1, 5), (0, 2, 2)])
    assert woods.sums(np.array([2**62, 2**62, 5])).tolist() == [5 - 2**63, 2**62 + 5, 5]


@given(RANGES, st.lists(st.integers(0, 3), min_size=25, max_size=25))
def test_inside_one_of_the_same_name(ranges, names):
    woods = grown(ranges)
    parents = woods.parents().tolist()
    expected = [any(names[at] == names[above] for above in ancestors(parents, at)) for at in range(len(ranges))]
    for kind in (np.int32, np.int64):
        assert woods.is_inside_alike(np.array(names[: len(ranges)], kind)).tolist() == expected


@given(RANGES, st.lists(st.booleans(), min_size=25, max_size=25))
def test_the_counted_range_around_and_crossings_of_it(ranges, flags):
    woods = grown(ranges)
    parents, ends = woods.parents().tolist(), [start + length for _, start, length in ranges]
    counted = np.array(flags[: len(ranges)], bool)
    expected = [next((above for above in ancestors(parents, at) if flags[above]), -1) for at in range(len(ranges))]
    around = woods.around(counted[woods.original])
    found = np.append(woods.original, -1)[around]
    assert found[np.argsort(woods.original)].tolist() == expected
    crossing = [flags[at] and above >= 0 and ends[at] > ends[above] for at, above in enumerate(expected)]
    assert woods.crossings(counted) == sum(crossing)


@pytest.mark.parametrize("level", [0, 8, 1000])
@given(
    ranges=RANGES,
    flags=st.lists(st.booleans(), min_size=25, max_size=25),
    asked=st.lists(st.integers(-1, 24), max_size=30),
)
def test_climbs_end_at_the_innermost_or_the_outermost_counted_range(ranges, flags, asked, level, monkeypatch):
    monkeypatch.setattr(preorder, "LEVEL", level)
    woods = grown(ranges)
    parents = woods.parents().tolist()
    asked = [at for at in asked if at < len(ranges)]
    counted = np.array(flags[: len(ranges)], bool)
    hits = [[up for up in (at, *ancestors(parents, at)) if flags[up]] if at >= 0 else [] for at in asked]
    some = np.array(asked, np.int64)
    assert woods.climb(some, counted).tolist() == [found[0] if found else -1 for found in hits]
    assert woods.climb_out(some, counted).tolist() == [found[-1] if found else -1 for found in hits]
    inside = [flags[at] or any(flags[up] for up in ancestors(parents, at)) for at in range(len(ranges))]
    assert woods.is_inside(counted).tolist() == inside
    assert counted.tolist() == flags[: len(ranges)]


def shaped(shape, count):
    """Starts and ends of ranges, and moments, that made climbs long."""
    at = np.arange(count, dtype=np.int64)
    same = np.full(count, 1000)
    return {
        "deep": (at, 2 * count - at, 2 * count + at),
        "stairs": (at, at + count, 3 * count + at),
        "crossing": (10 * at, 10 * at + 15, 10 * at + 12),
        "at once": (same, same + 100, np.full(count, 2000)),
        "inside": (at, 2 * count - at, count + at),
    }[shape]


@pytest.mark.case("F26")
@pytest.mark.parametrize("shape", ["deep", "stairs", "crossing", "at once", "inside"])
def test_questions_to_a_deep_forest_take_nearly_linear_time(shape):
    def seconds(count):
        start, end, moments = shaped(shape, count)
        zeros = np.zeros(count, np.int32)
        begin = time.perf_counter()
        woods = forest(np.append(zeros, zeros), np.append(start, moments), np.append(end, moments + 1))
        woods = forest(zeros, start, end)
        woods.innermost(zeros, moments)
        woods.depths()
        woods.sums(start)
        woods.is_inside_alike(zeros)
        woods.crossings(np.arange(count) < 2)
        woods.climb(np.arange(count), np.arange(count) < 2)
        woods.climb_out(np.arange(count), np.arange(count) > 2)
        return time.perf_counter() - begin

    small = min(seconds(20_000) for _ in range(3))
    large = min(seconds(100_000) for _ in range(2))
    assert large < 5 * small * 3 + 0.05
    assert large < 2


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
