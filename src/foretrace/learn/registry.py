"""The lessons that exist, in their order. Written down, so that listing them imports and reads nothing."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

from foretrace.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.learn.lesson import Block
    from foretrace.learn.recorded import Shelf

__all__ = ["LESSONS", "Lesson", "chosen_lesson"]


@dataclass(frozen=True)
class Lesson:
    """One lesson."""

    name: str
    """Also the module's, below ``foretrace.learn.lessons``."""
    title: str
    minutes: int
    teaches: str
    recordings: tuple[str, ...]
    """What it opens."""

    @property
    def number(self) -> int:
        """Its place in the list, from 1."""
        return list(LESSONS).index(self.name) + 1

    def blocks(self, shelf: Shelf) -> Sequence[Block]:
        """The lesson over some recordings.

        Raises:
            MissingDataError: one that it cannot do without is not there.

        """
        module = importlib.import_module(f"foretrace.learn.lessons.{self.name}")
        built: Sequence[Block] = module.build(shelf)
        return built

    def to_json(self) -> dict[str, Any]:
        """The keys of ``lessons[]``."""
        return {
            "name": self.name,
            "title": self.title,
            "minutes": self.minutes,
            "teaches": self.teaches,
            "recordings": list(self.recordings),
        }


LESSONS: Final[dict[str, Lesson]] = {
    lesson.name: lesson
    for lesson in (
        Lesson(
            "matmul",
            "Matmul and add: who waits for whom",
            15,
            "launch chains, what bounds a step, the cold step, occupancy, what compiling does to an add",
            ("matmul-first", "matmul-64", "matmul-4096", "matmul-4096-compiled"),
        ),
        Lesson(
            "linear",
            "Linear and MLP: what launches, and what fuses",
            13,
            "what views launch, where a bias is added, layouts, GEMM tiles, what compile fuses",
            ("matmul-64", "linear", "linear-compiled", "mlp", "mlp-compiled"),
        ),
        Lesson(
            "attention",
            "Attention by hand: the copy nobody wrote",
            12,
            "a hidden copy, what a trailing underscore saves, when in-place is safe and what autograd says",
            ("attention-naive", "attention-inplace", "attention-naive-training", "attention-inplace-training"),
        ),
        Lesson(
            "math",
            "The math backend: the reference path",
            10,
            "why it takes so many kernels, which units multiply, where the mask comes from, safe softmax",
            ("attention-naive", "attention-math"),
        ),
        Lesson(
            "fused",
            "Efficient, flash, cuDNN: the fused backends",
            13,
            "occupancy and what it is worth, a slow first call, transposes, launch calls",
            (
                "attention-naive",
                "attention-math",
                "attention-efficient",
                "attention-flash",
                "attention-cudnn",
                "attention-cudnn-first",
            ),
        ),
        Lesson(
            "backends",
            "GQA, decode and masks: which backend, and why",
            12,
            "what makes PyTorch pick a backend, what rules one out, what that costs",
            ("sdpa-causal", "sdpa-mask", "sdpa-fp32", "sdpa-gqa", "sdpa-gqa-fp32", "sdpa-decode"),
        ),
        Lesson(
            "decoder",
            "A whole decoder block: eager against SDPA",
            9,
            "where a block's time goes, and what a faster kernel does for the step",
            ("decoder-eager", "decoder-sdpa"),
        ),
        Lesson(
            "graphs",
            "CUDA graphs, and what they hide",
            8,
            "what a replay saves, what a trace of it can no longer say",
            ("graph-eager", "graph-replay"),
        ),
        Lesson(
            "trust",
            "A trace you did not record",
            9,
            "the trust header: kernels without a launch, cold steps, cut-off files; and a checklist",
            ("stranger", "matmul-first", "attention-math"),
        ),
    )
}


def chosen_lesson(name: str) -> Lesson:
    """The lesson of this name, or of this number. Raises ``UsageError`` where there is none."""
    word = name.strip().lower()
    if word.isdecimal() and 1 <= int(word) <= len(LESSONS):
        return list(LESSONS.values())[int(word) - 1]
    if word in LESSONS:
        return LESSONS[word]
    near = get_close_matches(word, LESSONS, n=1)
    known = f"the lessons are {', '.join(LESSONS)}, or 1 to {len(LESSONS)}."
    hint = f"did you mean {near[0]}?" if near else known
    raise UsageError(f"there is no lesson {name!r}; {hint}")
