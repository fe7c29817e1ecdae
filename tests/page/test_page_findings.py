"""What a finding of the page leads to: each event once, and told apart."""

from pathlib import Path

import pytest

from foretrace.report.data import reading
from foretrace.report.page.findings import finding_items
from foretrace.trace.load import load_trace

OWN = Path(__file__).parents[1] / "recordings" / "h200"


@pytest.mark.parametrize("name", ["x_many_tiny", "x_item_sync", "p3_naive", "m_llama_sdpa", "t_naive_fwdbwd"])
def test_evidence_is_told_apart(name):
    items = finding_items(reading(load_trace(OWN / f"{name}.json.gz")))
    assert items
    for item in items:
        events = item["evidence"]
        assert len({event["event"] for event in events}) == len(events)
        assert len({(event["label"], event["at"]) for event in events}) == len(events), item["code"]


def test_where_labels_repeat_each_event_says_when_it_began():
    items = finding_items(reading(load_trace(OWN / "x_many_tiny.json.gz")))
    repeated = [event["at"] for item in items for event in item["evidence"] if event["at"]]
    assert repeated
    assert all(at.startswith("at ") and at.endswith((" ns", " us", " ms", " s")) for at in repeated)
