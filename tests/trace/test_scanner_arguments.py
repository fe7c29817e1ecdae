"""The extension refuses what it cannot take, and reads nothing outside of what it was given."""

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


@pytest.mark.parametrize("function", ["nest_order", "nest_parents", "nest_own"])
def test_columns_of_ranges_must_be_of_one_length_and_be_there(function):
    call = getattr(scan, function)
    narrow = np.int64 if function == "nest_own" else np.int32
    fine = [np.zeros(3, narrow), np.zeros(3, np.int64), np.zeros(3, np.int64), np.zeros(3, np.int64)]
    call(*fine)
    for at in range(4):
        words = list(fine)
        words[at] = words[at][:2].copy()
        with pytest.raises(ValueError, match="differ in length"):
            call(*words)
    with pytest.raises(ValueError, match="differ in length"):
        call(np.zeros(25, np.uint8), *fine[1:])
    with pytest.raises(TypeError):
        call(*fine[:3])
    with pytest.raises((ValueError, BufferError)):
        call(*fine[:3], memoryview(bytes(24)))


def test_parents_that_lead_nowhere_are_not_followed():
    own = np.zeros(3, np.int64)
    scan.nest_own(np.array([0, 1, 2]), np.array([9, 5, 4]), np.array([7, -5, 2**62]), own)
    assert own.tolist() == [9, 4, 2]


def test_threads_that_are_not_numbered_are_left_to_others():
    for thread in ([-1, 0, 1], [0, 2**30, 1]):
        order = np.full(3, -1, np.int64)
        assert not scan.nest_order(np.array(thread, np.int32), np.arange(3), np.arange(3) + 1, order)
        assert order.tolist() == [-1, -1, -1]
