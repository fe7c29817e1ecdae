"""The extension refuses what it cannot take, and reads nothing outside of what it was given."""

import contextlib

import numpy as np
import pytest

from foretrace.trace.kineto import CATEGORIES, DEVICE_CATEGORIES, Category

scan = pytest.importorskip("foretrace.trace._scan", reason="the scanner was not built: no C compiler here")

EVENT = b'{"ph": "X", "cat": "cpu_op", "name": "%s", "pid": 1, "tid": %d, "ts": %d, "dur": 1}'


def scanner():
    names = {text: int(category) for text, category in CATEGORIES.items()}
    return scan.Scanner(names, int(Category.CPU_OP), bytes(DEVICE_CATEGORIES), "CPU functions", 7)


def read(*events):
    made = scanner()
    text = b", ".join(events) + b" "
    assert made.scan(text, 0, len(text), 0)[0] == 1
    return made


def test_one_scanner_takes_over_what_another_read():
    first = read(EVENT % (b"a", 1, 1), EVENT % (b"b", 2, 2))
    first.absorb(read(EVENT % (b"c", 3, 3), EVENT % (b"a", 1, 4)))
    names, threads = first.strings(), first.threads()
    rows = first.columns(0)
    assert names == ["a", "b", "c"]
    assert threads == [("1", "1"), ("1", "2"), ("1", "3")]
    assert np.frombuffer(rows[0], np.int64).tolist() == [0, 1, 2, 3]
    assert [names[at] for at in np.frombuffer(rows[2], np.int32)] == ["a", "b", "c", "a"]
    assert np.frombuffer(rows[3], np.int32).tolist() == [0, 1, 2, 0]
    assert np.frombuffer(first.columns(2)[0], np.int32).tolist() == [0, 1, 2, 3]
    assert first.phases() == {"X": 4}
    assert first.facts()[0] == 4


def test_a_scanner_that_read_nothing_takes_over_all_and_gives_all():
    empty = scanner()
    empty.absorb(read(EVENT % (b"a", 1, 1)))
    empty.absorb(scanner())
    assert empty.strings() == ["a"]
    assert empty.facts()[0] == 1


def test_what_was_taken_over_is_gone_from_the_other():
    first, second = read(EVENT % (b"a", 1, 1)), read(EVENT % (b"b", 1, 2))
    first.absorb(second)
    assert [len(bytes(column)) for column in second.columns(0)] == [0] * 10


def test_only_another_scanner_can_be_taken_over():
    one = scanner()
    for other in (one, None, b"", object()):
        with pytest.raises(TypeError, match="another scanner"):
            one.absorb(other)


@pytest.mark.parametrize(
    ("function", "widths"),
    [
        ("nest_order", (4, 8, 8, 8)),
        ("nest_parents", (4, 8, 8, 8)),
        ("nest_own", (8, 8, 8, 8)),
        ("nest_depths", (8, 8)),
        ("nest_around", (8, 1, 8)),
        ("nest_sums", (8, 8)),
        ("nest_alike", (8, 4, 8)),
    ],
)
def test_columns_of_ranges_must_be_of_one_length_and_be_there(function, widths):
    call = getattr(scan, function)
    kinds = {1: bool, 4: np.int32, 8: np.int64}
    fine = [np.zeros(3, kinds[width]) for width in widths]
    call(*fine)
    for at in range(len(fine)):
        words = list(fine)
        words[at] = words[at][:2].copy()
        with pytest.raises(ValueError, match="differ in length"):
            call(*words)
    with pytest.raises(ValueError, match="differ in length"):
        call(np.zeros(25, np.uint8), *fine[1:])
    for some in (fine[:-1], [*fine, fine[0]]):
        with pytest.raises(TypeError, match="columns are needed"):
            call(*some)
    with pytest.raises(TypeError):
        call(None, *fine[1:])
    with pytest.raises((ValueError, BufferError)):
        call(*fine[:-1], memoryview(bytes(24)))


def test_ranges_and_moments_are_two_tables():
    def columns(ranges, moments):
        kinds = (np.int32, np.int64, np.int64, np.int64), (np.int32, np.int64, np.int64)
        return [np.zeros(count, kind) for count, some in zip((ranges, moments), kinds, strict=True) for kind in some]

    for ranges in (0, 1, 5):
        for moments in (0, 1, 3):
            assert scan.nest_innermost(*columns(ranges, moments))
    for at in range(7):
        words = columns(5, 3)
        words[at] = words[at][:2].copy()
        with pytest.raises(ValueError, match="differ in length"):
            scan.nest_innermost(*words)
        words[at] = None
        with pytest.raises(TypeError):
            scan.nest_innermost(*words)
    with pytest.raises(TypeError, match="7 columns"):
        scan.nest_innermost(*columns(5, 3)[:6])
    with pytest.raises((ValueError, BufferError)):
        scan.nest_innermost(*columns(5, 3)[:6], memoryview(bytes(24)))


def test_crossings_are_counted_of_columns_alone():
    end, parent, counted = np.array([9, 12, 5]), np.array([-1, 0, 1]), np.array([True, True, True])
    assert scan.nest_crossings(end, parent, counted) == 1
    assert scan.nest_crossings(end[:0], parent[:0], counted[:0]) == 0
    assert scan.nest_crossings(end, np.array([7, -5, 2**62]), counted) == 0
    for words in ((end, parent, counted[:2]), (end[:2], parent, counted)):
        with pytest.raises(ValueError, match="differ in length"):
            scan.nest_crossings(*words)
    for words in ((end, parent), (end, parent, counted, end)):
        with pytest.raises(TypeError, match="3 columns"):
            scan.nest_crossings(*words)
    with pytest.raises(TypeError):
        scan.nest_crossings(None, parent, counted)


def picks(ranges=5, chosen=3):
    kinds = (np.int64, np.int32, np.int64, np.int64), (np.int64, np.int64, np.int32, np.int64, np.int64)
    all_ranges, some = (
        [np.zeros(count, kind) for kind in row] for count, row in zip((ranges, chosen), kinds, strict=True)
    )
    all_ranges[0][:] = np.arange(ranges)
    some[0][:] = np.arange(chosen)
    return [*all_ranges, *some]


def test_ranges_and_those_picked_are_two_tables():
    for ranges, chosen in ((0, 0), (1, 0), (1, 1), (5, 3), (5, 5)):
        assert scan.nest_pick(*picks(ranges, chosen))
    for at in range(9):
        words = picks()
        words[at] = words[at][:2].copy()
        with pytest.raises(ValueError, match="differ in length"):
            scan.nest_pick(*words)
        words[at] = None
        with pytest.raises(TypeError):
            scan.nest_pick(*words)
    with pytest.raises(TypeError, match="9 columns"):
        scan.nest_pick(*picks()[:8])
    with pytest.raises((ValueError, BufferError)):
        scan.nest_pick(*picks()[:8], memoryview(bytes(24)))


@pytest.mark.parametrize("chosen", [[0, 1, 5], [-1, 0, 1], [0, 1, 2**62], [1, 1, 2], [0, -(2**63), 3]])
def test_what_is_not_there_cannot_be_picked(chosen):
    words = picks()
    words[4][:] = chosen
    with pytest.raises(ValueError, match="each of the chosen once"):
        scan.nest_pick(*words)


@pytest.mark.parametrize("order", [[0, 1, 5, 3, 4], [-1, 1, 2, 3, 4], [0, 0, 1, 2, 2**62], [3, 3, 4, 4, 0]])
def test_an_order_that_leads_nowhere_picks_nothing_outside(order):
    words = picks()
    words[0][:] = order
    with contextlib.suppress(ValueError):
        scan.nest_pick(*words)
    assert all(0 <= at < 3 for at in words[5])


def test_parents_that_lead_nowhere_are_not_followed():
    own = np.zeros(3, np.int64)
    scan.nest_own(np.array([0, 1, 2]), np.array([9, 5, 4]), np.array([7, -5, 2**62]), own)
    assert own.tolist() == [9, 4, 2]
    for wild in ([7, -5, 2**62], [0, 1, 2], [2, 2, 0], [-(2**63), 2**63 - 1, 3]):
        parent, out = np.array(wild), np.full(3, -9, np.int64)
        scan.nest_depths(parent, out)
        assert out.tolist() == [0, 0, 1 if wild[2] == 0 else 0]
        scan.nest_around(parent, np.ones(3, bool), out)
        assert out.tolist() == [-1, -1, 0 if wild[2] == 0 else -1]
        scan.nest_alike(parent, np.zeros(3, np.int32), out)
        assert max(out.tolist()) < 2
        scan.nest_sums(parent, out)
        thread, times = np.zeros(3, np.int32), np.arange(3)
        assert scan.nest_innermost(thread, times, times, parent, thread, times, out)
        assert out.tolist() == [-1, -1, -1]


def test_ranges_in_no_order_are_answered_somehow():
    random = np.random.default_rng(3)
    for _ in range(200):
        count, asked = random.integers(0, 30, 2)
        thread, times = random.integers(-2, 3, count).astype(np.int32), random.integers(-5, 20, (3, count))
        out, where = np.empty(asked, np.int64), random.integers(0, 3, asked).astype(np.int32)
        assert scan.nest_innermost(thread, *times, where, random.integers(-5, 20, asked), out)
        assert ((out >= -1) & (out < max(count, 0))).all()
        alike = np.empty(count, np.int64)
        assert scan.nest_alike(times[2].copy(), np.maximum(thread, 0), alike)
        assert ((alike >= -1) & (alike < np.arange(count))).all()


def test_threads_that_are_not_numbered_are_left_to_others():
    for thread in ([-1, 0, 1], [0, 2**30, 1]):
        order = np.full(3, -1, np.int64)
        assert not scan.nest_order(np.array(thread, np.int32), np.arange(3), np.arange(3) + 1, order)
        assert order.tolist() == [-1, -1, -1]
        assert not scan.nest_alike(np.arange(3) - 1, np.array(thread, np.int32), order)
        zero = np.zeros(3, np.int32), np.arange(3), np.arange(3) + 1, np.arange(3) - 1
        assert not scan.nest_innermost(*zero, np.array(thread, np.int32), np.arange(3), order)
        assert order.tolist() == [-1, -1, -1]
