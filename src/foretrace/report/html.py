"""The page: one HTML file that a person can open without a network, and mail."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from foretrace._version import __version__
from foretrace.capture.recording import MEASUREMENTS, read_recording
from foretrace.differences.compare import Difference
from foretrace.differences.folders import FolderDifference
from foretrace.errors import UsageError
from foretrace.predictions import check
from foretrace.report.comparison import Comparison, comparison
from foretrace.report.comparison_notes import comparison_notes
from foretrace.report.data import Reading
from foretrace.report.data import reading as reading_of
from foretrace.report.escape import plain
from foretrace.report.page.assets import render, script_json
from foretrace.report.page.charts import step_charts
from foretrace.report.page.comparison import (
    comparison_charts,
    comparison_facts,
    comparison_headline,
    comparison_title,
    strip_note,
    variant_columns,
)
from foretrace.report.page.difference import difference_part
from foretrace.report.page.findings import finding_items, outcome_items
from foretrace.report.page.headline import facts, figures, headline
from foretrace.report.page.lane_rows import MOST_EVENTS
from foretrace.report.page.pack import Packer
from foretrace.report.page.payload import payload
from foretrace.report.page.roofline import roofline_chart
from foretrace.report.sweep_data import Sweep
from foretrace.trace.load import load_trace
from foretrace.trace.model import Trace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.predictions import Prediction
    from foretrace.predictions.outcome import Outcome
    from foretrace.report.page.charts import Chart

__all__ = ["comparison_page", "difference_page", "report", "sweep_page", "trace_page", "write_page"]


def report(
    source: str | Path | Trace | Reading | Comparison | Difference | FolderDifference | Sweep,
    output: str | Path,
    *,
    step: str | None = None,
    expect: Sequence[str | Prediction] = (),
    charts: bool = True,
    max_events: int | None = None,
) -> Path:
    """Write a page and return where it lies.

    Args:
        source: a trace (its path, or as it was read), a reading, a comparison, a folder of a comparison's traces, or
            what ``foretrace.diff`` found.
        output: the HTML file to write.
        step: make every annotation of this name a step; for a path only.
        expect: predictions to hold against the trace, e.g. ``"kernels == 5"``; for a trace only.
        charts: with figures, where there is something to draw; they bring Bokeh's script along (0.5 MB).
        max_events: events that the lanes hold at most (never less than one step); 400,000 unless given.

    Raises:
        PredictionError: a prediction does not parse.
        TraceFormatError: the path is no readable trace.
        UsageError: the page cannot be written there.
    """
    most = max_events or MOST_EVENTS
    if isinstance(source, str | Path):
        source = _read(Path(source), step)
    if expect and not isinstance(source, Trace | Reading):
        raise UsageError("predictions are held against one trace, and this compares several; give one of them.")
    if isinstance(source, Sweep):
        page = sweep_page(source, charts=charts)
    elif isinstance(source, Comparison):
        page = comparison_page(source, most_events=most, charts=charts)
    elif isinstance(source, Difference | FolderDifference):
        page = difference_page(source, most_events=most)
    else:
        found = reading_of(source) if isinstance(source, Trace) else source
        outcomes = check(found.trace, *expect) if expect else []
        page = trace_page(found, outcomes=outcomes, most_events=most, charts=charts)
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
    outcomes: Sequence[Outcome] = (),
    most_events: int = MOST_EVENTS,
    charts: bool = True,
    embedded: bool = False,
) -> str:
    """The page of one trace.

    Args:
        reading: the trace with its tables.
        outcomes: predictions that were held against it.
        most_events: events that the lanes hold at most (never less than one step).
        charts: with figures over the steps, where there are several; they bring Bokeh's script along (0.5 MB).
        embedded: without its head and foot, for a place that has its own.
    """
    packed, part = reading_part(reading, outcomes=outcomes, most_events=most_events)
    drawn = [*step_charts(reading), *roofline_chart(reading)] if charts else []
    content = {
        "title": plain(reading.trace.file),
        "reading": part,
        "charts": drawn,
        "payloads": [packed],
        "data": script_json({"readings": 1, "charts": len(drawn)}),
    }
    return _page("trace.html.j2", content, drawn, embedded=embedded)


def comparison_page(
    found: Comparison, *, most_events: int = MOST_EVENTS, charts: bool = True, embedded: bool = False
) -> str:
    """The page of a comparison: the variants in one table and on one time axis, then each on its own.

    ``most_events`` bounds the lanes of all variants together; the rest as in ``trace_page``.
    """
    names = [plain(row.name) for row in found.rows if row.reading is not None]
    readings = [row.reading for row in found.rows if row.reading is not None]
    parts = [reading_part(reading, most_events=most_events // len(readings)) for reading in readings]
    drawn = comparison_charts(found) if charts else []
    content = {
        "title": comparison_title(found),
        "facts": comparison_facts(found),
        "headline": comparison_headline(found),
        "notes": comparison_notes(found),
        "code": (found.pin and found.pin.code) or "",
        "names": names,
        "columns": variant_columns(found),
        "reasons": [
            {"name": plain(row.name), "ran": row.ok, "text": plain(row.reason)} for row in found.rows if row.reason
        ],
        "readings": [part for _, part in parts],
        "charts": drawn,
        "payloads": [packed for packed, _ in parts],
        "data": script_json({"comparison": _strips(names, readings), "charts": len(drawn)}),
    }
    return _page("comparison.html.j2", content, drawn, embedded=embedded)


def difference_page(
    found: Difference | FolderDifference, *, most_events: int = MOST_EVENTS, embedded: bool = False
) -> str:
    """The page of a comparison of two traces, or of two folders: what changed, and both sides on one time axis."""
    if isinstance(found, FolderDifference):
        pairs = [(plain(one.variant), one.difference, one.problem) for one in found.variants]
        title, many = "Before and after", True
        sides = (("before", found.only_before), ("after", found.only_after))
        only = [f"Only {word}: {', '.join(plain(name) for name in names)}." for word, names in sides if names]
    else:
        pairs = [("", found, None)]
        title, many = f"{plain(found.before.file)} -> {plain(found.after.file)}", False
        only = []
    readings: list[Reading] = []
    names: list[str] = []
    shown = []
    for name, one, problem in pairs:
        part = None
        if one is not None:
            sides_of = reading_of(one.before), reading_of(one.after)
            part = difference_part(one, *sides_of, (len(readings), len(readings) + 1))
            readings += sides_of
            names += [f"{name} {word}".strip() for word in ("before", "after")]
        folded = many and part is not None and part["same"]
        shown.append({"name": name, "found": part, "problem": plain(problem or ""), "folded": folded})
    parts = [reading_part(reading, most_events=most_events // max(1, len(readings))) for reading in readings]
    content = {
        "title": title,
        "headline": plain(found.summary),
        "pairs": shown,
        "only": only,
        "names": names,
        "readings": [part for _, part in parts],
        "payloads": [packed for packed, _ in parts],
        "data": script_json({"comparison": _strips(names, readings, difference=True), "charts": 0}),
    }
    return _page("difference.html.j2", content, [], embedded=embedded)


def sweep_page(found: Sweep, *, charts: bool = True, embedded: bool = False) -> str:
    """The page of a sweep: for each device who wins where, what the default loses, flips, failures, every case."""
    from foretrace.report.page.sweep import device_part, sweep_headline  # noqa: PLC0415 - its words are the terminal's
    from foretrace.report.page.sweep_charts import sweep_charts  # noqa: PLC0415 - only sweeps have them
    from foretrace.report.sweep_text import sweep_notes  # noqa: PLC0415 - the terminal's

    parts = []
    drawn: list[Chart] = []
    for number, device in enumerate(found.devices):
        made = sweep_charts(device, number) if charts else []
        drawn += made
        curves = [chart for chart in made if "-curve-" in chart.id]
        maps = [chart for chart in made if chart not in curves]
        parts.append({**device_part(device), "maps": maps, "curves": curves})
    content = {
        "title": f"Sweep {plain(Path(found.place).name or found.place)}",
        "headline": sweep_headline(found),
        "notes": sweep_notes(found),
        "devices": parts,
        "payloads": [],
        "data": script_json({"charts": len(drawn)}),
    }
    return _page("sweep.html.j2", content, drawn, embedded=embedded)


def _strips(names: Sequence[str], readings: Sequence[Reading], *, difference: bool = False) -> dict[str, Any]:
    """What the script needs to draw one step of each on one time axis."""
    steps = [reading.timeline.per_step for reading in readings]
    return {
        "names": list(names),
        "notes": [strip_note(reading) for reading in readings],
        "periods": [
            step.period_ns if reading.trace.has_device_activity else None
            for step, reading in zip(steps, readings, strict=True)
        ],
        "difference": difference,
    }


def reading_part(
    reading: Reading, *, outcomes: Sequence[Outcome] = (), most_events: int = MOST_EVENTS
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


def _page(template: str, content: dict[str, Any], drawn: Sequence[Chart], *, embedded: bool = False) -> str:
    charts = Packer().pack({"charts": [{"id": chart.id, "items": chart.items} for chart in drawn]}) if drawn else ""
    fixed = {"version": __version__, "chart_payload": charts, "embedded": embedded}
    return render(template, {**content, **fixed}, figures=bool(drawn))


def write_page(path: Path, page: str) -> None:
    """Write a page. Raises ``UsageError`` where it cannot be written."""
    try:
        path.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; give -o another place.") from error
