"""Lesson: a linear layer, and a gated MLP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from foretrace.learn.lesson import Block, Choice, Code, Grid, Near, Number, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.recorded import launched
from foretrace.learn.views import (
    annotated_sentence,
    counts_sentence,
    grid_scale,
    kernel_grid,
    lanes,
    op_grid,
    token_grid,
    token_proving,
)
from foretrace.learn.words import and_list, before_and_now, counted, one_unit, shown_sum, sizes_text, tick
from foretrace.report.escape import plain
from foretrace.units import count_text, share_text, time_text

if TYPE_CHECKING:
    from foretrace.analysis.tree import Node
    from foretrace.learn.recorded import Recorded, Shelf, Work

__all__ = ["build"]

_LAYOUTS = ("nn", "nt", "tn", "tt")
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
            f"Here x is {sizes_text(one.dims('aten::linear'))}, the weight {sizes_text(one.dims('aten::linear', 1))}.",
            annotated_sentence(one),
        ),
        _how_many(one),
        *_what_the_name_says(one, square),
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


def _gemms(recorded: Recorded) -> list[Work]:
    return [work for work in recorded.kernel_work if work.decoded.role == "gemm"]


def _copies(recorded: Recorded) -> list[Work]:
    return [work for work in recorded.work if work.kind == "memcpy" or work.decoded.role == "copy"]


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
                (
                    one.kernels + 1,
                    "You are right that not every part has a kernel of its own. Even fewer have one here.",
                ),
                (one.kernels + 2, "That is a kernel for each part of the formula. Not every part needs its own."),
            )
        ),
        look=(lanes(one, "a linear layer", quiet=True, lettered=False, legend="short"), op_grid(one.ops)),
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


def _what_the_name_says(one: Recorded, square: Recorded | None) -> list[Question]:
    gemm = next((work for work in _gemms(one) if work.decoded.layout in _LAYOUTS), None)
    if gemm is None:
        return []
    layout = gemm.decoded.layout or ""
    turned = layout[::-1]
    return [
        Question(
            key="layout",
            about="the layout in the GEMM's name",
            ask=("" if _copies(one) else "So the GEMM itself reads the weight transposed. ")
            + "The name of a GEMM holds a letter for each of its inputs: `t` where it is read transposed, `n` where it "
            "is read as it lies. Which letters are in this one?",
            hint="The code computes x times the weight transposed. But whose order do the letters have?",
            answer=Choice(_LAYOUTS, _LAYOUTS.index(layout)),
            near=(
                (Near(_LAYOUTS.index(turned), "That is the order of the code. The letters have the library's."),)
                if turned != layout
                else ()
            ),
            look=(
                Prose(
                    "A GEMM's name says how it works. Each block of threads computes a tile of the output. It walks "
                    "along K, the dimension that is summed over, a K tile at a time, while further ones are on their "
                    "way from memory (stages). A cluster is some blocks side by side; `wgmma` is an instruction of the "
                    f"tensor cores. Here is {tick(gemm.name)}, piece by piece:"
                ),
                token_grid(gemm.decoded),
            ),
            because=(
                prose(*_about_the_layout(one, gemm, square)),
                *(Prose(text) for text in (_about_the_bias(one),) if text),
            ),
        )
    ]


def _about_the_layout(one: Recorded, gemm: Work, square: Recorded | None) -> list[str]:
    layout = gemm.decoded.layout or ""
    piece = token_proving(gemm.decoded, "layout") or layout
    other = None if square is None else next((work for work in _gemms(square) if work.decoded.layout), None)
    copies = _copies(one)
    whole = (
        f"The piece {tick(piece)} says so: its first letters are those of the inputs, {tick(layout)}, the last is the "
        "output's."
        if len(piece) > len(layout)
        else f"The piece {tick(piece)} says so."
    )
    return [
        whole,
        "The first letter is the weight's, though the code names x first. PyTorch stores matrices row by row; the "
        "library goes by BLAS, the interface that matrix libraries share, which stores them column by column, so to it "
        "each of them looks transposed. PyTorch therefore asks for the transposed product, and that swaps the inputs."
        if layout == "tn"
        else "",
        f"The plain product of the lesson before ran {tick(other.decoded.layout or '')}."
        if other is not None and other.decoded.layout != layout
        else "",
        f"{counted(len(copies), 'copy', 'copies')} ran as well."
        if copies
        else "The transpose costs no copy, no kernel, no time.",
    ]


def _about_the_bias(one: Recorded) -> str:
    gemms = _gemms(one)
    adders = [work for work in one.kernel_work if work.decoded.op == "add"]
    named = next((work for work in gemms if any(token.text.lower() == "bias" for token in work.decoded.tokens)), None)
    if adders:
        return f"For the bias {tick(adders[0].owner)} launches {adders[0].letter}: {adders[0].short}."
    if named is None:
        return (
            "And the bias: no kernel is left that could add it but the GEMM itself. Such work on the way out is called "
            "an epilogue."
        )
    return (
        f"And the bias: {tick(named.owner)} hands it to the GEMM, and the kernel adds it before it stores (the piece "
        f"{tick('bias')}). Such work on the way out is called an epilogue. It saves a kernel that would read and write "
        "the whole output again."
    )


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
        look=(lanes(mlp, "the gated MLP", legend="short"), kernel_grid(mlp, details=False)),
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
                "The wrappers around compiled code take their time at every call; compiling pays where it saves more "
                "than that."
                if compiled.cpu_ns > one.cpu_ns
                else "",
            ),
        ),
    )
