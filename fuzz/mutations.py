"""Ways to damage a trace: what transfers, editors, crashed writers and hostile people do to files."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from pathlib import Path

__all__ = ["mutated", "samples"]

_TOKENS = (
    b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"null", b"true", b"NaN", b"-Infinity", b"inf", b"-nan(ind)",
    b"1e999", b"-0", b"00", b"1.", b".5", b"+1", b"9223372036854775807", b"9223372036854775808", b"1" * 400,
    b"0.1234567890123456789", b"1e-7", b"1e18", b'"1704161511420306.491"', b'"12"', b'" 12 "', b'"1e3"',
    b"\x00", b"\x01", b"\x1b[31m", b"\n", b"\xc3(", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xff\xfe",
    b"\\u0000", b"\\ud800", b"\\udc00", b"\\ud83d\\ude00", b"\\x", b"\\u12", b'\\"', b"\\\\",
    b"torch\\cuda\\nn\\__init__.py", b"[" * 70 + b"]" * 70, b"[" * 2000, b"{" * 300,
    b'{"a":' * 80 + b"1" + b"}" * 80, b",,", b",]", b",}", b"}{", b"},{", b'}, {"ph":', b'"ph": "X",',
    b'"args": {}', b'"args": {"args": {}},', b'"ts": 1.5,', b'"\\u0061rgs": {"correlation": 7},',
    b'"traceEvents": [', b"]]", b"]}", b'], "traceEvents": [', b'"name": "[memory]"', b'"cat": "kernel"',
    b'"cat": "fwdbwd"', b'"grid": "[1, 2, 3]"', b'"grid": [1,2,3,]', b'"External id": null', b"\xef\xbb\xbf",
)  # fmt: skip

_KEYS = (
    "ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args", "External id", "external id", "correlation",
    "device", "stream", "grid", "block", "bytes", "Input Dims", "Input type", "Concrete Inputs", "blocks per SM",
    "Sequence number",
)  # fmt: skip

_VALUES = (
    None, True, False, 0, -1, 1.5, -0.0, 2**31, 2**63, -(2**63), 10**30, "", "7", " 7 ", "x", "0x1F", "[1, 2, 3]",
    "[1,2]", [1, 2, 3], [1.9, "2", None], [[1], 2, 3], [], {}, {"a": [1]}, "caf\u00e9", "\u2028", "a\nb", 'q"q',
    1e300, 123456789.123,
)  # fmt: skip


def samples(folder: Path) -> list[dict]:
    """Recordings as parsed documents."""
    return [json.loads(gzip.decompress(path.read_bytes())) for path in sorted(folder.glob("*.json.gz"))]


def _small(rng: random.Random, document: dict) -> dict:
    """A document with few of the events, so that a reading takes no time."""
    events = document["traceEvents"]
    count = rng.choice((1, 3, 12, 40))
    at = rng.randrange(max(len(events) - count, 1))
    return {**document, "traceEvents": [dict(event) for event in events[at : at + count]]}


def _retyped(rng: random.Random, document: dict) -> None:
    """Values of other types than a trace has them."""
    for event in rng.sample(document["traceEvents"], min(3, len(document["traceEvents"]))):
        place = event
        if isinstance(event.get("args"), dict) and rng.random() < 0.6:
            place = event["args"] = dict(event["args"])
        key = rng.choice(_KEYS if rng.random() < 0.5 or not place else list(place))
        place[key] = rng.choice(_VALUES)
        if rng.random() < 0.2:
            event["ph"] = rng.choice(("X", "X", "s", "f", "i", "M", "B", "", "XX", None))


def _written(rng: random.Random, document: dict) -> bytes:
    """As text, in one of the layouts that writers use."""
    layout = rng.randrange(4)
    if layout == 0:
        text = json.dumps(document)
    elif layout == 1:
        text = json.dumps(document, separators=(",", ":"))
    elif layout == 2:
        text = json.dumps(document, indent=2, ensure_ascii=False)
    else:
        text = json.dumps(document["traceEvents"], indent=rng.choice((None, 1)))
    return text.encode("utf-8", "surrogatepass")


def _damaged(rng: random.Random, text: bytearray) -> None:
    """One thing that happens to bytes."""
    at = rng.randrange(len(text) + 1)
    size = rng.choice((1, 1, 2, 8, 60, 400))
    kind = rng.randrange(10)
    if kind == 0 and at < len(text):
        text[at] ^= 1 << rng.randrange(8)
    elif kind == 1 and at < len(text):
        text[at] = rng.randrange(256)
    elif kind == 2:
        del text[at : at + size]
    elif kind == 3:
        text[at:at] = text[at : at + size]
    elif kind in (4, 5, 6):
        text[at:at] = rng.choice(_TOKENS)
    elif kind == 7:
        token = rng.choice(_TOKENS)
        text[at : at + len(token)] = token
    elif kind == 8:
        # Near a quote, a comma or a brace damage hurts most.
        mark = text.find(rng.choice((b'"', b",", b"}", b"{", b"\\", b":")), at)
        if mark >= 0:
            del text[mark]
    elif kind == 9 and rng.random() < 0.3:
        del text[at:]


def mutated(rng: random.Random, documents: list[dict]) -> bytes:
    """A damaged trace."""
    document = _small(rng, rng.choice(documents))
    if rng.random() < 0.5:
        _retyped(rng, document)
    text = bytearray(_written(rng, document))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 8))):
        _damaged(rng, text)
    return bytes(text)
