"""Make and judge the sweeps that the documentation and `foretrace recommend` rest on.

    python tools/sweep_h200.py measure FOLDER [--plan even|contested] [--budget SECONDS]
    python tools/sweep_h200.py check FOLDER
    python tools/sweep_h200.py keep FOLDER NAME

`measure` runs sweeps on one GPU within the budget. The plan `even` is `first` (60 shapes, 5 variants), `again` (the
same), and `dense` (the shapes between those of the first, without the math backend, whose order is shuffled: what the
budget cuts off is no particular end). The plan `contested` is shapes where backends are refused or lose their lead
(masks, grouped heads, float32, other head dims, odd and short lengths), measured twice. `check` says whether winners
repeated and what the advice would have cost. `keep` puts the first into the package and the others beside the tests.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

import foretrace
from foretrace.report.sweep_data import Sweep
from foretrace.report.sweep_text import sweep_text
from foretrace.sweep.held_against import agreement, left_out_regrets, regrets, with_default

if TYPE_CHECKING:
    from foretrace.sweep.held_against import Regret
    from foretrace.sweep.run import Progress

ROOT = Path(__file__).parents[1]
MODEL = {"heads": 16, "dtype": "bf16"}
FORWARD = {**MODEL, "head_dim": [64, 128]}

# 40 + 4 + 6 + 10 = 60 shapes.
FIRST = [
    {**FORWARD, "batch": [1, 8], "length": "256:4096:x2", "causal": "yes,no"},
    {**FORWARD, "batch": 1, "length": "8192,16384"},
    {**MODEL, "batch": [1, 8], "length": 1, "kv_length": "1024,4096,16384", "head_dim": 128},
    {**FORWARD, "batch": [1, 8], "length": "512,2048", "training": True},
    {**FORWARD, "batch": 8, "length": 4096, "training": True},
]
# Every size between, and the two in the middle of each step of the batch.
BETWEEN = "256,384,512,768,1024,1536,2048,3072,4096"
DENSE = [
    {**FORWARD, "batch": [1, 2, 4, 8], "length": BETWEEN, "causal": "yes,no"},
    {**FORWARD, "batch": 1, "length": "6144,12288"},
    {**MODEL, "batch": [1, 2, 4, 8], "length": 1, "kv_length": "1024:16384:x2", "head_dim": 128},
    {**FORWARD, "batch": [1, 2, 4, 8], "length": "512,768,1024,1536,2048", "training": True},
]
# 12 + 6 + 6 + 6 + 12 + 6 + 9 + 2 = 59 shapes.
GROUPED = {"heads": 32, "kv_heads": 8, "dtype": "bf16", "head_dim": 128}
CONTESTED = [
    {**MODEL, "head_dim": 64, "batch": [1, 8], "length": "256,1024,4096", "mask": "bool,float", "causal": False},
    {**GROUPED, "batch": [1, 8], "length": "256,1024,4096"},
    {**GROUPED, "batch": [1, 16], "length": 1, "kv_length": "1024,8192,32768"},
    {"heads": 16, "dtype": "fp32", "head_dim": 64, "batch": [1, 8], "length": "128,512,2048"},
    {**MODEL, "head_dim": [32, 96, 256], "batch": [1, 8], "length": "512,2048"},
    {**MODEL, "head_dim": 64, "batch": [1, 8], "length": "300,1000,3000"},
    {**MODEL, "head_dim": 64, "batch": [1, 8, 64], "length": "16,64,128"},
    {**MODEL, "head_dim": 64, "batch": 1, "length": 256, "kv_length": "1024,8192"},
]
ALL = ("auto", "math", "efficient", "flash", "cudnn")
FUSED = ("auto", "efficient", "flash", "cudnn")
PLANS = {
    "even": (("first", FIRST, ALL, 1.2), ("again", FIRST, ALL, 1.2), ("dense", DENSE, FUSED, 0.6)),
    "contested": (("contested", CONTESTED, ALL, 1.2), ("contested-again", CONTESTED, ALL, 1.2)),
}
"""Sweeps by plan: name, cases, variants, seconds of repeating a case."""
LONGEST_FIRST = 200.0  # seconds that the first, and its repeat, may take of the budget
RESERVE = 15.0  # seconds for the case in hand when the budget ends
LIMIT = 60.0  # seconds for a variant at a case: the first call loads cuDNN from a cold disk
TELL_S = 10.0
NEAR = 0.02
"""Within this share of the fastest is near it."""


def smaller(grids: list[dict], by: int) -> list[dict]:
    """The same grids with every length divided: to try this script without a GPU."""
    shrunk = []
    for grid in grids:
        sizes = dict(grid)
        for name in ("length", "kv_length"):
            if name in sizes and sizes[name] != 1:
                parts = str(sizes[name]).replace(":x2", "").replace(":", ",").split(",")
                sizes[name] = [max(1, int(part) // by) for part in parts]
        sizes.pop("kv_heads", None)
        shrunk.append({**sizes, "heads": 2, "head_dim": 8, "dtype": "fp32"})
    return shrunk


def measure(folder: Path, plan: str, budget: float, *, tiny: bool) -> None:
    """Run the sweeps of a plan."""
    end = time.monotonic() + budget
    log = []
    device = {"device": "cpu", "threads": 1} if tiny else {"device": "cuda:0"}
    for name, grids, variants, seconds in PLANS[plan]:
        began = time.monotonic()
        left = end - began - RESERVE
        if left <= 0:
            break
        done = foretrace.sweep(
            folder / name,
            cases=smaller(grids, 128) if tiny else grids,
            variants=variants,
            seconds=0.01 if tiny else seconds,
            limit=LIMIT,
            samples=True,
            budget=min(left, LONGEST_FIRST) if name != "dense" else left,
            progress=Teller(name),
            **device,
        )
        (folder / name / "rows.parquet").unlink(missing_ok=True)
        took = time.monotonic() - began
        log.append({"sweep": name, "seconds": round(took, 1), "rows": len(done.rows), "finished": done.finished})
        print(json.dumps(log[-1]), flush=True)
        (folder / "log.json").write_text(json.dumps(log, indent=1) + "\n", encoding="utf-8")


class Teller:
    """A line of progress every ten seconds."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.said = time.monotonic()

    def __call__(self, now: Progress) -> None:
        """Say how far it is, if it is time."""
        if time.monotonic() - self.said > TELL_S:
            self.said = time.monotonic()
            print(f"{self.name}: {now.done} of {now.cases} cases, {now.failed} rows failed", flush=True)


def check(folder: Path) -> None:
    """Say how far the sweeps agree, and what advice costs."""
    if (folder / "first").exists():
        first, again, dense = (foretrace.load_sweep(folder / name) for name in ("first", "again", "dense"))
        print(sweep_text(first))
        say_agreement(first, again)
        known = {row.case for row in first.rows}
        others = Sweep(rows=tuple(row for row in dense.rows if row.case not in known), place="dense")
        say_costs("at dense, new shapes", regrets(first, others), others)
        say_costs("at again", regrets(first, again), again)
        for default in ("flash", "efficient"):
            advisor, truth = (with_default(sweep, default) for sweep in (first, others))
            say_costs(f"at dense, if {default} were the default", regrets(advisor, truth), truth)
    if (folder / "contested").exists():
        contested, again = (foretrace.load_sweep(folder / name) for name in ("contested", "contested-again"))
        print(sweep_text(contested))
        say_agreement(contested, again)
        say_costs("at contested again", regrets(contested, again), again)
        say_costs("at contested, each from the others", left_out_regrets(contested), contested)


def say_agreement(one: Sweep, other: Sweep) -> None:
    """Whether winners repeated."""
    found = agreement(one, other)
    print(
        f"repeated: {len(found.same)} the same, {len(found.overlapping)} overlapping, {len(found.different)} "
        f"different: {found.share:.1%}"
    )
    for case in (*found.overlapping, *found.different):
        print("  ", case, *(winners(sweep, case) for sweep in (one, other)))


def say_costs(where: str, costs: list[Regret], truth: Sweep) -> None:
    """What following the advice cost, with the worst cases."""
    number = max(len(costs), 1)
    print(
        f"advice {where}: {len(costs)} shapes, {sum(cost.pin is not None for cost in costs)} pinned, "
        f"{sum(cost.slower for cost in costs)} slower than the default, within 2 % of the best in "
        f"{sum(cost.over_best <= NEAR for cost in costs) / number:.1%}; keeping the default always: "
        f"{sum((1 + cost.over_best) / (1 + cost.over_default) - 1 <= NEAR for cost in costs) / number:.1%}"
    )
    for cost in sorted(costs, key=lambda each: -each.over_best):
        if cost.over_best > NEAR or cost.slower:
            print(
                f"   {cost.case}: {cost.pin or 'default'} ({cost.sure}) {cost.over_best:+.1%} over the best,"
                f" {cost.over_default:+.1%} over the default; {winners(truth, cost.case)}"
            )


def winners(sweep: Sweep, case: str) -> str:
    """Who wins a case, with times."""
    (device, *_) = sweep.devices
    outcome = next(each for each in device.outcomes if each.case == case)
    times = {row.variant: row.time_ns.median for row in outcome.rows if row.time_ns}
    return f"{' = '.join(outcome.winner_names)} {times}"


def keep(folder: Path, name: str) -> None:
    """Put the sweeps where the package and the tests find them, without the single runs."""
    beside = ROOT / "tests" / "recordings" / "sweeps"
    places = {
        "first": ROOT / "src" / "foretrace" / "recordings" / f"sweep-{name}" / "rows.jsonl.gz",
        "again": beside / f"{name}-again" / "rows.jsonl.gz",
        **{part: beside / f"{name}-{part}" / "rows.jsonl.gz" for part in ("dense", "contested", "contested-again")},
    }
    for part, path in places.items():
        if not (folder / part).exists():
            continue
        rows = [msgspec.structs.replace(row, samples_ns=None) for row in foretrace.load_sweep(folder / part).rows]
        path.parent.mkdir(parents=True, exist_ok=True)
        text = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
        path.write_bytes(gzip.compress(text, mtime=0))
        print(f"{path.relative_to(ROOT)}: {len(rows)} rows, {path.stat().st_size} bytes")


def main() -> int:
    """Do what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for word in ("measure", "check", "keep"):
        commands.add_parser(word).add_argument("folder", type=Path)
    commands.choices["measure"].add_argument("--plan", choices=PLANS, default="even")
    commands.choices["measure"].add_argument("--budget", type=float, default=530.0)
    commands.choices["measure"].add_argument("--tiny", action="store_true", help="small shapes on the CPU")
    commands.choices["keep"].add_argument("name")
    chosen = parser.parse_args()
    if chosen.command == "measure":
        measure(chosen.folder, chosen.plan, chosen.budget, tiny=chosen.tiny)
    elif chosen.command == "check":
        check(chosen.folder)
    else:
        keep(chosen.folder, chosen.name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
