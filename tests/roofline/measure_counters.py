"""Read the memory counters of large ops on a GPU, for the test that no op's fewest bytes exceed what really moved.

Run under Nsight Compute, which writes one line for each kernel; a spin kernel stands between ops:

    ncu --csv --page raw --metrics dram__bytes_read.sum,dram__bytes_write.sum --clock-control none \
        --profile-from-start off --log-file counters.csv python measure_counters.py run ops.json
    python measure_counters.py join ops.json counters.csv counters_h200.json

The tensors are many times the size of the cache, which would otherwise keep what was written last.
"""

import csv
import json
import sys
from pathlib import Path

import torch
from kineto_inputs import recorded

SPIN = "spin_kernel"
UNITS = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}


def calls():
    """(name, op, arguments) of what is measured."""
    aten = torch.ops.aten
    made = {"device": "cuda", "dtype": torch.bfloat16}
    big = torch.randn(1 << 29, **made)  # 1 GiB
    wide = torch.randn(1 << 28, device="cuda")
    matrix = torch.randn(8192, 65536, **made)
    scores = big.view(32, 16, 1024, 1024)
    mask = torch.rand(1024, 1024, device="cuda") > 0.5
    query, key, value = (torch.randn(16, 16, 8192, 128, **made) for _ in range(3))
    weight = torch.randn(8192, **made)
    index = torch.randint(0, 200_000, (200_000,), device="cuda")
    table = torch.randn(200_000, 4096, **made)
    states = [[torch.randn(1 << 25, device="cuda") for _ in range(4)] for _ in range(4)]
    steps = [torch.ones((), device="cuda") for _ in range(4)]
    image, filters = torch.randn(256, 128, 112, 112, **made), torch.randn(128, 128, 3, 3, **made)
    yield aten.copy_.default, (torch.empty_like(big), big)
    yield aten.copy_.default, (torch.empty(1 << 28, **made), wide)
    yield aten.add.Tensor, (big, big.clone())
    yield aten.add.Tensor, (scores, torch.randn(1024, 1024, **made).expand(32, 16, 1024, 1024))
    yield aten.mul_.Tensor, (big, torch.ones((), **made))
    yield aten.masked_fill_.Scalar, (scores, mask, -1.0)
    yield aten.where.self, (mask, scores, torch.zeros((), **made))
    yield aten._softmax.default, (scores, -1, False)
    yield aten.native_layer_norm.default, (matrix.view(65536, 8192), [8192], weight, weight, 1e-5)
    yield aten.sum.dim_IntList, (wide.view(16384, 16384), [-1])
    yield aten.argmax.default, (wide.view(16384, 16384), 1)
    yield aten.mm.default, (matrix[:, :32768], matrix[:, 32768:].t().contiguous()[:, :8192])
    yield aten.bmm.default, (scores.view(512, 1024, 1024), torch.randn(512, 1024, 256, **made))
    yield aten.embedding.default, (table, index)
    yield aten.index_select.default, (table, 0, index)
    yield aten.cat.default, ([big[: 1 << 28], big[1 << 28 :]],)
    yield aten.native_dropout.default, (big, 0.1, True)
    yield aten._foreach_add_.List, (states[0], states[1])
    yield aten._fused_adamw_.default, (*states, [], steps)
    yield aten.convolution.default, (image, filters, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    yield aten._scaled_dot_product_flash_attention.default, (query, key, value, 0.0, True, False)
    yield aten._scaled_dot_product_cudnn_attention.default, (query, key, value, None, False, 0.0, True, False)
    yield aten._scaled_dot_product_efficient_attention.default, (query, key, value, None, False, 0.0, True)


KEYWORDS = {
    "aten::_fused_adamw_": {
        "lr": 1e-3, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1, "eps": 1e-8, "amsgrad": False, "maximize": False,
    },
}  # fmt: skip


def run(target):
    """Make each call once unseen and once under the counters; write what a trace would have recorded of it."""
    rows = []
    for op, args in calls():
        name = op._schema.name
        words = KEYWORDS.get(name, {})
        op(*args, **words)
        torch.cuda.synchronize()
        torch.cuda.profiler.start()
        torch.cuda._sleep(10)
        op(*args, **words)
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()
        given = recorded(op, *args, **words)
        rows.append({"name": name, "inputs": [given.dims, given.types, given.strides, given.concrete]})
    Path(target).write_text(json.dumps(rows))


def join(ops, counters, target):
    """Put each op's kernels and bytes beside it."""
    rows = json.loads(Path(ops).read_text())
    lines = [line for line in Path(counters).read_text().splitlines() if line.startswith('"')]
    table = list(csv.DictReader(lines))
    units = table.pop(0)
    at = -1
    for line in table:
        if SPIN in line["Kernel Name"]:
            at += 1
            rows[at] |= {"kernels": [], "bytes": 0}
            continue
        for metric in ("dram__bytes_read.sum", "dram__bytes_write.sum"):
            rows[at]["bytes"] += round(float(line[metric].replace(",", "")) * UNITS[units[metric]])
        rows[at]["kernels"].append(line["Kernel Name"][:60])
    # A copy without a cast is no kernel, and not seen.
    lines = ",\n".join(json.dumps(row) for row in rows if row["kernels"])
    Path(target).write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    {"run": run, "join": join}[sys.argv[1]](*sys.argv[2:])
