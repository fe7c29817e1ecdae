"""Rows of a sweep in a few words, for tests."""

from foretrace.capture.recording import DeviceInfo, ShapeInfo, WallTime
from foretrace.capture.sweep_row import SweepRow, case_name

H200 = DeviceInfo(type="cuda", name="NVIDIA H200", torch="2.11.0+cu130", driver="580.1", compute_capability="9.0")
SHAPE = {
    "batch": 8, "heads": 16, "length": 1024, "head_dim": 64, "dtype": "bfloat16", "causal": True, "mask": "none",
    "training": False,
}  # fmt: skip


def shape(**changes):
    sizes = SHAPE | changes
    return ShapeInfo(**({"kv_heads": sizes["heads"], "kv_length": sizes["length"]} | sizes))


def time(median, spread=None):
    spread = median // 500 if spread is None else spread
    return WallTime(median=median, min=median - spread, max=median + 2 * spread, spread=spread, runs=12)


def case(times, where=None, device=H200, auto="cudnn", **failures):
    """Rows of one case: ``times`` by variant in nanoseconds; failures by variant as (status, reason)."""
    where = where or shape()
    rows = []
    for variant, took in times.items():
        backend = auto if variant == "auto" else variant
        rows.append(
            SweepRow(
                case=case_name(where),
                variant=variant,
                status="ok",
                shape=where,
                device=device,
                backend=backend,
                time_ns=took if isinstance(took, WallTime) else time(took),
                host_ns=20_000,
                peak_memory_bytes=1000,
                max_abs_error=0.01,
            )
        )
    for variant, (status, reason) in failures.items():
        rows.append(
            SweepRow(case=case_name(where), variant=variant, status=status, reason=reason, shape=where, device=device)
        )
    return rows
