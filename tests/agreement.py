"""Holding a read trace against PyTorch's own table of the same run."""

from __future__ import annotations

import pytest

from foretrace.analysis.operators import op_table


def assert_agrees_with_key_averages(recorded, *, device=False):
    """Counts, CPU times and, with ``device``, the device times of owned activity, op by op."""
    trace = recorded.trace
    theirs = {event.key: event for event in recorded.profiler.key_averages()}
    compared = 0
    for row in op_table(trace):
        event = theirs[row.name]
        # Both hold nanoseconds; the table has gone through microseconds in floating point.
        assert row.cpu_self_ns == pytest.approx(1000 * event.self_cpu_time_total, abs=1), row.name
        if device:
            assert row.device_self_ns == pytest.approx(1000 * event.self_device_time_total, abs=1), row.name
        assert row.calls == event.count, row.name
        assert row.cpu_total_ns == pytest.approx(1000 * event.cpu_time_total, abs=1), row.name
        compared += 1
    assert compared
