"""The trust header: each doubt fires on its case, says its count, and stays quiet on a clean file."""

import pytest

from build import Build
from foretrace.report.data import reading
from foretrace.trace.link import link
from foretrace.trace.load import load_trace
from foretrace.trace.parse import parse_events


def header(build):
    return {doubt.code: doubt for doubt in reading(build.load()).doubts}


def clean():
    """Two steps of one kernel each, every time in order, a GPU in the header."""
    build = Build().gpu()
    for at in range(2):
        build.step(at, 100.5 + 100 * at, 90).op("aten::mm", 101.5 + 100 * at, 20)
        build.kernel("k", ts=130.25 + 100 * at, dur=50.125, launched=105.5 + 100 * at)
    return build


def test_a_clean_file_has_an_empty_header():
    assert header(clean()) == {}


def test_unlinked_activity_says_what_it_does_to_other_totals():
    doubt = header(clean().kernel("early", ts=90.5, dur=10).kernel("early", ts=91, dur=9))["unlinked-activity"]
    assert (doubt.count, doubt.time_ns) == (2, 19_000)
    assert doubt.text == (
        "2 kernels (19.0 us) were launched before the recording. A step has 1 kernel in 50.1 us; PyTorch's table adds "
        "them: 2 in 59.6 us."
    )


def test_an_unlinked_copy_adds_time_and_no_kernel():
    doubt = header(clean().memcpy("Memcpy DtoD (Device -> Device)", ts=90.5, dur=10, launched=None))[
        "unlinked-activity"
    ]
    assert doubt.text.endswith("A step has 50.1 us of device time; PyTorch's table adds them: 55.1 us.")


def test_a_file_that_was_cut_off_is_not_said_to_hold_true_counts(tmp_path):
    build = Build().gpu().kernel("early", ts=90.5, dur=10).step(0, 100.5, 90).op("aten::mm", 101.5, 20)
    text = build.kernel("k", ts=130.25, dur=50.125, launched=105.5).op("aten::add", 150, 20).text()
    path = tmp_path / "cut.json"
    path.write_bytes(text[: text.index(b"aten::add")])
    doubts = {doubt.code: doubt.text for doubt in reading(load_trace(path)).doubts}
    assert "cut-off" in doubts
    assert "A step has" not in doubts["unlinked-activity"]
    assert "What is left of a step has 1 kernel in" in doubts["unlinked-activity"]


def test_unlinked_activity_without_any_launch_in_the_file():
    doubt = header(Build().gpu().kernel("k", ts=1.5, dur=1))["unlinked-activity"]
    assert doubt.text == "1 kernel (1.0 us) was recorded, but no launches were. It belongs to no op."


def test_launches_whose_activity_is_missing():
    build = clean().call("cudaLaunchKernel", 290).call("cudaMemcpyAsync", 295)
    doubt = header(build)["missing-activity"]
    assert doubt.count == 2
    assert "cudaLaunchKernel 1" in doubt.text


def test_a_launch_inside_a_launch_is_the_same_launch():
    build = clean().kernel("k", ts=292.5, dur=5, launched=280)
    build.call("cuLaunchKernel", 281, 2, cat="cuda_driver")
    assert "missing-activity" not in header(build)


def test_launches_inside_a_graph_capture_run_nothing():
    build = clean().call("cudaStreamBeginCapture", 300).call("cudaLaunchKernel", 310).call("cudaStreamEndCapture", 320)
    assert "missing-activity" not in header(build)


@pytest.mark.case("M01")
def test_launches_and_no_activity_at_all():
    build = Build().gpu().op("aten::mm", 0.5, 100)
    for at in range(6):
        build.call("cudaLaunchKernel", 10 * at + 1)
    found = header(build)
    assert found["no-device-activity"].count == 6
    assert "6 launches recorded, no device activity" in found["no-device-activity"].text
    assert "unknown, not zero" in found["no-device-activity"].text
    assert "missing-activity" not in found
    per_step = reading(build.load()).timeline.per_step
    assert per_step.busy_share is None


@pytest.mark.case("M03")
def test_no_device_activity_is_told_apart_as_far_as_the_file_allows():
    cpu = header(Build().op("aten::mm", 0.5, 100))["no-device-activity"].text
    listed = header(Build().gpu("Tesla T4").op("aten::mm", 0.5, 100))["no-device-activity"].text
    assert cpu.startswith("A CPU recording")
    assert listed.startswith("Tesla T4 is listed")
    assert "ProfilerActivity.CUDA" in listed


@pytest.mark.case("M06")
def test_an_empty_recording_is_valid():
    nothing = header(Build())["no-events"].text
    assert "valid" in nothing
    assert "no events at all" in nothing
    metadata = Build().event(ph="M", name="process_name", pid=1, tid=0, args={"name": "python"})
    assert "1 entry but no timed event" in header(metadata)["no-events"].text


@pytest.mark.case("M15")
def test_no_steps_and_an_annotation_that_could_be_one():
    build = clean()
    build.events = [event for event in build.events if not event["name"].startswith("ProfilerStep")]
    assert "one window" in header(build)["no-steps"].text
    build.annotation("batch", 100.5, 90).annotation("batch", 200.5, 90)
    assert "--step 'batch'" in header(build)["no-steps"].text


def test_a_cold_first_step_is_named():
    build = Build().gpu()
    start = 0.5
    for at, width in enumerate([9000, 1000, 1000]):
        build.step(at, start, width).op("aten::mm", start + 1, 10)
        build.kernel("k", ts=start + 50, dur=10, launched=start + 2)
        start += width
    doubt = header(build)["cold-step"]
    assert doubt.text.startswith("ProfilerStep#0 is cold: 9.000 ms on the CPU against 1.000 ms")


@pytest.mark.case("T19")
def test_profiler_overhead_inside_a_launch_is_no_launch_cost():
    build = clean().kernel("k", ts=2050.5, dur=5, launched=None)
    build.step(2, 300.5, 2000).call("cudaLaunchKernel", 310, 1800, correlation=build._correlation)
    build.x("overhead", "Activity Buffer Request", 320, 1700)
    doubt = header(build)["profiler-overhead"]
    assert (doubt.count, doubt.time_ns) == (1, 1_700_000)
    assert "lies in a cudaLaunchKernel of 1.800 ms: that is no launch cost" in doubt.text
    assert doubt.text.startswith("The profiler's own work (Activity Buffer Request) took 1.700 ms inside the steps. ")


def test_loading_code_is_not_called_the_profilers_work():
    build = clean().x("overhead", "Lazy Function Loading", 110, 3).x("overhead", "Activity Buffer Request", 120, 5)
    build.x("overhead", "Runtime Triggered Module Loading", 115, 2)
    doubt = header(build)["profiler-overhead"]
    assert doubt.text == (
        "The profiler's own work (Activity Buffer Request) took 5.0 us inside the steps, loading code to the device at "
        "its first use (Lazy Function Loading, Runtime Triggered Module Loading) 5.0 us."
    )
    alone = header(clean().x("overhead", "Lazy Function Loading", 110, 3))["profiler-overhead"]
    assert alone.text.startswith("Loading code to the device at its first use (Lazy Function Loading) took 3.0 us")


def test_profiler_overhead_outside_the_steps_is_nobodys_concern():
    assert "profiler-overhead" not in header(clean().x("overhead", "Activity Buffer Request", 5, 10))


@pytest.mark.case("F11")
def test_kernels_without_times_count_but_add_no_time():
    build = Build().gpu().step(1, 1000.5, 500)
    for at in range(3):
        build.kernel("good", ts=2000 + 100 * at, dur=50, launched=1010 + at)
    for at in range(2):
        build.kernel("zero", ts=0, dur=0, launched=1020 + at)
    found = reading(build.load())
    doubt = {each.code: each for each in found.doubts}["zero-times"]
    assert doubt.count == 2
    assert found.timeline.per_step.kernels.value == 5
    assert found.timeline.per_step.device_time_ns.median == 150_000
    assert found.timeline.per_step.period_ns == 250_000
    assert found.trace.span_ns == 1_249_500


@pytest.mark.case("F12")
def test_events_without_times_do_not_stretch_the_span():
    build = Build()
    for at in range(5):
        build.op("aten::mm", 1_000_000.5 + 10 * at, 5)
    for _ in range(5):
        build.op("aten::mm", 0.000, 0.000)
    found = reading(build.load())
    assert found.trace.span_ns == 45_000
    text = {each.code: each for each in found.doubts}["zero-times"].text
    assert "5 records have no time" in text
    assert "50 % of the file" in text


@pytest.mark.case("F15")
@pytest.mark.parametrize("host", [True, False])
def test_a_kernel_of_many_years_is_left_out_and_listed(host):
    build = Build().gpu()
    if host:
        build.op("aten::mm", 0.5, 100)
    for at in range(4):
        build.kernel("k", ts=200.5 + 20 * at, dur=10, launched=10 + at if host else None)
    build.kernel("broken", ts=300.5, dur=7.4e15, launched=20 if host else None)
    found = reading(build.load())
    doubt = {each.code: each for each in found.doubts}["absurd-times"]
    assert doubt.count == 1
    assert "broken" in doubt.text
    assert sum(row.time_ns for row in found.kernels) == 40_000
    assert sum(row.calls for row in found.kernels) == 5


def test_a_start_far_from_the_recording_does_not_set_the_origin():
    build = clean()
    for event in build.events:
        event["ts"] += 1_700_000_000_000_000
    build.op("stray", 1.5, 10)
    found = reading(build.load())
    assert {each.code for each in found.doubts} == {"absurd-times"}
    assert found.trace.span_ns < 1_000_000


def test_a_long_kernel_of_a_short_recording_is_believed():
    build = Build().gpu().op("aten::mm", 0.5, 100).kernel("long", ts=50.5, dur=99_000, launched=10)
    assert header(build).keys() == {"no-steps"}


@pytest.mark.case("F17")
def test_whole_microseconds_are_said_and_short_kernels_counted():
    build = Build().gpu().op("aten::mm", 1, 500)
    for at in range(50):
        build.kernel("k", ts=1000 + 2 * at, dur=at % 2, launched=2 + at)
    found = reading(build.load())
    text = {each.code: each for each in found.doubts}["whole-microseconds"].text
    assert "50 of 50 activities last 1 us or less" in text
    assert found.counts["kernels"] == 50


@pytest.mark.case("F18")
def test_crossing_ranges_are_counted():
    build = clean().op("A", 500.5, 100).op("B", 550.5, 70)
    assert header(build)["crossing-ranges"].count == 1


@pytest.mark.case("F20")
def test_overlap_on_one_stream_counts_and_is_said_to_be_hidden():
    build = clean()
    build.kernel("A", ts=503, dur=3.776, launched=450).kernel("B", ts=505, dur=2, launched=460)
    found = reading(build.load())
    doubt = {each.code: each for each in found.doubts}["stream-overlap"]
    assert (doubt.count, doubt.time_ns) == (1, 1_776)
    assert "viewers hide them" in doubt.text
    assert doubt.text.startswith("1 kernel starts before the previous activity on its stream has ended")
    assert found.counts["kernels"] == 4


@pytest.mark.parametrize(
    ("card", "start", "why"),
    [
        ({}, 505, "dependent launches do that, and clocks"),
        ({"name": "NVIDIA A100", "computeMajor": 8}, 505, "clocks do that"),
        ({"name": "AMD Instinct MI300X", "computeMajor": 9, "computeMinor": 4}, 505, "clocks do that"),
        ({}, 506, "none by more than the microsecond to which times are cut"),
    ],
)
def test_the_reason_for_an_overlap_is_one_that_the_card_and_the_file_allow(card, start, why):
    build = Build().gpu(**card).kernel("A", ts=503, dur=4, launched=450).kernel("B", ts=start, dur=2, launched=460)
    assert f"; {why})" in header(build)["stream-overlap"].text


def test_overlap_on_two_streams_is_no_doubt():
    build = (
        clean().kernel("A", ts=503.5, dur=9, launched=110, stream=8).kernel("B", ts=505, dur=9, launched=111, stream=9)
    )
    assert "stream-overlap" not in header(build)


@pytest.mark.case("F21")
def test_an_end_seconds_too_late_is_found_whatever_it_does_to_the_sums():
    build = Build().gpu("AMD Instinct MI300X")
    for at in range(1000):
        build.kernel("k", ts=100.5 + 60 * at, dur=2_000_000 if at == 500 else 50)
    doubt = header(build)["overrun"]
    assert doubt.count == 1
    assert "event 500" in doubt.text
    assert "1.999 s" in doubt.text or "2.000 s" in doubt.text


@pytest.mark.case("F21")
def test_collisions_of_microseconds_are_no_overrun():
    build = Build().gpu("AMD Instinct MI300X")
    for at in range(1000):
        build.kernel("k", ts=100.5 + 50 * at, dur=54)
    found = header(build)
    assert "overrun" not in found
    assert found["stream-overlap"].count == 999


@pytest.mark.case("F22")
def test_a_file_with_every_defect_has_a_line_for_each():
    build = Build().gpu().step(1, 1000.5, 1000).op("A", 1001.5, 100).op("B", 1050.5, 90)
    build.kernel("good", ts=1200.5, dur=50, launched=1010)
    build.kernel("overlaps", ts=1210.5, dur=60, launched=1011)
    build.kernel("same start", ts=1210.5, dur=60, launched=1012)
    build.kernel("no time", ts=0, dur=0, launched=1013)
    build.kernel("before its launch", ts=1005.5, dur=5, launched=1014)
    build.kernel("unlinked", ts=1400.5, dur=5)
    build.kernel("outside", ts=3500.5, dur=5, launched=3000)
    found = header(build)
    counts = {code: doubt.count for code, doubt in found.items()}
    assert counts == {
        "unlinked-activity": 1,
        "zero-times": 1,
        "stream-overlap": 2,
        "clock-skew": 1,
        "outside-steps": 1,
        "crossing-ranges": 1,
    }


def test_activity_before_its_launch_gives_the_skew():
    doubt = header(clean().kernel("k", ts=500.5, dur=5, launched=512.5))["clock-skew"]
    assert (doubt.count, doubt.time_ns) == (1, 12_000)


@pytest.mark.case("T06")
def test_graph_replay_says_how_much_it_hides():
    build = Build().gpu().step(1, 0.5, 100).op("replay", 1.5, 50)
    build.replay([f"k{at}" for at in range(40)], 200.5, 2, launched=20, launch="hipGraphLaunch")
    doubt = header(build)["graph-replay"]
    assert doubt.count == 40
    assert "inside 1 graph replay (100 % of device time)" in doubt.text


@pytest.mark.case("T02")
def test_ids_that_name_no_op_are_said_to():
    build = clean()
    for event in build.events:
        if event.get("cat") == "kernel":
            event["args"]["External id"] = event["args"]["correlation"]
    for event in build.events:
        if event.get("cat") == "cpu_op":
            event["args"]["External id"] += 1000
    doubt = header(build)["external-ids"]
    assert "repeat the correlation" in doubt.text
    assert doubt.count == 2


@pytest.mark.case("F09")
def test_the_old_autograd_list_says_what_it_cannot_hold():
    text = (
        b'[{"name": "aten::mm", "ph": "X", "ts": 0.5, "dur": 10.0, "tid": 1, "pid": "CPU functions", "args": {}},'
        b'{"name": "aten::add", "ph": "X", "ts": 20.5, "dur": 5.0, "tid": 1, "pid": "CPU functions", "args": {}}]'
    )
    found = reading(link(parse_events(text), path="old.json", file="old.json", size=len(text)))
    codes = {each.code: each for each in found.doubts}
    assert "cannot hold launches, device activity or steps" in codes["old-autograd-list"].text
    assert [row.name for row in found.ops] == ["aten::mm", "aten::add"]


@pytest.mark.case("F24")
def test_wall_clock_only_where_the_base_is_known():
    known = Build(baseTimeNanoseconds=1_790_857_026_000_000_000).op("aten::mm", 1000.5, 1).load()
    unknown = Build().op("aten::mm", 1000.5, 1).load()
    assert reading(known).to_json()["trace"]["start_unix_ns"] == 1_790_857_026_001_000_500
    assert reading(unknown).to_json()["trace"]["start_unix_ns"] is None
