"""On a CUDA GPU: the read trace agrees with PyTorch's own table, and each variant runs the kernels it should."""

import pytest

from agreement import assert_agrees_with_key_averages
from foretrace.analysis.operators import op_table
from foretrace.api import attention
from foretrace.capture.attention import chosen_variants, record_attention
from foretrace.capture.profile import profile
from foretrace.capture.shapes import AttentionShape
from foretrace.report.data import reading

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
]


def training_step():
    model = torch.nn.Sequential(
        torch.nn.Linear(512, 2048), torch.nn.GELU(), torch.nn.LayerNorm(2048), torch.nn.Linear(2048, 512)
    ).to("cuda", torch.bfloat16)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = torch.randn(256, 512, device="cuda", dtype=torch.bfloat16)

    def step():
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def attention_step():
    q = torch.randn(4, 8, 256, 64, device="cuda", dtype=torch.bfloat16)

    def step():
        with torch.no_grad():
            torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)
            torch.softmax((q @ q.transpose(-2, -1)).masked_fill(q[..., :1] > 0, float("-inf")), -1) @ q

    return step


@pytest.mark.parametrize("make", [training_step, attention_step])
def test_counts_and_times_agree_with_key_averages(make):
    step = make()
    for _ in range(5):
        step()
    with profile(steps=3) as recorded:
        for _ in recorded.steps():
            step()
    assert reading(recorded.trace).counts["unlinked"] == 0  # the device was idle when the window opened
    assert sum(row.device_self_ns for row in op_table(recorded.trace)) > 0
    assert_agrees_with_key_averages(recorded, device=True)


@pytest.fixture(scope="module")
def compared():
    names = ["naive", "inplace", "math", "efficient", "flash", "cudnn", "auto"]
    return {row["variant"]: row for row in attention(variants=names, steps=3).to_json()["variants"]}


# PyTorch's own code decides the counts of math and cudnn; those of the rest follow from what the variant calls.
@pytest.mark.parametrize(
    ("variant", "activities"), [("naive", 6), ("inplace", 5), ("efficient", 1), ("flash", 1), ("cudnn", 1)]
)
def test_each_variant_runs_its_kernels(compared, variant, activities):
    row = compared[variant]
    assert row["status"] == "ok", row["reason"]
    assert row["kernels"]["value"] + row["memcpys"]["value"] == activities
    assert row["kernels"]["min"] == row["kernels"]["max"]


@pytest.mark.parametrize("variant", ["math", "efficient", "flash", "cudnn"])
def test_the_pinned_backend_ran(compared, variant):
    assert compared[variant]["backend"] == variant


@pytest.mark.parametrize("variant", ["naive", "inplace", "math", "efficient", "flash", "cudnn", "auto"])
def test_results_are_close_to_float64(compared, variant):
    assert compared[variant]["max_abs_error"] < 0.05


def test_fully_masked_rows(compared):
    rows = {name: row["masked_row"] for name, row in compared.items()}
    assert rows["naive"] == rows["inplace"] == "nan"
    assert rows["math"] == rows["efficient"] == rows["cudnn"] == "zero"
    assert rows["flash"] is None  # takes no mask


def test_memory_and_wall_time_are_measured(compared):
    scores = 8 * 16 * 1024 * 1024 * 2
    assert compared["naive"]["peak_memory_bytes"] >= 2 * scores
    assert compared["flash"]["peak_memory_bytes"] < scores
    assert compared["flash"]["wall_time_ns"]["median"] < compared["naive"]["wall_time_ns"]["median"]


def test_running_out_of_memory_is_a_row(tmp_path):
    shape = AttentionShape(batch=8, heads=64, kv_heads=64, length=65536, kv_length=65536, head_dim=64, dtype="bfloat16")
    naive, auto = record_attention(shape, chosen_variants(["naive", "auto"]), tmp_path, steps=3).variants
    assert naive.status == "unsupported"
    assert "out of memory" in naive.reason
    assert auto.status == "ok"


def test_a_pinned_backend_that_cannot_run_gives_the_reason_of_pytorch(tmp_path):
    shape = AttentionShape(
        batch=1, heads=2, kv_heads=2, length=128, kv_length=128, head_dim=64, dtype="float32", mask="bool"
    )
    flash, efficient = record_attention(shape, chosen_variants(["flash", "efficient"]), tmp_path, steps=3).variants
    assert flash.status == "unsupported"
    assert "dtype" in flash.reason or "attn_mask" in flash.reason
    assert efficient.status == "ok"
