"""Lesson: a linear layer, and a gated MLP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.learn.lesson import Block, Choice, Code, Grid, Near, Number, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.recorded import launched
from foretrace.learn.views import (
    LEGEND_IN_SHORT,
    annotated_sentence,
    counts_sentence,
    grid_scale,
    kernel_grid,
    lanes,
    op_grid,
    token_grid,
)
from foretrace.learn.words import and_list, before_and_now, counted, one_unit, shown_sum, tick
from foretrace.report.escape import plain
from foretrace.units import count_text, share_text, time_text

if TYPE_CHECKING:
    from foretrace.analysis.tree import Node
    from foretrace.learn.recorded import Recorded, Shelf, Work

__all__ = ["build"]

_BIAS = (
    "by a kernel of its own",
    "in the GEMM, before it stores its output",
    "on the CPU",
)
_TRANSPOSE = (
    "a kernel copied the weight into transposed order",
    "the GEMM reads the weight as if it were transposed",
    "the input was transposed instead",
)
_SAME = ("yes, the same kernel for all", "no, not the same kernel for all")


def build(shelf: Shelf) -> list[Block]:
    """The lesson over some recordings."""
    one, mlp = shelf["linear"], shelf["mlp"]
    one_compiled, mlp_compiled, square = shelf.get("linear-compiled"), shelf.get("mlp-compiled"), shelf.get("matmul-64")
    blocks: list[Block] = [
        Prose(
            "`nn.Linear` computes `x @ W.T + b`. The weight lies in memory as [out, in], so somebody has to transpose "
            "it, and somebody has to add the bias."
        ),
        Code(source("linear", "linear")),
        prose(
            f"Here x is {_sizes(one.dims('aten::linear'))}, the weight {_sizes(one.dims('aten::linear', 1))}.",
            annotated_sentence(one),
        ),
        _how_many(one),
        *_who_transposes(one, square),
        *_where_the_bias_goes(one),
    ]
    blocks += [
        prose(
            "Now the gated MLP of a transformer: linear layers around an activation and a product.",
            annotated_sentence(mlp),
        ),
        Code(source("linear", "mlp")),
        _how_many_in_mlp(mlp),
        *_one_kernel_for_equal_work(mlp),
    ]
    if mlp_compiled is not None:
        blocks.append(_what_compile_joins(mlp, mlp_compiled))
    if one_compiled is not None:
        blocks.append(_what_compile_does_to_one(one, one_compiled))
    blocks += [
        Prose(
            "What to take along: an op is no kernel. Views launch nothing, a bias may cost nothing, and the name of a "
            "GEMM says what it reads, how it is tiled and what it does on the way out."
        ),
        Try(
            "Take a GEMM's name from a trace of your own model apart. Is it a tensor-core kernel, and which input does "
            "it read transposed?",
            f"foretrace kernel {_gemm_name(one)}",
        ),
    ]
    return blocks


def _sizes(dims: tuple[int, ...]) -> str:
    return "[" + ", ".join(f"{size}" for size in dims) + "]" if dims else "of unknown size"


def _gemms(recorded: Recorded) -> list[Work]:
    return [work for work in recorded.kernel_work if work.decoded.role == "gemm"]


def _gemm_name(recorded: Recorded) -> str:
    name = next((work.name for work in _gemms(recorded)), "NAME")
    return name if name.replace("_", "a").isalnum() else "NAME"


def _how_many(one: Recorded) -> Question:
    quiet = [op for op in one.ops if not launched(op)]
    names = list(dict.fromkeys(op.name for op in quiet))
    own = sum(op.cpu_ns for op in quiet if not any(op in other.children for other in quiet))
    return Question(
        key="kernels",
        about="kernels of a linear layer",
        ask="A transpose, a product, a sum. How many kernels does this launch?",
        hint="A transpose need not move anything: it can be another way to look at the same memory.",
        answer=Number(one.kernels),
        recording=one.name,
        metric="kernels",
        near=tuple(
            Near(number, text)
            for number, text in (
                (one.kernels + 1, "You left out a kernel that is not needed; there is another."),
                (one.kernels + 2, "That is a kernel for each part of the formula. Not every part needs its own."),
            )
        ),
        look=(lanes(one, "a linear layer, all ops", quiet=True), LEGEND_IN_SHORT, op_grid(one.ops)),
        because=(
            prose(
                f"A step launches {counts_sentence(one)}.",
                f"Of its {counted(len(one.ops), 'op')} {counted(len(quiet), 'launches', 'launch')} nothing: "
                f"{and_list(tick(name) for name in names)}. They make a view, the same memory with other strides. "
                f"That is done on the CPU, in {time_text(own)}."
                if quiet
                else "Every op launches something here.",
            ),
        ),
    )


def _where_the_bias_goes(one: Recorded) -> list[Question]:
    gemms = _gemms(one)
    if not gemms:
        return []
    adders = [work for work in one.kernel_work if work.decoded.op == "add"]
    named = next((work for work in gemms if any(token.text.lower() == "bias" for token in work.decoded.tokens)), None)
    right = 0 if adders else 1
    proof = token_grid((named or gemms[0]).decoded)
    return [
        Question(
            key="bias",
            about="where the bias is added",
            ask="And where is the bias added?",
            hint="A GEMM holds its output tile in registers before it stores it.",
            answer=Choice(_BIAS, right),
            look=(Prose(f"The name of the GEMM, {tick((named or gemms[0]).name)}, piece by piece:"), proof),
            because=(
                prose(
                    f"{tick(named.owner)} hands the bias to the GEMM, and the kernel adds it before it stores; the "
                    f"piece {tick('bias')} of its name says so. Such work on the way out is called an epilogue. It "
                    "saves a kernel that would read and write the whole output again."
                    if named is not None and not adders
                    else f"{tick(adders[0].owner)} launches {adders[0].letter} for it: {adders[0].short}."
                    if adders
                    else "No kernel is left that could add it but the GEMM itself. Such work on the way out is called "
                    "an epilogue.",
                ),
            ),
        )
    ]


def _who_transposes(one: Recorded, square: Recorded | None) -> list[Question]:
    gemm = next((work for work in _gemms(one) if work.decoded.layout), None)
    if gemm is None:
        return []
    copies = [work for work in one.work if work.kind == "memcpy" or work.decoded.role == "copy"]
    layout = gemm.decoded.layout or ""
    right = 0 if copies else 1 if "t" in layout else 2
    other = None if square is None else next((work for work in _gemms(square) if work.decoded.layout), None)
    proof = token_grid(gemm.decoded, lambda fact: fact == "layout")
    return [
        Question(
            key="transpose",
            about="how the weight gets transposed",
            ask="So how does the product come out with the weight transposed?",
            hint="A GEMM reads each input in tiles, in an order that it was built for.",
            answer=Choice(_TRANSPOSE, right),
            look=(Prose("The name of the kernel says it:"), proof) if proof.rows else (),
            because=(
                prose(
                    f"The layout of this GEMM is {tick(layout)}: `t` is an input that is read transposed, `n` is read "
                    "as it lies. PyTorch stores matrices row by row, BLAS column by column, so to BLAS each of them "
                    "looks transposed. PyTorch therefore asks for the transposed product, which swaps the inputs: the "
                    "first letter is the weight's.",
                    f"The plain product of the lesson before ran {tick(other.decoded.layout or '')}."
                    if other is not None and other.decoded.layout != layout
                    else "",
                    f"{counted(len(copies), 'copy', 'copies')} ran as well."
                    if copies
                    else "No copy, no kernel, no time.",
                ),
            ),
        )
    ]


def _how_many_in_mlp(mlp: Recorded) -> Question:
    gemms = _gemms(mlp)
    others = [work for work in mlp.kernel_work if work not in gemms]
    rest = and_list(f"{work.letter} ({work.short}) for {tick(work.owner)}" for work in others)
    scale = grid_scale(mlp)
    small = shown_sum((work.time_ns for work in others), scale)
    return Question(
        key="mlp",
        about="kernels of a gated MLP",
        ask="How many kernels does the MLP launch?",
        hint="Count the ops that need their whole input in memory before they start, and that write their output back.",
        answer=Number(mlp.kernels),
        recording=mlp.name,
        metric="kernels",
        near=(
            *(
                (Near(len(gemms), "Those are the products. The activation and the multiplication launch, too."),)
                * (len(gemms) != mlp.kernels)
            ),
        ),
        look=(lanes(mlp, "the gated MLP"), kernel_grid(mlp, details=False)),
        because=(
            prose(
                f"A step launches {counts_sentence(mlp)}: {count_text(len(gemms), 'GEMM')}, and {rest}."
                if others
                else f"A step launches {counts_sentence(mlp)}, all of them GEMMs.",
                f"{and_list(work.letter for work in others)} take {scale(small)}, {share_text(small / mlp.device_ns)} "
                "of the device time, and compute next to nothing: they read and write."
                if others
                else "",
            ),
        ),
    )


def _one_kernel_for_equal_work(mlp: Recorded) -> list[Question]:
    gemms = _gemms(mlp)
    roofs = [op.bound.flops for op in mlp.roofline.ops if op.name == "aten::linear"]
    if len(gemms) < 2 or not roofs or len(set(roofs)) != 1:  # noqa: PLR2004 - nothing to compare
        return []
    groups: dict[str, list[Work]] = {}
    for work in gemms:
        groups.setdefault(work.name, []).append(work)
    told = and_list(
        f"{and_list(work.letter for work in group)} {'runs' if len(group) == 1 else 'run'} {group[0].short}"
        for group in groups.values()
    )
    shapes = [op for op in mlp.ops if op.name in ("aten::mm", "aten::addmm", "aten::bmm")]
    return [
        Question(
            key="tiles",
            about="kernels of GEMMs with equal FLOPs",
            ask=f"Each of the {len(gemms)} products needs the same {roofs[0] / 1e9:.1f} GFLOP. Do they run the same "
            "kernel?",
            hint="A wide output with short sums is cut into tiles differently from a narrow one with long sums.",
            answer=Choice(_SAME, 0 if len(groups) == 1 else 1),
            look=(_products(shapes, gemms),),
            because=(
                prose(
                    f"{told}. The work is the same, but the inputs have other shapes, and each is cut into tiles "
                    "in its own way. The library picks for each the kernel that it expects to fill the card best."
                    if len(groups) > 1
                    else f"{told}: the library found the same tile best for all of them.",
                ),
            ),
        )
    ]


def _products(shapes: list[Node], gemms: list[Work]) -> Grid:
    """Each product's inputs with the kernel that ran; the kernels alone where the two do not pair up."""
    inputs = [plain(op.shapes) for op in shapes] if len(shapes) == len(gemms) else [""] * len(gemms)
    scale = one_unit(*(work.time_ns for work in gemms))
    rows = tuple(
        (work.letter, given, work.short, scale(work.time_ns)) for work, given in zip(gemms, inputs, strict=True)
    )
    return Grid(("", "inputs", "kernel", "device"), rows, text=(0, 1, 2))


def _what_compile_joins(mlp: Recorded, compiled: Recorded) -> Question:
    fused = [work for work in compiled.kernel_work if work.decoded.library == "Inductor Triton"]
    before = [work for work in mlp.kernel_work if work.decoded.role != "gemm"]
    old = shown_sum((work.time_ns for work in before), grid_scale(mlp))
    new = shown_sum((work.time_ns for work in fused), grid_scale(compiled))
    joined = and_list(dict.fromkeys(tick(op) for work in fused for op in work.decoded.fused_ops))
    return Question(
        key="mlp-compiled",
        about="kernels of the MLP after torch.compile",
        ask="How many kernels are left after `torch.compile`?",
        hint="By default Inductor leaves GEMMs to the library and writes the rest itself.",
        answer=Number(compiled.kernels),
        recording=compiled.name,
        metric="kernels",
        look=(lanes(compiled, "the MLP, compiled"), kernel_grid(compiled)),
        because=(
            prose(
                f"{counted(mlp.kernels, 'kernel')} before, {counted(compiled.kernels, 'kernel')} now.",
                f"Inductor, the compiler behind `torch.compile`, wrote {and_list(work.letter for work in fused)} and "
                f"says in the name what it joins: {joined}."
                if fused and joined
                else "Inductor wrote no kernel of its own here.",
                f"What was read and written between those ops now stays in registers: {before_and_now(old, new)}."
                if fused and before
                else "",
                f"The whole step on the device: {before_and_now(mlp.device_ns, compiled.device_ns)}.",
            ),
        ),
    )


def _what_compile_does_to_one(one: Recorded, compiled: Recorded) -> Question:
    before, now = _gemms(one), _gemms(compiled)
    same = [work.name for work in before] == [work.name for work in now]
    return Question(
        key="linear-compiled",
        about="the kernel of the compiled linear layer",
        ask="And the linear layer alone, compiled: does it still run the same kernel?",
        hint="What is there to join?",
        answer=Choice(("yes, the same one", "no, another one"), 0 if same else 1),
        look=(kernel_grid(compiled),),
        because=(
            prose(
                "There was nothing to join, and the library picks the same kernel."
                if same
                else f"{and_list(tick(w.short) for w in before)} became {and_list(tick(w.short) for w in now)}.",
                f"On the device: {before_and_now(one.device_ns, compiled.device_ns)}. On the CPU: "
                f"{before_and_now(one.cpu_ns, compiled.cpu_ns)}.",
                "At every call, guards check that the inputs are like those it was compiled for; compiling pays where "
                "it saves more than that."
                if compiled.cpu_ns > one.cpu_ns
                else "",
            ),
        ),
    )
