"""The rules against what an H200 with torch 2.11 did with a few hundred calls."""

from collections import Counter

import pytest
import truth

from foretrace.analysis.dispatch.call import call_from_case
from foretrace.analysis.dispatch.decide import dispatch
from foretrace.analysis.dispatch.devices import architecture_named

pytestmark = pytest.mark.skipif(not truth.FILE.exists(), reason="the H200's answers are not on this machine")


@pytest.fixture(scope="module")
def answers():
    arch = architecture_named("H200")
    return [(row, dispatch(call_from_case(row["case"]), arch, release="2.11")) for row in truth.rows()]


def shares(pairs):
    """By name, the share of pairs that agree."""
    right, total = Counter(), Counter()
    for name, agrees in pairs:
        total[name] += 1
        right[name] += agrees
    return {name: right[name] / total[name] for name in total}


def test_the_chosen_backend(answers):
    assert shares(("auto", row["auto"] == found.backend) for row, found in answers)["auto"] >= 0.98


def test_eligibility_of_each_backend(answers):
    found = shares(
        (name, said["ok"] == found.backends[name].eligible)
        for row, found in answers
        for name, said in row["pinned"].items()
    )
    assert set(found) == {"math", "efficient", "flash", "cudnn"}
    assert min(found.values()) >= 0.98


def test_the_first_reason(answers):
    found = shares(
        (name, truth.reason(said["reasons"][0]) == found.backends[name].reason)
        for row, found in answers
        for name, said in row["pinned"].items()
        if not said["ok"] and "No available kernel" not in said["reasons"][0]
    )
    assert min(found.values()) >= 0.95
