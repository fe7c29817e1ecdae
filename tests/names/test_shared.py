"""Every kernel name in the shared traces, where they are beside the repository."""

import importlib
from collections import Counter
from pathlib import Path

import pytest

from foretrace.errors import ForetraceError
from foretrace.names.decode import decode
from foretrace.names.decoded import MATRIX_ROLES
from foretrace.names.occupancy import occupancy

SHARED = Path(__file__).parents[2] / "../shared"
TRUTH = SHARED / "truth/kernels_h200.tsv"

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared traces are not beside this repository")


def truth():
    if not TRUTH.is_file():
        return []
    header, *lines = TRUTH.read_text(encoding="utf-8").splitlines()
    return [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]


@pytest.mark.parametrize("row", truth(), ids=lambda row: f"{row['op']}-{row['kernel_name'][:30]}")
def test_unit_and_occupancy_are_the_measured_ones(row):
    decoded = decode(row["kernel_name"])
    assert (decoded.unit == "tensor_core") == (row["tensor_core"] != "no")
    assert decoded.unit != "unknown" or decoded.role not in MATRIX_ROLES
    found = occupancy(
        registers=int(row["registers"]),
        block_threads=int(row["threads"]),
        shared_memory_bytes=int(row["smem_bytes"]),
        compute_capability=(9, 0),
    )
    assert found is not None
    assert found.theoretical_pct == float(row["theoretical_occupancy_pct"])


@pytest.fixture(scope="module")
def device_time():
    """Device time in nanoseconds of every name in all shared traces."""
    load_trace = importlib.import_module("foretrace.trace.load").load_trace
    times = Counter()
    for path in sorted((SHARED / "traces").glob("*/*.json*")):
        if path.suffix == ".jsonl":
            continue
        try:
            trace = load_trace(path)
        except ForetraceError:
            continue
        acts = trace.activities
        names = trace.rows.name[acts.row]
        for name, dur in zip(names.tolist(), acts.dur.tolist(), strict=True):
            times[trace.strings[name]] += dur
    return times


def test_nearly_all_device_time_has_a_role(device_time):
    other = sum(time for name, time in device_time.items() if decode(name).role == "other")
    assert sum(device_time.values()) > 0
    assert other / sum(device_time.values()) < 0.02


def test_no_matrix_kernel_is_on_an_unknown_unit(device_time):
    lost = [name for name in device_time if decode(name).role in MATRIX_ROLES and decode(name).unit == "unknown"]
    assert lost == []


# Words that give a library away.
MARKS = (
    *("at::", "cublas", "cudnn", "cutlass", "nvjet", "nccl", "rccl", "triton_", "cub::", "thrust::", "flash", "fmha"),
    *("vllm", "fbgemm", "aiter", "ck::", "Cijk_", "igemm_", "rocprim", "tensorrt_llm", "volta_", "ampere_s", "Memcpy"),
)


def test_no_kernel_of_a_known_library_is_unknown(device_time):
    marked = [name for name in device_time if any(mark in name.split("(")[0].split("<")[0] for mark in MARKS)]
    assert marked
    assert [name for name in marked if decode(name).library == "unknown"] == []


def test_every_piece_stands_in_its_name(device_time):
    for name in device_time:
        decoded = decode(name)
        assert all(token.text in name for token in decoded.tokens), name
        assert len(decoded.short) <= 40
