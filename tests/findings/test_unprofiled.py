"""Where the wall time without the profiler is known, no more idle time than it leaves is at stake."""

from dataclasses import replace

from making import GEMM, MUL, steps

from foretrace.capture.recording import read_recording, recording_folder
from foretrace.findings.engine import examine
from foretrace.findings.unprofiled import within_wall
from foretrace.report.comparison import comparison


def host_bound():
    """100 tiny kernels of 1 us in a period of 0.8 ms: 0.7 ms idle, by the profiler's leave."""
    trace = steps(lambda step: [step.leaf("aten::mul", MUL, 1) for _ in range(100)], period=800).load()
    return examine(trace).findings


def stakes(found):
    return {finding.code: finding.at_stake_ns for finding in found if finding.severity != "note"}


def test_the_stake_is_what_the_wall_time_leaves():
    before = host_bound()
    assert stakes(before)["FT201"] == 700_000
    after = within_wall(before, wall_ns=500_000, busy_ns=100_000)
    assert stakes(after) == {"FT201": 400_000, "FT202": 400_000}
    cause = after[0]
    assert cause.title == "the GPU waits for the CPU: 0.100 ms of work every 0.500 ms"
    assert "Without the profiler a call takes 0.500 ms" in cause.text


def test_a_stake_within_the_wall_time_stays_as_it_is():
    before = host_bound()
    assert within_wall(before, wall_ns=3_000_000, busy_ns=100_000) == before


def test_a_device_that_is_busy_without_the_profiler_does_not_wait():
    assert stakes(within_wall(host_bound(), wall_ns=102_000, busy_ns=100_000)) == {}
    half = within_wall(host_bound(), wall_ns=180_000, busy_ns=100_000)
    assert stakes(half) == {"FT202": 80_000}
    assert half[0].because is None


def test_device_time_and_notes_are_not_touched():
    trace = steps(lambda step: step.leaf("aten::mm", GEMM, 900)).load()
    device = replace(host_bound()[0], code="FT104", at_stake_ns=700_000)
    assert within_wall([device], wall_ns=100_000, busy_ns=90_000) == (device,)
    assert within_wall(examine(trace).findings, 900_000, 900_000) == examine(trace).findings


def recorded(*, training):
    folder = recording_folder("h200", training=training)
    return {row.name: stakes(row.findings) for row in comparison(read_recording(folder), folder).rows}


def test_no_variant_that_was_timed_has_more_idle_time_at_stake_than_there_is():
    assert recorded(training=False)["flex"] == {}
    found = recorded(training=True)
    assert found["cudnn"] == {}
    assert found["flex"] == {"FT201": 406_896, "FT210": 166_753}


def test_the_backward_of_the_math_path_follows_from_it_in_training():
    assert recorded(training=True)["math"] == {
        "FT105": 5_074_646,
        "FT301": 2_328_928,
        "FT103": 78_527,
        "FT102": 9_990,
    }
