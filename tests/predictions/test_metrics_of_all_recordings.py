"""Metrics agree with what another program counted in every recording: ours always, others' where they lie near."""

from pathlib import Path

import pytest

import foretrace
from build import SHARED
from expected import expectations
from foretrace.analysis.metrics.measure import ground_of
from foretrace.differences import diff

OWN = Path(__file__).parents[1] / "recordings" / "h200"
KINDS = {"kernels": "kernel", "memcpys": "memcpy", "memsets": "memset"}
LARGEST = 400_000


def lines(folder):
    found = [line for line in expectations(folder) if line.get("kind", "real") != "negative"]
    small = [line for line in found if (folder / line["file"]).stat().st_size < LARGEST]
    return [pytest.param(folder / line["file"], line, id=line["file"]) for line in small] or [
        pytest.param(None, None, marks=pytest.mark.skip(reason=f"{folder} is not on this machine"))
    ]


@pytest.mark.parametrize(("path", "line"), lines(OWN) + lines(SHARED / "traces/real"))
def test_counts_and_device_times(path, line):
    trace = foretrace.read(path)
    found = foretrace.metrics(trace)
    used = [line["steps"][at] for at in ground_of(trace).timeline.used]
    if found["kernels"].value is None:
        assert not line["device_activities"] or line["device_activities"] == line["unlinked"]
    elif used:
        for name, kind in KINDS.items():
            assert list(found[name].figure.values) == [line["per_step"][step].get(kind, 0) for step in used]
        assert list(found["device_time"].figure.values) == [line["device_time_ns"][step] for step in used]
    else:
        linked = sum(found[name].value.value for name in KINDS)
        assert linked == line["device_activities"] - line["unlinked"]
    assert found["unlinked"].value == line["unlinked"]
    assert all(metric.text for metric in found)


@pytest.mark.parametrize(("path", "line"), lines(SHARED / "traces/real"))
def test_a_file_of_others_against_itself_is_the_same(path, line):
    assert diff(foretrace.read(path), foretrace.read(path)).same, line["file"]
