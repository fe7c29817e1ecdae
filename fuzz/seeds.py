"""Seeds for the fuzzer of the scanner: one event of each kind, and damaged lists; each behind a byte for the pieces."""

from __future__ import annotations

import json
import random
from pathlib import Path

from mutations import mutated, samples

__all__ = ["RECORDINGS", "write_seeds"]

RECORDINGS = Path(__file__).parents[1] / "tests" / "recordings" / "h200"


def write_seeds(folder: Path) -> None:
    """Write them into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(1)
    documents = samples(RECORDINGS)
    seen = set()
    for document in documents:
        for event in document["traceEvents"]:
            kind = (event.get("ph"), event.get("cat"), tuple(event.get("args", {})))
            if kind not in seen:
                seen.add(kind)
                (folder / f"event{len(seen)}").write_bytes(bytes([rng.randrange(256)]) + json.dumps(event).encode())
    for number in range(300):
        text = mutated(rng, documents)
        begin = text.find(b"[", max(text.find(b'"traceEvents"'), 0)) + 1
        (folder / f"damaged{number}").write_bytes(bytes([rng.choice((0, 3, 20, 60))]) + text[begin : begin + 4000])
