"""Findings and outcomes as the page's template shows them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from foretrace.report.escape import plain
from foretrace.report.labels import short_name
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foretrace.predictions.outcome import Outcome
    from foretrace.report.data import Reading

__all__ = ["finding_items", "outcome_items"]


def finding_items(reading: Reading) -> list[dict[str, Any]]:
    """The findings of a reading, in its order."""
    content = reading.to_json()
    labels = {
        row["name"]: row["decoded"]["short"] for row in content["kernels"] if row["decoded"] and row["kind"] == "kernel"
    }
    return [_finding(found, labels, reading) for found in content["findings"]]


def _finding(found: dict[str, Any], labels: Mapping[str, str], reading: Reading) -> dict[str, Any]:
    return {
        "code": plain(found["code"]),
        "name": plain(found["name"]),
        "severity": found.get("severity", "finding"),
        "title": plain(found["title"]),
        "stake": time_text(found["at_stake_ns"]) if found.get("at_stake_ns") else "",
        "confidence": plain(str(found.get("confidence") or "")),
        "text": plain(found.get("text") or ""),
        "change": _lines(found.get("change") or ""),
        "because": plain(found.get("because") or ""),
        "evidence": _told_apart(_events(found.get("evidence") or (), labels), reading),
    }


def outcome_items(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """The outcomes of predictions, in their order."""
    return [_outcome(outcome) for outcome in outcomes]


def _outcome(outcome: Outcome) -> dict[str, Any]:
    finding = outcome.finding
    return {
        "prediction": plain(str(outcome.prediction)),
        "because": plain(outcome.prediction.because or ""),
        "outcome": outcome.outcome,
        "found": "" if outcome.outcome == "unresolved" else plain(outcome.found),
        "text": plain(outcome.reason),
        "finding": "" if finding is None else f"{plain(finding.title)} ({finding.code})",
        "evidence": [
            {
                "event": item.event,
                "label": plain(item.label),
                "time": time_text(item.time_ns.median) if item.time_ns.median else "",
                "at": "",
                "path": " > ".join(plain(part) for part in item.path),
            }
            for item in outcome.evidence
        ],
    }


def _lines(text: str) -> str:
    """Advice may have lines: each made safe, the breaks kept."""
    return "\n".join(plain(line) for line in text.split("\n"))


def _told_apart(events: Sequence[dict[str, Any]], reading: Reading) -> list[dict[str, Any]]:
    """Each event once; where several have one label, each says when it began."""
    once = list({item["event"]: item for item in events}.values())
    often = Counter(item["label"] for item in once)
    return [item | {"at": _began(item["event"], reading) if often[item["label"]] > 1 else ""} for item in once]


def _began(event: int, reading: Reading) -> str:
    """``at 248.5 ms``: when an event began, from the first event of the file on."""
    rows = reading.trace.rows
    at = int(np.searchsorted(rows.index, event))
    if at >= len(rows) or int(rows.index[at]) != event:
        return ""
    return f"at {time_text(int(rows.ts[at]) - int(rows.ts.min()))}"


def _events(evidence: Sequence[Any], labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Evidence that names an event, so that the page can lead there; kernels by their decoded labels."""
    return [
        {
            "event": item["event"],
            "label": plain(labels.get(item.get("name", ""), ""))
            or short_name(str(item.get("name", "")))
            or f"event {item['event']}",
            "time": time_text(item["time_ns"]) if item.get("time_ns") else "",
            "path": " > ".join(plain(str(part)) for part in item.get("path") or ()),
        }
        for item in evidence
        if isinstance(item, dict) and isinstance(item.get("event"), int)
    ]
