"""A trace of any size: the events of a recording laid down again and again, each copy later and with ids of its own.

    python benchmarks/grown_trace.py RECORDING MEGABYTES OUTPUT

Times move by the recording's length; correlations, external ids, flow ids and step numbers go on counting, so that the
copies stay one consistent trace. The layout is that of PyTorch's own writer: several lines for each event.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from pathlib import Path
from typing import Any, Self

__all__ = ["grow"]

_STEP = re.compile(r"(Profiler?Step#)(\d+)\Z")
# Ids by the space they are numbered in.
_SPACES = {
    "correlation": "correlation",
    "External id": "external",
    "external id": "external",
    "Ev Idx": "index",
    "Record function id": "function",
    "Sequence number": "sequence",
    "Python id": "python",
    "Python parent id": "python",
}
_DEVICE_FLOWS = ("ac2g", "async_cpu_to_gpu", "async_gpu")


class _Written(float):
    """A number that is written as it was read."""

    text: str

    def __new__(cls, text: str) -> Self:
        number = super().__new__(cls, text)
        number.text = text
        return number


def _ns(value: Any) -> int:
    """Microseconds as written, in nanoseconds."""
    text = value.text if isinstance(value, _Written) else str(value)
    whole, _, fraction = text.partition(".")
    return int(whole) * 1000 + int((fraction + "000")[:3])


def _json(value: Any) -> str:
    if isinstance(value, _Written):
        return value.text
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _moving(event: dict[str, Any]) -> list[tuple[str, str, int]]:
    """(space, what stands there now as JSON, its number) of each id of an event that moves from copy to copy."""
    found = []
    for key, value in (event.get("args") or {}).items():
        if key in _SPACES and isinstance(value, int) and value > 0:
            found.append((_SPACES[key], f"{json.dumps(key)}: {value}", value))
    if event["ph"] in "sft" and isinstance(event.get("id"), int):
        space = "correlation" if event.get("cat") in _DEVICE_FLOWS else "flow"
        found.append((space, f'"id": {event["id"]}', event["id"]))
    return found


def _text(event: dict[str, Any]) -> str:
    """An event as PyTorch lays it out, its time left open."""
    head = {key: value for key, value in event.items() if key not in ("ts", "dur", "args")}
    text = "  {\n    " + _json(head)[1:-1] + ',\n    "ts": @TS@'
    if "dur" in event:
        text += f', "dur": {_json(event["dur"])}'
    if event.get("args"):
        text += ',\n    "args": {\n      ' + _json(event["args"])[1:-1] + "\n    }"
    return text + "\n  }"


def _template(event: dict[str, Any]) -> tuple[str, list[tuple[str, int]]]:
    """The text of an event with %s for each number that moves, and (space, first value) of each."""
    text = _text(event).replace("%", "%%")
    places = [(text.index("@TS@"), len("@TS@"), "ts", _ns(event["ts"]))]
    for space, written, value in _moving(event):
        begin = text.index(written) + len(written) - len(str(value))
        places.append((begin, len(str(value)), space, value))
    step = _STEP.match(str(event.get("name", "")))
    if step:
        begin = text.index(step[0]) + len(step[1])
        places.append((begin, len(step[2]), "step", int(step[2])))
    for begin, size, _, _ in sorted(places, reverse=True):
        text = text[:begin] + "%s" + text[begin + size :]
    return text, [(space, value) for _, _, space, value in sorted(places)]


def grow(recording: Path, size: int, output: Path) -> int:
    """Write a trace of about ``size`` bytes; how many events it has."""
    data = recording.read_bytes()
    document = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data, parse_float=_Written)
    events = document.pop("traceEvents")
    document.pop("traceName", None)
    timed = [event for event in events if event["ph"] != "M" and "ts" in event and event.get("cat") != "Trace"]
    fixed = [event for event in events if event["ph"] == "M"]
    templates = [_template(event) for event in timed]
    spans: dict[str, int] = {}
    for space in {space for _, moving in templates for space, _ in moving}:
        values = [value for _, moving in templates for name, value in moving if name == space]
        spans[space] = max(values) - min(values) + 1
    spans["ts"] += max(_ns(event.get("dur", 0)) for event in timed) + 10_000
    count = len(fixed)
    with output.open("wb") as file:
        header = "".join(f"  {json.dumps(key)}: {_json(value)},\n" for key, value in document.items())
        written = file.write(f'{{\n{header}  "traceEvents": [\n'.encode())
        written += file.write(",\n".join("  " + _json(event) for event in fixed).encode())
        copy = 0
        while written < size:
            for text, moving in templates:
                numbers = []
                for space, value in moving:
                    moved = value + copy * spans[space]
                    numbers.append(f"{moved // 1000}.{moved % 1000:03}" if space == "ts" else str(moved))
                written += file.write((",\n" + text % tuple(numbers)).encode())
                count += 1
                if written >= size:
                    break
            copy += 1
        file.write(b'\n  ],\n  "traceName": "grown.json"\n}\n')
    return count


def main() -> None:
    """Grow a trace."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recording", type=Path)
    parser.add_argument("megabytes", type=float)
    parser.add_argument("output", type=Path)
    given = parser.parse_args()
    count = grow(given.recording, int(given.megabytes * 1e6), given.output)
    print(f"{given.output}: {given.output.stat().st_size / 1e6:.0f} MB, {count:,} events")


if __name__ == "__main__":
    main()
