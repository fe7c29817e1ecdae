"""Ask one rule about a trace, and read what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from foretrace.findings.engine import Examination, examine
from foretrace.findings.rule import Finding
from foretrace.trace.load import load_trace
from foretrace.trace.model import Trace

__all__ = ["codes", "found", "holds_up", "not_asked", "one", "recording"]

_RECORDINGS = Path(__file__).parents[1] / "recordings" / "h200"
_READ: dict[str, Trace] = {}


def recording(name: str) -> Trace:
    """One of our H200 recordings, read once."""
    if name not in _READ:
        _READ[name] = load_trace(_RECORDINGS / f"{name}.json.gz")
    return _READ[name]


def found(trace: Trace, code: str) -> list[Finding]:
    """What one rule finds."""
    return list(examine(trace, select=[code]).findings)


def one(trace: Trace, code: str) -> Finding:
    """The one thing that a rule finds."""
    some = found(trace, code)
    assert len(some) == 1, [finding.title for finding in some]
    holds_up(trace, some[0])
    return some[0]


def not_asked(trace: Trace, code: str) -> str:
    """Why a rule could not be asked."""
    result = examine(trace, select=[code])
    assert not result.findings
    assert len(result.not_applicable) == 1
    return result.not_applicable[0].because


def codes(result: Examination | Trace) -> dict[str, Any]:
    """Code -> count of what needs a change, in order."""
    examined = result if isinstance(result, Examination) else examine(result)
    return {finding.code: finding.count for finding in examined.problems}


def holds_up(trace: Trace, finding: Finding) -> None:
    """What is true of every finding: its evidence is in the file, its figures make sense, its words can be read."""
    by_index = {int(index): row for row, index in enumerate(trace.rows.index)}
    for item in finding.evidence:
        row = by_index[item.event]
        assert trace.name(row) == item.name
        assert int(trace.rows.dur[row]) == item.time_ns
        assert all(isinstance(name, str) for name in item.path)
    assert finding.evidence
    assert finding.count > 0
    assert finding.at_stake_ns >= 0
    assert finding.title
    assert not finding.title.endswith(".")
    assert finding.text
