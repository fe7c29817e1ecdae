"""Whole reads of recordings whose ranges lie deep in each other, or overlap like stairs."""

import json
import time

import pytest

from foretrace.report.data import reading
from foretrace.trace.load import load_trace


def event(category, name, ts, dur, tid=1, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def ops(count, start, dur, category="cpu_op"):
    return [event(category, f"op{at % 7}", start(at), dur(at)) for at in range(count)]


def launches(count, start, apart):
    for at in range(count):
        ts = start + apart * at
        yield event("cuda_runtime", "cudaLaunchKernel", ts, 1, correlation=at + 1)
        yield event("kernel", f"k{at % 5}", ts + 3, 2, tid=7, correlation=at + 1, device=0, stream=7)


SHAPES = {
    "deep": lambda n: [*ops(n, lambda at: at, lambda at: 4 * n - 2 * at), *launches(n, 5 * n, 10)],
    "deep, launches inside": lambda n: [*ops(n, lambda at: at, lambda at: 14 * n - 2 * at), *launches(n, n, 10)],
    "waits inside": lambda n: [
        *ops(n, lambda at: at, lambda at: 14 * n - 2 * at),
        *launches(n, n, 10),
        *(
            event("cuda_runtime", "cudaStreamSynchronize", n + 10 * at + 5, 3, correlation=2 * n + at)
            for at in range(n)
        ),
    ],
    "crossing": lambda n: [*ops(n, lambda at: 10 * at, lambda _at: 15), *launches(n, 2, 10)],
    "staircase": lambda n: [*ops(n, lambda at: at, lambda _at: 2 * n), *launches(n, 4 * n, 10)],
    "annotations": lambda n: [
        *ops(n, lambda at: at, lambda _at: 2 * n, "user_annotation"),
        *launches(n, n // 2, 1),
    ],
    "at once": lambda n: [*ops(n, lambda _at: 1000, lambda _at: 100), *launches(n, 1001, 0)],
    "no length": lambda n: [*ops(n, lambda _at: 1000, lambda _at: 0), *launches(n, 1000, 0)],
    "steps": lambda n: [
        *(event("user_annotation", f"ProfilerStep#{at}", at, 2 * n) for at in range(n // 4)),
        *launches(n, 0, 3),
    ],
}


@pytest.mark.case("F26")
@pytest.mark.parametrize("shape", SHAPES)
def test_time_grows_with_the_ranges_and_not_with_how_deep_they_lie(shape, tmp_path):
    def seconds(count):
        path = tmp_path / f"{count}.json"
        devices = [{"id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0, "numSms": 132}]
        path.write_text(json.dumps({"deviceProperties": devices, "traceEvents": SHAPES[shape](count)}))
        begin = time.perf_counter()
        reading(load_trace(path)).to_json()
        return time.perf_counter() - begin

    seconds(100)
    small, large = (min(seconds(count) for _ in range(2)) for count in (10_000, 20_000))
    assert large < 3 * small + 0.1
    assert large < 2
