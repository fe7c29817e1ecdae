"""The page: one HTML file that a person can open without a network, and mail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretrace._version import __version__
from foretrace.capture.recording import MEASUREMENTS, read_recording
from foretrace.errors import UsageError
from foretrace.report.comparison import Comparison, comparison
from foretrace.report.data import Reading
from foretrace.report.data import reading as reading_of
from foretrace.report.escape import plain
from foretrace.report.page.assets import render, script_json
from foretrace.report.page.charts import step_charts
from foretrace.report.page.comparison import (
    comparison_charts,
    comparison_facts,
    comparison_headline,
    variant_columns,
    variant_note,
)
from foretrace.report.page.findings import finding_items, outcome_items
from foretrace.report.page.headline import facts, figures, headline
from foretrace.report.page.lane_rows import MOST_EVENTS
from foretrace.report.page.pack import Packer
from foretrace.report.page.payload import payload
from foretrace.trace.load import load_trace
from foretrace.trace.model import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.report.page.charts import Chart

__all__ = ["comparison_page", "report", "trace_page", "write_page"]


def report(
    source: str | Path | Trace | Reading | Comparison,
    output: str | Path,
    *,
    step: str | None = None,
    charts: bool = True,
    max_events: int | None = None,
) -> Path:
    """Write a page and return where it lies.

    Args:
        source: a trace (its path, or as it was read), a reading, a comparison, or a folder of a comparison's traces.
        output: the HTML file to write.
        step: make every annotation of this name a step; for a path only.
        charts: with figures, where there is something to draw; they bring Bokeh's script along (0.5 MB).
        max_events: events that the lanes hold at most (never less than one step); 400,000 unless given.

    Raises:
        TraceFormatError: the path is no readable trace.
        UsageError: the page cannot be written there.
    """
    most = max_events or MOST_EVENTS
    if isinstance(source, str | Path):
        source = _read(Path(source), step)
    if isinstance(source, Comparison):
        page = comparison_page(source, most_events=most, charts=charts)
    else:
        found = reading_of(source) if isinstance(source, Trace) else source
        page = trace_page(found, most_events=most, charts=charts)
    path = Path(output)
    write_page(path, page)
    return path


def _read(path: Path, step: str | None) -> Trace | Comparison:
    """A folder with measurements or with several traces is a comparison; anything else is a trace."""
    if path.is_dir():
        recording = read_recording(path)
        if (path / MEASUREMENTS).is_file() or len(recording.variants) > 1:
            return comparison(recording, path, replayed=True)
        path = path / (recording.variants[0].trace or "")
    return load_trace(path, step=step)


def trace_page(
    reading: Reading,
    *,
    outcomes: Sequence[dict[str, Any]] = (),
    most_events: int = MOST_EVENTS,
    charts: bool = True,
) -> str:
    """The page of one trace.

    Args:
        reading: the trace with its tables.
        outcomes: what `check` found, as in its JSON.
        most_events: events that the lanes hold at most (never less than one step).
        charts: with figures over the steps, where there are several; they bring Bokeh's script along (0.5 MB).
    """
    packed, part = reading_part(reading, outcomes=outcomes, most_events=most_events)
    drawn = step_charts(reading) if charts else []
    content = {
        "title": plain(reading.trace.file),
        "reading": part,
        "charts": drawn,
        "payloads": [packed],
        "data": script_json({"readings": 1, "charts": len(drawn)}),
    }
    return _page("trace.html.j2", content, drawn)


def comparison_page(found: Comparison, *, most_events: int = MOST_EVENTS, charts: bool = True) -> str:
    """The page of a comparison: the variants in one table and on one time axis, then each on its own.

    ``most_events`` bounds the lanes of all variants together.
    """
    rows = [row for row in found.rows if row.ok]
    parts = [reading_part(row.reading, most_events=most_events // len(rows)) for row in rows if row.reading]
    drawn = comparison_charts(found) if charts else []
    training = found.shape["training"]
    content = {
        "title": "Attention" if training is None else f"Attention {'training' if training else 'forward'}",
        "facts": comparison_facts(found),
        "headline": comparison_headline(found),
        "names": [plain(row.name) for row in rows],
        "columns": variant_columns(found),
        "reasons": [
            {"name": plain(row.name), "ran": row.ok, "text": plain(row.reason)} for row in found.rows if row.reason
        ],
        "readings": [part for _, part in parts],
        "charts": drawn,
        "payloads": [packed for packed, _ in parts],
        "data": script_json(
            {
                "comparison": {
                    "names": [plain(row.name) for row in rows],
                    "notes": [variant_note(row) for row in rows],
                    "periods": [row.per_step.period_ns if row.device_step and row.per_step else None for row in rows],
                },
                "charts": len(drawn),
            }
        ),
    }
    return _page("comparison.html.j2", content, drawn)


def reading_part(
    reading: Reading, *, outcomes: Sequence[dict[str, Any]] = (), most_events: int = MOST_EVENTS
) -> tuple[str, dict[str, Any]]:
    """(the payload of a reading, what the template says of it)."""
    packed, rows = payload(reading, most=most_events)
    found = finding_items(reading)
    return packed, {
        "facts": facts(reading),
        "headline": headline(reading),
        "figures": figures(reading),
        "doubts": [{"code": doubt.code, "text": plain(doubt.text)} for doubt in reading.doubts],
        "findings": [item for item in found if item["severity"] != "note"],
        "notes": [item for item in found if item["severity"] == "note"],
        "outcomes": outcome_items(outcomes),
        "left_out": rows.left_out,
        "has_kernels": bool(reading.kernels),
        "has_ops": bool(reading.ops),
        "has_steps": reading.trace.has_steps,
    }


def _page(template: str, content: dict[str, Any], drawn: Sequence[Chart]) -> str:
    charts = Packer().pack({"charts": [{"id": chart.id, "items": chart.items} for chart in drawn]}) if drawn else ""
    return render(template, {**content, "version": __version__, "chart_payload": charts}, figures=bool(drawn))


def write_page(path: Path, page: str) -> None:
    """Write a page. Raises ``UsageError`` where it cannot be written."""
    try:
        path.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; give -o another place.") from error
