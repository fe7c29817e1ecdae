"""The kernel table and the op table."""

import csv

import pytest

from build import Build
from foretrace.analysis.launches import OUTSIDE
from foretrace.report.data import reading


def test_rows_differ_by_name_owner_launch_and_configuration():
    def kernel(build, at, **more):
        return build.kernel("k", ts=100 + at, dur=1, launched=at, **more)

    build = Build().step(1, 0, 100).op("aten::a", 0, 10).op("aten::b", 10, 10)
    kernel(build, 1, **{"registers per thread": 32})
    kernel(build, 2, **{"registers per thread": 32})
    kernel(build, 3, **{"registers per thread": 64})
    kernel(build, 11, **{"registers per thread": 32})
    kernel(build, 12, launch="cuLaunchKernel", **{"registers per thread": 32})
    kernel(build, 30)
    build.kernel("k", ts=200, dur=1)
    rows = reading(build.load()).kernels
    assert sorted((row.owner or "", row.launch or "", row.registers or 0, row.calls) for row in rows) == [
        ("", "", 0, 1),
        ("aten::a", "cudaLaunchKernel", 32, 2),
        ("aten::a", "cudaLaunchKernel", 64, 1),
        ("aten::b", "cuLaunchKernel", 32, 1),
        ("aten::b", "cudaLaunchKernel", 32, 1),
        (OUTSIDE, "cudaLaunchKernel", 0, 1),
    ]


def test_shares_are_of_linked_time_in_steps():
    trace = (
        Build()
        .step(1, 0, 100)
        .op("aten::a", 0, 50)
        .kernel("long", ts=200, dur=75, launched=1)
        .kernel("short", ts=300, dur=25, launched=2)
        .kernel("unlinked", ts=10, dur=1000)
        .kernel("outside", ts=900, dur=500, launched=150)
        .load()
    )
    rows = {row.name: row for row in reading(trace).kernels}
    assert rows["long"].share == 0.75
    assert rows["short"].share == 0.25
    assert rows["outside"].share == 0.0
    assert rows["unlinked"].share is None
    assert rows["unlinked"].per_step is None


@pytest.mark.case("T16")
def test_an_activity_counts_once_in_self_and_once_in_each_total():
    trace = (
        Build()
        .op("conv2d", 0, 100)
        .op("convolution", 10, 80)
        .op("conv2d", 20, 60)
        .kernel("k", ts=200, dur=50, launched=40)
        .load()
    )
    rows = {row.name: row for row in reading(trace).ops}
    assert (rows["conv2d"].device_self_ns, rows["conv2d"].device_total_ns) == (50_000, 50_000)
    assert (rows["convolution"].device_self_ns, rows["convolution"].device_total_ns) == (0, 50_000)
    assert sum(row.device_self_ns for row in rows.values()) == 50_000


def test_cpu_self_is_less_child_ops_annotations_and_runtime_calls():
    trace = (
        Build()
        .op("outer", 0, 100)
        .op("inner", 10, 20)
        .annotation("note", 40, 10)
        .kernel("k", ts=200, dur=1, launched=60)
        .call("cudaStreamSynchronize", 70, 25)
        .load()
    )
    rows = {row.name: row for row in reading(trace).ops}
    assert rows["outer"].cpu_self_ns == 100_000 - 20_000 - 10_000 - 5_000 - 25_000
    assert rows["outer"].cpu_total_ns == 100_000
    assert rows["inner"].cpu_self_ns == 20_000


@pytest.mark.case("M14")
@pytest.mark.parametrize(
    "absent",
    ["cpu_op", "user_annotation", "cuda_runtime", "kernel", "gpu_memcpy", "gpu_memset", "python_function", "overhead"],
)
def test_every_table_works_when_a_category_is_absent(absent):
    build = (
        Build()
        .gpu()
        .step(1, 0, 100)
        .frame("nn.Module: Net_0", 0, 100)
        .op("aten::a", 0, 50)
        .kernel("k", ts=200, dur=5, launched=1)
        .memcpy("Memcpy DtoD (Device -> Device)", ts=210, dur=5, launched=2)
        .memset(220, 5, launched=3)
        .x("overhead", "Activity Buffer Request", 5, 1)
    )
    build.events = [event for event in build.events if event["cat"] != absent]
    content = reading(build.load()).to_json()
    counts = content["counts"]
    total = counts["kernels"] + counts["memcpys"] + counts["memsets"]
    assert sum(row["calls"] for row in content["kernels"]) == total
    assert sum(row["activities"] for row in content["ops"]) + counts["outside_ops"] + counts["unlinked"] == total


def test_tables_go_to_data_frames_and_files(tmp_path):
    trace = Build().step(1, 0, 100).op("=cmd\x1b", 0, 50).kernel("k", ts=200, dur=5, launched=1).load()
    found = reading(trace)
    assert list(found.tables["ops"].to_pandas()["calls"]) == [1]
    assert found.tables["kernels"].to_polars()["time_ns"].to_list() == [5000]
    assert found.tables["steps"].to_arrow().column("kernels").to_pylist() == [1]
    written = found.write_csv(tmp_path / "tables")
    assert [path.name for path in written] == ["steps.csv", "kernels.csv", "ops.csv"]
    with (tmp_path / "tables" / "ops.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    assert row["name"] == "'=cmd\\x1b"
    assert row["cpu_total_ns"] == "50000"


def test_an_op_that_only_calls_its_own_name_is_one_call():
    trace = (
        Build()
        .op("aten::mul", 0, 100)
        .op("aten::mul", 10, 80)
        .op("aten::where", 200, 100)
        .op("aten::expand", 210, 10)
        .op("aten::where", 230, 50)
        .load()
    )
    rows = {row.name: row for row in reading(trace).ops}
    assert (rows["aten::mul"].calls, rows["aten::mul"].cpu_total_ns, rows["aten::mul"].cpu_self_ns) == (
        1,
        100_000,
        100_000,
    )
    assert (rows["aten::where"].calls, rows["aten::where"].cpu_total_ns) == (2, 150_000)
