"""Random calls in the flat form of a case, of every kind that dispatch tells apart."""

import random

DTYPES = ["bf16", "bf16", "fp16", "fp16", "fp32", "fp64"]
MASKS = ["none", "none", "none", "bool", "float", "pad_expanded", "float_bh", "float_fp32", "float_grad"]
SIZES = [8, 16, 20, 32, 40, 64, 64, 72, 80, 96, 100, 128, 128, 160, 192, 224, 256, 264, 512]
LENGTHS = [1, 1, 2, 17, 64, 100, 128, 250, 256, 257, 333, 512]


def random_case(rng: random.Random, longest: int = 512) -> dict:
    """One case, with sequences up to a length; about half of it plain."""
    lengths = [length for length in LENGTHS if length <= longest]
    size, heads, length = rng.choice(SIZES), rng.choice([1, 2, 8]), rng.choice(lengths)
    mask = rng.choice(MASKS)
    fewer = rng.random() < 0.3
    return {
        "dtype": rng.choice(DTYPES),
        "b": rng.choice([1, 2, 4]),
        "h": heads,
        "hk": rng.choice([1, 2, heads]) if fewer and heads > 1 else heads,
        "lq": length,
        "lk": rng.choice(lengths) if rng.random() < 0.5 else length,
        "d": size,
        "dv": rng.choice(SIZES) if rng.random() < 0.2 else size,
        "mask": mask,
        "causal": mask == "none" and rng.random() < 0.5,
        "dropout": rng.choice([0.0, 0.0, 0.0, 0.1, 0.125]),
        "grad": rng.random() < 0.4,
        "gqa": fewer and rng.random() < 0.8,
        "layout": rng.choice(["contig", "contig", "bshd", "sliced", "dlast_strided"]),
    }
