"""Lesson: SDPA's reference path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.learn.lesson import Block, Choice, Code, Grid, Near, Number, Prose, Question, Try, prose
from foretrace.learn.programs import source
from foretrace.learn.roof import counted_arithmetic, is_causal, peak_text
from foretrace.learn.views import (
    annotated_sentence,
    counts_sentence,
    grid_scale,
    kernel_grid,
    lanes,
    launcher,
    token_grid,
)
from foretrace.learn.words import and_list, counted, one_unit, shown_sum, sizes_text, tick, times_text
from foretrace.units import bytes_text, share_text

if TYPE_CHECKING:
    from foretrace.learn.recorded import Recorded, Shelf, Work

__all__ = ["build", "parts"]

_SDPA: Final = "aten::scaled_dot_product_attention"
_MATH: Final = "aten::_scaled_dot_product_attention_math"
_UNITS: Final = ("tensor cores", "CUDA cores")
_FROM_ROW: Final = {"nan": "NaN", "zero": "zeros", "mean": "the mean of all values", "unmasked": "as if unmasked"}
_PRODUCTS: Final = "the products"
_SOFTMAX: Final = "safe softmax"
_MASK: Final = "building the causal mask"
_APPLY: Final = "adding the mask"
_CASTS: Final = "casts"
_SCALES: Final = "scaling q and k"
# The op that the math path calls -> which part of it that is.
_PARTS: Final = {
    "matmul": _PRODUCTS,
    "bmm": _PRODUCTS,
    "_safe_softmax": _SOFTMAX,
    "softmax": _SOFTMAX,
    "_softmax": _SOFTMAX,
    "ones": _MASK,
    "tril": _MASK,
    "triu": _MASK,
    "full": _MASK,
    "zeros": _MASK,
    "scalar_tensor": _MASK,
    "where": _MASK,
    "logical_not": _MASK,
    "masked_fill": _MASK,
    "masked_fill_": _MASK,
    "add": _APPLY,
    "add_": _APPLY,
    "to": _CASTS,
    "_to_copy": _CASTS,
    "mul": _SCALES,
}


def build(shelf: Shelf) -> list[Block]:
    """The lesson over some recordings."""
    math, naive = shelf["attention-math"], shelf["attention-naive"]
    blocks: list[Block] = [
        Prose(
            "`scaled_dot_product_attention` has several backends. When no fast kernel takes a call, the math backend "
            "does: the formula, op by op, written for being right."
        ),
        Code(source("fused", "attention")),
        prose(
            f"Pinned to `SDPBackend.MATH`; q, k and v as before, {sizes_text(math.dims(_SDPA))}, causal.",
            annotated_sentence(math),
        ),
        _how_many(math, naive),
        *_which_unit(math),
        *_how_many_for_the_mask(math),
        *_what_of_an_empty_row(math, shelf.about.notes.masked_rows),
        _how_slow(math, naive),
        *_recap(math),
        Try(
            "If a trace of yours shows this op, ask what kept the fast kernels away; or ask before you run. Here is a "
            "call for which only the math backend is left.",
            "foretrace why --q 2,32,1024,128 --k 2,8,1024,128 --gqa --causal --dtype fp32 --gpu H200 --torch 2.11",
        ),
    ]
    return blocks


def parts(math: Recorded) -> dict[str, list[Work]]:
    """The kernels by the part of the formula they belong to, in launch order."""
    found: dict[str, list[Work]] = {}
    for work in math.kernel_work:
        found.setdefault(_PARTS.get(_inner(work).removeprefix("aten::"), "other"), []).append(work)
    return found


def _inner(work: Work) -> str:
    """The op that the math path calls, under which this was launched."""
    path = work.path
    return path[path.index(_MATH) + 1] if _MATH in path[:-1] else work.owner


def _time(works: list[Work]) -> int:
    return sum(work.time_ns for work in works)


def _how_many(math: Recorded, naive: Recorded) -> Question:
    return Question(
        key="kernels",
        about="kernels of the math backend",
        ask=f"Written by hand, attention took {counted(naive.kernels, 'kernel')}. How many does the math backend "
        "launch for a call?",
        hint="It is not told anything it can rely on: not the dtype, not that the mask is causal, not that each row "
        "has a key.",
        answer=Number(math.kernels, within=1.25),
        recording=math.name,
        metric="kernels",
        near=(
            *(
                (Near(naive.kernels, "That would be the formula alone, and it does more than the formula."),)
                * (naive.kernels != math.kernels)
            ),
        ),
        look=(kernel_grid(math, details=False),),
        because=(
            prose(
                f"A step launches {counts_sentence(math)}, all under {tick(_MATH)}. "
                "Much of that is not in the formula; the next questions are about it.",
            ),
        ),
    )


def _which_unit(math: Recorded) -> list[Question]:
    gemms = [work for work in math.kernel_work if work.decoded.role == "gemm"]
    if not gemms or gemms[0].decoded.unit not in ("tensor_core", "cuda_core"):
        return []
    vacant = gemms[0].decoded.unit == "cuda_core"
    casts = parts(math).get(_CASTS, [])
    proof = gemms[0].decoded.evidence
    piece = proof.get("unit") or proof.get("instruction") or proof.get("input_dtype") or ""
    peaks = math.roofline.peaks
    fast = peaks.rate("tensor_core", "bf16") if peaks else None
    slow = peaks.rate("cuda_core", "fp32") if peaks else None
    return [
        Question(
            key="unit",
            about="the unit that multiplies",
            ask="The inputs are bf16. On which units do the products run?",
            hint="Casts run before the products. To what do they bring the inputs?",
            answer=Choice(_UNITS, 1 if vacant else 0),
            look=(
                Prose(f"The name of {gemms[0].letter} ({gemms[0].short}), piece by piece:"),
                token_grid(gemms[0].decoded),
            ),
            because=(
                prose(
                    f"The products are {and_list(f'{work.letter} ({work.short})' for work in gemms)}"
                    + (f"; the piece {tick(piece)} of the name says so." if piece else "."),
                    _about_the_casts(math, casts),
                    f"At most the card multiplies bf16 on its tensor cores {times_text(fast / slow)} as fast as "
                    "float32 on its CUDA cores. The tensor cores are left vacant."
                    if vacant and fast and slow
                    else "",
                ),
            ),
        )
    ]


def _about_the_casts(math: Recorded, casts: list[Work]) -> str:
    """What is cast to what, by the sizes and types that each was given."""
    wide: list[str] = []
    result: list[str] = []
    weights: list[str] = []
    for work in casts:
        sizes, types = math.inputs_of(work)
        if not types or not sizes:
            return ""
        whole = isinstance(sizes[0], list | tuple) and tuple(sizes[0]) == math.dims(_SDPA)
        (wide if types[0] == "float" else result if whole else weights).append(work.letter)
    told = f"{and_list(wide)} cast the inputs to float32" if len(wide) > 1 else ""
    if told and result:
        told += f", and {and_list(result)} casts the result back"
    told += ": the reference path computes in float32 for precision." if told else ""
    gemms = [work for work in math.kernel_work if work.decoded.role == "gemm"]
    unread = bool(weights) and all(math.inputs_of(work)[1][:1] == ["float"] for work in gemms)
    if unread:
        told += (
            f" {and_list(weights)} casts the weights, the softmax's output, as well, and nothing reads that: the op "
            "returns its weights beside the result, and SDPA drops them."
        )
    return told.strip()


def _how_many_for_the_mask(math: Recorded) -> list[Question]:
    mask = parts(math).get(_MASK, [])
    if not mask:
        return []
    apply = parts(math).get(_APPLY, [])
    scale = grid_scale(math)
    built = shown_sum((work.time_ns for work in mask), scale)
    return [
        Question(
            key="mask",
            about="kernels that build the mask",
            ask="`is_causal=True` is a flag. Count in the table: how many kernels turn it into a mask?",
            hint="Ones, a triangle, and numbers to choose between. Adding the mask to the scores is not among them.",
            answer=Number(len(mask), within=1.25),
            look=(),
            because=(
                prose(
                    f"{_with_launchers(mask)}: the mask is built anew in every call, {scale(built)} of it.",
                    f"Adding it to the scores ({apply[0].letter}) takes {scale(_time(apply))}, because that goes "
                    "through the whole score matrix again."
                    if apply
                    else "",
                    "A fused kernel builds no mask: it knows from the indices which keys a query may see.",
                ),
            ),
        )
    ]


def _with_launchers(works: list[Work]) -> str:
    """``e (ones > fill_) and g, h (scalar_tensor > fill_)``: the ops as the table of kernels names them."""
    groups: dict[str, list[str]] = {}
    for work in works:
        groups.setdefault(launcher(work), []).append(work.letter)
    return and_list(f"{', '.join(letters)} ({tick(name)})" for name, letters in groups.items())


def _what_of_an_empty_row(math: Recorded, rows: dict[str, str]) -> list[Question]:
    safe = parts(math).get(_SOFTMAX, [])
    naive_row, math_row = _FROM_ROW.get(rows.get("naive", "")), _FROM_ROW.get(rows.get("math", ""))
    if naive_row is None or math_row is None or not safe:
        return []
    pairs = [(naive_row, math_row), (math_row, naive_row), (naive_row, naive_row), (math_row, math_row)]
    options = tuple(
        dict.fromkeys(
            f"{one} from the code by hand, {other} here" if one != other else f"{one} from both" for one, other in pairs
        )
    )
    right = options.index(
        f"{naive_row} from the code by hand, {math_row} here" if naive_row != math_row else f"{naive_row} from both"
    )
    order = tuple(sorted(options))
    extra = [work for work in safe if work.decoded.role != "softmax"]
    scale = grid_scale(math)
    return [
        Question(
            key="empty-row",
            about="a row that may see no key",
            ask="Suppose a mask hides every key from some query, as padding can. What comes out of its row?",
            hint="Softmax divides by the sum of the exponentials. What is that sum when all scores are minus infinity?",
            answer=Choice(order, order.index(options[right])),
            tried=True,
            look=(),
            because=(
                prose(
                    f"It was tried when this was recorded: {naive_row} from the code by hand, {math_row} from the math "
                    "backend."
                    if naive_row != math_row
                    else f"It was tried when this was recorded: {naive_row} from both.",
                    "`aten::_safe_softmax` is why: after the softmax it looks for rows that are all minus infinity "
                    f"and writes zeros there. {and_list(f'{work.letter} ({work.short})' for work in extra)} take "
                    f"{scale(shown_sum((work.time_ns for work in extra), scale))} for it, the softmax itself "
                    f"{scale(_time(safe) - _time(extra))}."
                    if extra
                    else "",
                ),
            ),
        )
    ]


def _how_slow(math: Recorded, naive: Recorded) -> Question:
    ratio = math.device_ns / naive.device_ns
    scores = _largest_scores(math)
    by_hand = _largest_scores(naive)
    roof = math.roof(_SDPA)
    floor = roof.floor_ns or 0 if roof is not None else 0
    scale = one_unit(naive.device_ns, math.device_ns, floor)
    peak, work = peak_text(math, _SDPA), counted_arithmetic(math)
    return Question(
        key="slower",
        about="the math backend over attention by hand",
        ask="How many times as long as the code by hand does it take on the device?",
        hint="More passes over the scores, and each number is wider.",
        answer=Number(ratio, "times", within=1.5),
        look=(lanes(math, "the math backend", legend="short"),),
        because=(
            prose(
                f"On the device: {scale(naive.device_ns)} by hand, {scale(math.device_ns)} by the math backend.",
                f"Each pass over the scores moves {bytes_text(scores)} instead of {bytes_text(by_hand)}, as float32 "
                "is wider."
                if scores > by_hand > 0
                else "",
                f"At the card's peak, {peak}, {work} would take {scale(floor)}. The math backend"
                + (", which computes what is masked as well," if is_causal(math) else "")
                + f" takes {times_text(math.device_ns / floor)} that."
                if floor and peak
                else "",
            ),
        ),
    )


_BYTES: Final = {"f32": 4, "bf16": 2, "f16": 2, "f64": 8}


def _largest_scores(recorded: Recorded) -> int:
    """Bytes of the input of softmax."""
    for op in recorded.ops:
        if op.name in ("aten::_softmax", "aten::softmax") and "[" in op.shapes:
            dtype, _, rest = op.shapes.partition("[")
            size = 1
            for part in rest.partition("]")[0].split(","):
                size *= int(part)
            return size * _BYTES.get(dtype, 0)
    return 0


def _recap(math: Recorded) -> list[Block]:
    found = parts(math)
    scale = grid_scale(math)
    times = {part: shown_sum((work.time_ns for work in works), scale) for part, works in found.items()}
    total = sum(times.values()) or 1
    order = sorted(found, key=lambda part: -times[part])
    rows = tuple(
        (
            part,
            " ".join(work.letter for work in found[part]),
            f"{len(found[part])}",
            scale(times[part]),
            share_text(times[part] / total),
        )
        for part in order
    )
    return [
        Prose("Why the math backend is slow, part by part:"),
        Grid(("part", "letters", "kernels", "device", "share"), rows, text=(0, 1)),
        prose(
            "What to take along: it is not slow because a kernel in it is bad. It goes through the whole score matrix "
            "again and again, in float32, and it multiplies on CUDA cores instead of tensor cores."
            if any(work.decoded.unit == "cuda_core" and work.decoded.role == "gemm" for work in math.kernel_work)
            else "What to take along: it goes through the whole score matrix again and again.",
            "It is there to be right, and it is what you get when nothing faster takes the call.",
        ),
    ]
