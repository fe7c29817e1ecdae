"""What PyTorch's own binaries answered about the same calls, release by release, for devices that were only pretended.

Each release's CUDA build was loaded without a GPU, under a CUDA runtime that reports a device of the wanted compute
capability and a cuDNN of the wanted version (``ask_any_device.py``, ``pretended_device.c``). Its ``can_use_*`` and
``_fused_sdp_choice`` look at shapes, strides and those two numbers only, so their answers are a real device's.
"""

import gzip
import json
from pathlib import Path

from foretrace.analysis.dispatch.call import Call, Operand
from foretrace.analysis.dispatch.facts import Architecture

FILE = Path(__file__).parent / "answers.json.gz"

# The check of PyTorch's that refused -> the letter of its reason.
LETTERS = {
    "check_tensor_dtype": "d",
    "check_for_attn_mask": "m",
    "check_attn_mask_shape": "m",
    "check_head_dim_size_flash": "h",
    "check_head_dim_size_mem_efficient": "h",
    "check_flash_causal_non_square_seqlens": "c",
    "check_last_dim_stride_equals_1_dense": "s",
    "check_grouped_query_attention": "n",
    "check_batch_size_and_num_heads_dense": "n",
    "check_nonzero_sequence_lengths_dense": "l",
    "check_tensor_shapes": "o",
    "check_data_ptr_alignment_mem_efficient": "o",
    "check_flash_attention_grid_size": "o",
    "check_flash_attention_hardware_support": "a",
    "check_mem_efficient_hardware_support": "a",
    "check_cudnn_hardware_support": "a",
    "check_cudnn_dropout": "p",
    "check_cudnn_d256_bprop_head_dim": "g",
    "check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89": "g",
    "check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120": "g",
    "check_requires_grad_and_head_dim_gt192_constraints_on_sm86_89_or_120_121": "g",
}
REASONS = {
    ".": None, "d": "dtype", "m": "attn_mask", "h": "head_dim", "c": "causal_lengths", "s": "last_dim_stride",
    "n": "num_heads", "l": "seq_len", "o": "other", "a": "arch", "p": "dropout", "g": "grad",
}  # fmt: skip
CHOICES = {"m": "math", "f": "flash", "e": "efficient", "c": "cudnn"}
BACKENDS = ("cudnn", "flash", "efficient")
UNSAID = "?"
"""The words do not name the check that decides: torch 2.7 warns, when asked for words, of what does not matter."""


def letter(verdict):
    """The letter of one backend's answer: True, or [check, words], or None where it gave no words."""
    if verdict is True:
        return "."
    if verdict is None:
        return "m"  # a mask of a wrong shape, or one that requires grad, is refused without a word
    check, words = verdict
    if "does not support backward" in words and "nested" in words:
        return UNSAID
    if check == "check_batch_size_and_num_heads_dense" and "batch_size" in words.partition(". ")[0]:
        return "o"
    if check == "check_cudnn_tensor_shapes":
        marks = (("head_dim", "h"), ("batch", "o"), ("gradients", "g"))
        return next((mark for word, mark in marks if word in words), "l")
    if check == "can_use_cudnn_attention":
        return "p" if "drop" in words else "l"
    return LETTERS[check]


def packed(row):
    """One call's answers in four letters: cuDNN, flash, efficient, and the choice."""
    if "error" in row or not isinstance(row.get("choice"), int):
        return UNSAID * 4
    said = "".join(letter(row[name]) if name in row else UNSAID for name in BACKENDS)
    return said + "mfec"[row["choice"]]


def call(content):
    """A call from its JSON form."""

    def operand(each):
        return Operand(
            tuple(each["dims"]), each["dtype"], tuple(each["strides"]), each.get("offset", 0), each.get("grad", False)
        )

    query, key, value = (operand(content[name]) for name in "qkv")
    mask = operand(content["mask"]) if content["mask"] else None
    return Call(query, key, value, mask, content["causal"], content["dropout"], content["grad"], content["gqa"])


def architecture(device):
    """``9.0`` or ``cpu``."""
    return Architecture("cpu") if device == "cpu" else Architecture("cuda", *map(int, device.split(".")))


def load():
    """(calls, answers): each answer has ``torch``, ``device``, ``cudnn`` and ``rows``, four letters for each call."""
    content = json.loads(gzip.decompress(FILE.read_bytes()))
    return [call(each) for each in content["calls"]], content["answers"]


def pack(calls_file, folder):
    """Pack what ``ask_any_device.py`` wrote."""
    answers = []
    for path in sorted(Path(folder).glob("*.json")):
        said = json.loads(path.read_text())
        rows = "".join(map(packed, said["rows"]))
        torch = said["torch"].partition("+")[0]
        answers.append({"torch": torch, "device": said["cc"], "cudnn": int(said["cudnn"]), "rows": rows})
    calls = [json.loads(line) for line in Path(calls_file).read_text().splitlines()]
    FILE.write_bytes(gzip.compress(json.dumps({"calls": calls, "answers": answers}).encode(), 9, mtime=0))
