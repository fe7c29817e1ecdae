"""What an H200 said of many calls, and the reason that each of PyTorch's sentences gives."""

import json

from build import SHARED

FILE = SHARED / "truth" / "sdpa_h200.jsonl"

# A piece of PyTorch's sentence -> the reason it gives. The first that fits holds.
WORDS = {
    "invalid dtype for bias": "mask_dtype",
    "to all be of dtype": "dtype",
    "non-null attn_mask": "attn_mask",
    "attn mask shapes": "attn_mask",
    "is_causal flag when": "causal_lengths",
    "to have stride 1": "last_dim_stride",
    "same num_heads": "num_heads",
    "must match the size": "num_heads",
    "divide number of heads": "num_heads",
    "same last dimension": "head_dim",
    "last dimension of inputs to be divisible": "head_dim",
    "head_dim should be": "head_dim",
    "sequence length": "seq_len",
    "seq_len": "seq_len",
    "ropout": "dropout",
    "gpu architectures": "arch",
}


def reason(sentence):
    """The reason in one of PyTorch's sentences; None where it names none."""
    return next((reason for piece, reason in WORDS.items() if piece in sentence), None)


def rows():
    return [json.loads(line) for line in FILE.read_text().splitlines()]
