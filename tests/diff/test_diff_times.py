"""When a change of time is more than noise."""

import pytest

from build import Build
from foretrace.analysis.timeline import Spread
from foretrace.differences import diff
from foretrace.differences.noise import verdict
from foretrace.predictions import metrics


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        ((100, 100, 100), (100, 100, 100), "within noise"),
        ((100, 95, 105), (106, 104, 110), "within noise"),
        ((100, 99, 101), (102, 102, 104), "within noise"),
        ((100, 99, 100), (102, 102, 104), "within noise"),
        ((100, 99, 100), (103, 103, 104), "slower"),
        ((103, 103, 104), (100, 99, 100), "faster"),
        ((0, 0, 0), (0, 0, 0), "within noise"),
        ((0, 0, 0), (50, 50, 50), "slower"),
    ],
)
def test_ranges_must_lie_apart_by_more_than_the_margin(before, after, word):
    assert verdict(Spread(*before), Spread(*after), steps=3, margin=0.02).word == word


def test_one_step_tells_only_large_changes():
    one, near, far = Spread(100, 100, 100), Spread(110, 110, 110), Spread(130, 130, 130)
    assert verdict(one, near, steps=1, margin=0.02).word == "unknown"
    assert verdict(one, near, steps=2, margin=0.02).word == "slower"
    assert verdict(one, far, steps=1, margin=0.02).word == "slower"


def test_the_change_is_relative_to_before():
    assert verdict(Spread(200, 200, 200), Spread(100, 100, 100), steps=3, margin=0.02).share == -0.5
    assert verdict(Spread(0, 0, 0), Spread(100, 100, 100), steps=3, margin=0.02).share is None


def steps(durations, cpu=(400, 100, 100, 100)):
    made = Build().gpu()
    for number, width in enumerate(cpu):
        made.step(number, 1000 * number, width)
        for at, (name, dur) in enumerate(durations.items()):
            made.op(f"aten::{name}", 1000 * number + 10 * at + 1, 9)
            made.kernel(name, 1000 * number + 500 + 100 * at, dur, 1000 * number + 10 * at + 2)
    return made.load()


def test_a_kernel_that_got_slower_is_named():
    found = diff(steps({"a": 50, "b": 20}), steps({"a": 50, "b": 30}))
    assert found.structure == ()
    assert [(time.name, time.path, time.verdict.word) for time in found.kernel_times] == [("b", ("aten::b",), "slower")]
    assert found.times_changed
    assert found.summary == ("The structure is the same; device time 70.0 to 80.0 us (+14 %): all of it is b.")


def test_the_first_step_that_the_profiler_slows_does_not_make_cpu_times_noise():
    found = diff(steps({"a": 50}), steps({"a": 50}, cpu=(400, 200, 200, 200)))
    (cpu,) = (time for time in found.step_times if time.metric == "cpu_time")
    assert (cpu.before.min, cpu.before.max) == (100_000, 400_000)
    assert cpu.before == metrics(found.before)["cpu_time"].value
    assert cpu.verdict.word == "slower"


def test_times_of_a_changed_structure_are_not_told_kernel_by_kernel():
    found = diff(steps({"a": 50, "b": 20}), steps({"a": 50, "c": 40}))
    assert found.kernel_times == ()
    assert found.structure_changed
