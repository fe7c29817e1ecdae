"""What the lessons record: every recording, and the function that makes what is recorded.

A program's maker takes a device and gives the function that one step calls. The modules import torch; this table does
not. Lessons show the functions' own source, so that what is read is what was run.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

__all__ = ["PROGRAMS", "Program", "source"]


@dataclass(frozen=True)
class Program:
    """One recording to make."""

    name: str
    """The recording's name."""
    module: str
    """Module below ``foretrace.learn.programs``."""
    maker: str
    """Function there: device -> what a step calls."""
    how: Literal["warm", "first", "plain"] = "warm"
    """``warm``: after its times have settled; ``first``: from the very first call; ``plain``: by torch.profiler as
    people use it, through the module's ``record_plainly``."""
    training: bool = False
    """With gradients."""


# In the order in which they are recorded: the first call of all must find nothing warm, and cuDNN's first call at a
# shape must find its library loaded.
PROGRAMS: Final[dict[str, Program]] = {
    program.name: program
    for program in (
        Program("matmul-first", "matmul", "small", how="first"),
        Program("matmul-64", "matmul", "small"),
        Program("matmul-4096", "matmul", "large"),
        Program("matmul-4096-compiled", "matmul", "large_compiled"),
        Program("linear", "linear", "one_linear"),
        Program("linear-compiled", "linear", "one_linear_compiled"),
        Program("mlp", "linear", "gated"),
        Program("mlp-compiled", "linear", "gated_compiled"),
        Program("attention-naive", "attention", "out_of_place"),
        Program("attention-inplace", "attention", "in_place"),
        Program("attention-naive-training", "attention", "out_of_place_training", training=True),
        Program("attention-inplace-training", "attention", "in_place_training", training=True),
        Program("attention-math", "fused", "math_backend"),
        Program("attention-efficient", "fused", "efficient_backend"),
        Program("attention-flash", "fused", "flash_backend"),
        Program("attention-cudnn", "fused", "cudnn_backend"),
        Program("attention-cudnn-first", "fused", "cudnn_backend_other_shape", how="first"),
        Program("sdpa-causal", "backends", "causal"),
        Program("sdpa-mask", "backends", "masked"),
        Program("sdpa-fp32", "backends", "in_fp32"),
        Program("sdpa-gqa", "backends", "grouped"),
        Program("sdpa-gqa-fp32", "backends", "grouped_in_fp32"),
        Program("sdpa-decode", "backends", "decoding"),
        Program("decoder-eager", "decoder", "block_eager"),
        Program("decoder-sdpa", "decoder", "block_sdpa"),
        Program("graph-eager", "graphs", "step_eager"),
        Program("graph-replay", "graphs", "step_replayed"),
        Program("stranger", "fused", "math_backend", how="plain"),
    )
}


_MARK: Final = re.compile(r"\s*# (?:type: ignore|noqa).*$")


@lru_cache(maxsize=32)
def _functions(module: str) -> dict[str, str]:
    text = (Path(__file__).parent / f"{module}.py").read_text(encoding="utf-8")
    lines = text.splitlines()
    return {node.name: _bare(lines, node) for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}


def source(module: str, *names: str) -> str:
    """The source of a program's functions, as short as people write them: without types, docstrings and marks."""
    return "\n\n\n".join(_functions(module)[name] for name in names)


def _bare(lines: list[str], node: ast.FunctionDef) -> str:
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    inside = lines[body[0].lineno - 1 : node.end_lineno]
    header = f"def {node.name}({', '.join(argument.arg for argument in node.args.args)}):"
    return "\n".join([header, *(_MARK.sub("", line) for line in inside)])
