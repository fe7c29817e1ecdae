"""Every recording holds what another program says it holds: our own always, other people's where they lie near."""

import re
from pathlib import Path

import pytest

import foretrace
from build import SHARED
from expected import KEYS, expectations, holds
from foretrace.report.data import reading

OWN = Path(__file__).parents[1] / "recordings" / "h200"


def lines(folder, *kinds):
    found = [line for line in expectations(folder) if line.get("kind", "real") in kinds]
    return [pytest.param(folder / line["file"], line, id=line["file"]) for line in found] or [
        pytest.param(None, None, marks=pytest.mark.skip(reason=f"{folder} is not on this machine"))
    ]


@pytest.mark.parametrize(("path", "line"), lines(OWN, "real"))
def test_our_recordings(path, line):
    found = holds(foretrace.read(path))
    assert {key: found[key] for key in KEYS} == {key: line[key] for key in KEYS}


@pytest.mark.parametrize(
    ("path", "line"),
    lines(SHARED / "traces/real", "real", "edited", "synthetic") + lines(SHARED / "traces/h200", "real"),
)
def test_recordings_of_others(path, line):
    trace = foretrace.read(path)
    found = holds(trace)
    assert {key: found[key] for key in KEYS} == {key: line[key] for key in KEYS}
    check_reading(trace, line)


@pytest.mark.parametrize(("path", "line"), lines(SHARED / "traces/real", "negative"))
def test_what_is_no_pytorch_trace_is_refused_with_one_sentence(path, line):
    with pytest.raises(foretrace.TraceFormatError) as error:
        foretrace.read(path)
    sentence = str(error.value)
    assert path.name in sentence
    assert "\n" not in sentence
    assert sentence.endswith(".")


def check_reading(trace, line):
    """The JSON says the same, and adds up."""
    content = reading(trace).to_json()
    counts = content["counts"]
    activities = counts["kernels"] + counts["memcpys"] + counts["memsets"]
    assert activities == line["device_activities"]
    assert sum(row["calls"] for row in content["kernels"]) == activities
    assert sum(row["time_ns"] for row in content["kernels"]) == line["device_time_total_ns"]
    assert sum(row["activities"] for row in content["ops"]) + counts["outside_ops"] + counts["unlinked"] == activities
    assert sum(row["device_self_ns"] for row in content["ops"]) <= line["device_time_total_ns"]
    assert all(row["unlinked"] == (row["owner"] is None) for row in content["kernels"])
    assert [step["name"] for step in content["steps"]] == line["steps"]
    for step in content["steps"]:
        expected = line["per_step"][step["name"]]
        assert [step["kernels"], step["memcpys"], step["memsets"]] == [
            expected.get(kind, 0) for kind in ("kernel", "memcpy", "memset")
        ]
        assert step["device_time_ns"] == line["device_time_ns"][step["name"]]
        assert 0 <= step["busy_ns"] <= step["device_time_ns"]


@pytest.mark.parametrize("table", sorted(OWN.glob("*.table.txt")), ids=lambda path: path.name)
def test_op_times_agree_with_pytorchs_own_table(table):
    """The table was printed by torch.profiler in the same run; it rounds to a thousandth of its unit."""
    trace = foretrace.read(OWN / table.name.replace(".table.txt", ".json.gz"))
    ours = {row.name: row for row in reading(trace).ops}
    within_itself = {
        trace.op_name(op)
        for op in range(len(trace.ops))
        if trace.op_name(op) in {trace.op_name(above) for above in trace.op_path(op)[:-1]}
    }
    compared = 0
    for line in table.read_text().splitlines():
        cells = re.split(r"\s{2,}", line.strip())
        row = ours.get(cells[0])
        if row is None:
            continue
        # Name, Self CPU %, Self CPU, CPU total %, CPU total, CPU time avg, Self CUDA, Self CUDA %, CUDA total, ...
        theirs = [nanoseconds(cells[at]) for at in (2, 4, 6, 8)]
        mine = [row.cpu_self_ns, row.cpu_total_ns, row.device_self_ns, row.device_total_ns]
        if row.name in within_itself:
            # The table adds an activity once for each op of the name around it; foretrace once for the name.
            assert mine[3] <= theirs[3][0]
            theirs[3] = (mine[3], 0)
        for (value, step), own in zip(theirs, mine, strict=True):
            assert abs(value - own) <= step, (cells[0], cells, mine)
        assert int(cells[-1]) == row.calls
        compared += 1
    assert compared >= 3


def nanoseconds(text):
    """(value, what the last printed digit is worth)."""
    scale = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s)", text).groups()
    return float(number) * scale[unit], scale[unit] / 1000
