"""The floor of a comparison's shape: exact counts over the card's peaks, training included."""

import msgspec
import pytest

import foretrace
from foretrace.capture.recording import ShapeInfo
from foretrace.report.comparison_floor import shape_floor_ns

PEAK, BANDWIDTH = 989e12, 4.8e12  # H200, bf16 dense


def shape(**changes):
    plain = {
        "batch": 8, "heads": 16, "kv_heads": 16, "length": 1024, "kv_length": 1024, "head_dim": 64,
        "dtype": "bfloat16", "causal": True, "mask": "none", "training": False,
    }  # fmt: skip
    return ShapeInfo(**(plain | changes))


def flops_ns(pairs, products=2, size=64, heads=8 * 16):
    return products * 2 * size * heads * pairs / PEAK * 1e9


CAUSAL = 1024 * 1025 // 2


def test_the_forward_counts_the_triangle_exactly():
    assert shape_floor_ns(shape(), "NVIDIA H200") == pytest.approx(flops_ns(CAUSAL), rel=1e-3)


def test_training_adds_the_five_products_of_the_backward():
    assert shape_floor_ns(shape(training=True), "NVIDIA H200") == pytest.approx(flops_ns(CAUSAL, 7), rel=1e-3)


def test_without_a_mask_every_pair_counts():
    assert shape_floor_ns(shape(causal=False), "NVIDIA H200") == pytest.approx(flops_ns(1024 * 1024), rel=1e-3)


def test_the_last_query_sees_every_key():
    pairs = 1024 * 3072 + CAUSAL
    assert shape_floor_ns(shape(kv_length=4096), "NVIDIA H200") == pytest.approx(flops_ns(pairs), rel=1e-3)


def test_decoding_is_bound_by_reading_keys_and_values():
    moved = 2 * 64 * 8 * (2 * 16 + 2 * 4 * 8192)
    found = shape_floor_ns(shape(length=1, kv_length=8192, kv_heads=4), "NVIDIA H200")
    assert found == pytest.approx(moved / BANDWIDTH * 1e9, rel=1e-3)


def test_a_causal_window_sees_an_eighth_of_the_keys_at_most():
    pairs = sum(min(at + 1, 512) for at in range(4096))
    found = shape_floor_ns(shape(length=4096, kv_length=4096, mask="window"), "NVIDIA H200")
    assert found == pytest.approx(flops_ns(pairs), rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "device"),
    [
        ({}, "Some Card"),
        ({"mask": "padding"}, "NVIDIA H200"),
        ({"dtype": "odd"}, "NVIDIA H200"),
        ({"batch": 0}, "NVIDIA H200"),
    ],
)
def test_what_is_not_known_has_no_floor(changes, device):
    assert shape_floor_ns(shape(**changes), device) is None


@pytest.mark.parametrize("name", ["h200", "h200-training"])
def test_every_row_of_the_recordings_stands_above_the_floor(name):
    found = foretrace.attention(replay=name).to_json()
    rows = {row["variant"]: row for row in found["variants"]}
    assert len({row["floor_ns"] for row in rows.values()}) == 1
    for row in rows.values():
        assert row["over_floor"] == pytest.approx(row["device_time_ns"]["median"] / row["floor_ns"])
        assert row["over_floor"] > 1
    assert min(rows.values(), key=lambda row: row["over_floor"])["backend"] == "cudnn"
    assert rows["math"]["over_floor"] > 30
    assert found["pin"] is None
    assert found["why"]["backend"] == "cudnn"
    assert msgspec.json.encode(found)
