"""Occupancy is CUDA's own arithmetic; what limits it and what the trace's figure means is said."""

import pytest

from foretrace.names.devices import device_limits
from foretrace.names.occupancy import occupancy


def launch(capability, registers, threads, shared_memory=0, **more):
    return occupancy(
        registers=registers,
        block_threads=threads,
        shared_memory_bytes=shared_memory,
        compute_capability=capability,
        **more,
    )


# capability, registers, threads, shared memory -> percent, limiter, blocks on an SM
CASES = [
    ((8, 0), 255, 128, 0, 12.5, "registers", 2),
    ((8, 0), 240, 256, 0, 12.5, "registers", 1),
    ((8, 0), 32, 256, 0, 100.0, "warps", 8),
    ((8, 0), 32, 32, 0, 50.0, "blocks", 32),
    ((8, 0), 32, 128, 81_920, 12.5, "shared_memory", 2),
    # The system keeps 1 kB of each block: two blocks of 82 kB do not fit into 164 kB.
    ((8, 0), 32, 128, 82 * 1024, 6.25, "shared_memory", 1),
    ((9, 0), 168, 384, 134_144, 18.75, "registers", 1),
    ((9, 0), 54, 128, 2_064, 56.25, "registers", 9),
    ((9, 0), 19, 9, 0, 50.0, "blocks", 32),
    ((9, 0), 32, 384, 0, 93.75, "warps", 5),
    ((7, 0), 32, 256, 48 * 1024, 25.0, "shared_memory", 2),
    ((7, 5), 32, 256, 0, 100.0, "warps", 4),
    ((8, 6), 32, 64, 0, 32 / 48 * 100, "blocks", 16),
    ((8, 9), 32, 64, 0, 100.0, "warps", 24),
    ((10, 0), 255, 128, 0, 12.5, "registers", 2),
    ((12, 0), 32, 128, 50 * 1024, 4 / 48 * 100, "shared_memory", 1),
]


@pytest.mark.parametrize(("capability", "registers", "threads", "shared", "pct", "limiter", "blocks"), CASES)
def test_occupancy_and_limiter(capability, registers, threads, shared, pct, limiter, blocks):
    found = launch(capability, registers, threads, shared)
    assert found is not None
    assert found.theoretical_pct == pytest.approx(pct)
    assert (found.limiter, found.blocks_per_sm) == (limiter, blocks)
    assert found.warps_per_sm == blocks * -(-threads // 32)


@pytest.mark.parametrize(
    "capability", [(7, 0), (7, 2), (7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0), (10, 0), (10, 3), (11, 0), (12, 0)]
)
def test_every_capability_has_limits(capability):
    found = launch(capability, 32, 128)
    assert found is not None
    assert found.theoretical_pct == 100


@pytest.mark.parametrize(
    "missing",
    [
        {"registers": None},
        {"registers": 0},
        {"block_threads": None},
        {"block_threads": 0},
        {"shared_memory_bytes": None},
        {"shared_memory_bytes": -1},
        {"compute_capability": None},
        {"compute_capability": (3, 5)},
        {"compute_capability": (99, 0)},
        # A block that no SM can hold was never launched.
        {"shared_memory_bytes": 300_000},
        {"block_threads": 1024, "registers": 255},
        # gfx90a calls itself 9.0 too.
        {"limits": {"computeMajor": 9, "computeMinor": 0, "warpSize": 64}},
    ],
    ids=str,
)
def test_no_guess_where_a_figure_is_missing(missing):
    given = {"registers": 32, "block_threads": 128, "shared_memory_bytes": 0, "compute_capability": (9, 0)}
    assert occupancy(**(given | missing)) is None


def test_a_small_grid_limits():
    found = launch((9, 0), 32, 128, grid_blocks=66, sms=132)
    assert found.theoretical_pct == 100
    assert found.limiter == "grid"
    assert found.waves == pytest.approx(66 / (16 * 132))
    assert found.achievable_pct == pytest.approx(100 / 32)
    assert "66 blocks for 132 SMs" in found.explanation


def test_a_full_grid_does_not_limit():
    found = launch((9, 0), 168, 384, 213_188, grid_blocks=132, sms=132)
    assert (found.limiter, found.waves) == ("registers", 1.0)
    assert found.achievable_pct == found.theoretical_pct == 18.75


def test_low_occupancy_is_said_to_be_by_design():
    found = launch((9, 0), 168, 384, 213_188)
    assert "registers and shared memory" in found.explanation
    assert "by design" in found.explanation
    assert "by design" not in launch((9, 0), 54, 128).explanation


def test_a_reported_zero_is_explained():
    big = launch((9, 0), 168, 384, 213_188, grid_blocks=132, sms=132, reported_pct=0)
    assert "48 kB" in big.explanation
    small = launch((9, 0), 16, 32, grid_blocks=1, sms=132, reported_pct=0)
    assert "rounded down" in small.explanation
    other = launch((9, 0), 32, 128, grid_blocks=10_000, sms=132, reported_pct=0)
    assert "no measurement" in other.explanation
    assert "trace" not in launch((9, 0), 32, 128, grid_blocks=10_000, sms=132, reported_pct=100).explanation


def test_the_file_s_own_limits_stand_before_the_table_s():
    # Half the shared memory, as another application may have left it.
    properties = {"sharedMemPerMultiprocessor": 102_400, "regsPerMultiprocessor": 65_536, "computeMajor": 9}
    assert launch((9, 0), 32, 128, 50_000, limits=properties).blocks_per_sm == 2
    assert launch((9, 0), 32, 128, 50_000).blocks_per_sm == 4
    assert device_limits((9, 0), {"maxThreadsPerMultiprocessor": 1024}).warps == 32
    assert device_limits(
        (9, 0), {"maxThreadsPerMultiprocessor": "many", "regsPerMultiprocessor": True}
    ) == device_limits((9, 0))


def test_json_keys():
    record = launch((9, 0), 32, 128, reported_pct=100.0).to_json()
    assert list(record) == [
        "theoretical_pct",
        "limiter",
        "blocks_per_sm",
        "warps_per_sm",
        "waves",
        "achievable_pct",
        "reported_pct",
        "explanation",
    ]
    assert record["waves"] is None
