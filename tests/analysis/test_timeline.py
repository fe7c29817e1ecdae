"""Steps, periods, busy time and bounds."""

import pytest

from build import Build
from foretrace.analysis.timeline import timeline


def steps_of(period, work, number=4, width=50):
    """Steps a period apart, each with one kernel of some length, launched in it."""
    build = Build()
    for at in range(number):
        build.step(at, at * period, width).kernel("k", ts=1000 + at * period, dur=work, launched=at * period + 5)
    return build


@pytest.mark.parametrize(("work", "bound"), [(80, "device"), (79, "mixed"), (51, "mixed"), (50, "cpu"), (1, "cpu")])
def test_the_bound_is_busy_over_period_and_exact_at_its_edges(work, bound):
    per_step = timeline(steps_of(100, work).load()).per_step
    assert per_step.period_ns == 100_000
    assert per_step.period_of == "device"
    assert per_step.busy_share == work / 100
    assert per_step.bound == bound


@pytest.mark.case("T17")
@pytest.mark.case("T18")
def test_overlap_counts_twice_in_device_time_and_once_in_busy():
    trace = (
        Build()
        .step(1, 0, 50)
        .kernel("a", ts=100, dur=40, launched=5, stream=7)
        .kernel("b", ts=120, dur=40, launched=10, stream=8)
        .load()
    )
    per_step = timeline(trace).per_step
    assert per_step.device_time_ns.median == 80_000
    assert per_step.busy_ns.median == 60_000
    assert per_step.period_of == "window"
    assert per_step.busy_share == 1.0


def test_busy_is_of_the_busiest_device():
    trace = (
        Build()
        .step(1, 0, 50)
        .kernel("a", ts=100, dur=40, launched=5, device=0)
        .kernel("b", ts=100, dur=30, launched=10, device=1)
        .load()
    )
    assert timeline(trace).per_step.busy_ns.median == 40_000


def cold(width):
    build = Build()
    start = 0
    for at, length in enumerate([width, 1000, 1000, 1000]):
        build.step(at, start, length).kernel("k", ts=start + 100, dur=10, launched=start + 5)
        start += length
    return timeline(build.load())


def test_a_cold_first_step_is_left_out():
    found = cold(2000)
    assert [step.cold for step in found.steps] == [True, False, False, False]
    assert found.per_step.steps == 3
    assert found.per_step.cpu_time_ns.max == 1_000_000
    assert found.per_step.period_ns == 1_000_000


def test_cold_takes_both_half_as_much_again_and_a_millisecond():
    assert not cold(1999).steps[0].cold


def test_steps_without_device_work_do_not_make_a_working_one_cold():
    build = Build().step(1, 0, 9000).kernel("k", ts=5000, dur=10, launched=5).kernel("k", ts=5020, dur=10, launched=20)
    found = timeline(build.step(2, 9000, 50).load())
    assert [step.cold for step in found.steps] == [False, False]
    assert found.per_step.steps == 2
    assert (found.per_step.kernels.min, found.per_step.kernels.max) == (0, 2)


def test_a_cold_step_is_named_only_when_over_half_as_much_again():
    build = Build()
    for at, (start, width) in enumerate([(0, 6000), (6000, 4000), (10000, 4000)]):
        build.step(at, start, width)
    assert not timeline(build.load()).steps[0].cold


def test_counts_that_vary_give_median_and_range():
    build = Build()
    for at, number in enumerate([1, 2, 4]):
        build.step(at, at * 100, 100)
        for each in range(number):
            build.kernel("k", ts=at * 100 + 10 * each, dur=1, launched=at * 100 + each)
    kernels = timeline(build.load()).per_step.kernels
    assert (kernels.value, kernels.min, kernels.max, kernels.varies) == (2, 1, 4, True)


def test_the_median_of_an_even_number_may_lie_between():
    build = Build().step(1, 0, 50).kernel("k", ts=10, dur=1, launched=5).step(2, 50, 50)
    assert timeline(build.load()).per_step.kernels.value == 0.5


def test_a_step_without_activity_takes_the_period_from_the_host():
    build = steps_of(100, 10, number=2).step(9, 300, 50)
    per_step = timeline(build.load()).per_step
    assert per_step.period_of == "host"
    assert per_step.period_ns == 150_000


@pytest.mark.case("M15")
def test_without_steps_the_file_is_one_window():
    build = Build()
    for at in range(32):
        build.kernel("k", ts=100 + 10 * at, dur=5, launched=at)
    found = timeline(build.load())
    assert found.steps == []
    assert found.per_step.steps == 0
    assert found.per_step.kernels.value == 32
    assert found.per_step.period_ns == 315_000
    assert found.per_step.period_of == "window"


def test_without_device_activity_the_bound_is_unknown():
    per_step = timeline(Build().step(1, 0, 10).step(2, 10, 10).op("aten::mm", 0, 5).load()).per_step
    assert per_step.bound == "unknown"
    assert per_step.busy_share is None


def test_lag_is_the_longest_wait_between_launch_and_activity():
    trace = Build().step(1, 0, 50).kernel("a", ts=20, dur=5, launched=10).kernel("b", ts=70, dur=5, launched=15).load()
    assert timeline(trace).per_step.lag_ns.max == 55_000
