"""Findings and outcomes as the page's template shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foretrace.report.escape import plain
from foretrace.report.labels import short_name
from foretrace.units import time_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foretrace.report.data import Reading

__all__ = ["finding_items", "outcome_items"]


def finding_items(reading: Reading) -> list[dict[str, Any]]:
    """The findings of a reading, in its order."""
    content = reading.to_json()
    labels = {row["name"]: row["decoded"]["short"] for row in content["kernels"] if row["decoded"]}
    return [_finding(found, labels) for found in content["findings"]]


def _finding(found: dict[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
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
        "evidence": _events(found.get("evidence") or (), labels),
    }


def outcome_items(outcomes: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The outcomes of predictions, as in the JSON of ``check``."""
    return [
        {
            "prediction": plain(str(item["prediction"])),
            "outcome": plain(str(item["outcome"])),
            "found": "" if item.get("found") is None else plain(str(item["found"])),
            "text": plain(item.get("text") or ""),
            "evidence": _events(item.get("evidence") or (), {}),
        }
        for item in outcomes
    ]


def _lines(text: str) -> str:
    """Advice may have lines: each made safe, the breaks kept."""
    return "\n".join(plain(line) for line in text.split("\n"))


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
