"""What a comparison amounts to, in a sentence or two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from foretrace.differences.words import (
    ENGINE,
    UNIT_WORDS,
    amount_text,
    counted,
    facts_text,
    from_to_text,
    number_words,
    percent_text,
    thing_text,
    where_text,
)
from foretrace.trace.kineto import GRAPH_LAUNCHES
from foretrace.units import bytes_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from foretrace.differences.change import Change
    from foretrace.differences.compare import Difference

__all__ = ["summary"]

# The changes that together make up this much of the change in device time are told to be all of it, or most of it.
_ALL: Final = (0.9, 1.1)
_MOST: Final = (0.6, 1.4)
_ADDING_OPS: Final = ("aten::addmm", "aten::baddbmm", "aten::addmv")
_INDUCTOR: Final = "Inductor Triton"
_FACTS_ROOM: Final = 60
_NOUNS: Final = {"gemm": "GEMM", "convolution": "convolution"}
_ATTENTION: Final = ("attention_forward", "attention_backward", "attention_decode")


def summary(found: Difference) -> str:
    """What changed and what it did to the times."""
    if not found.structure_changed and not found.times_changed:
        if found.conditions:
            return "The structure is the same; see above for what differs."
        if all(time.before == time.after for time in found.times):
            return "No change: the same structure and the same times."
        return "No change: the same structure, and times within noise."
    parts = _structure_words(found) if found.structure_changed else ["The structure is the same"]
    times = _time_words(found)
    sentence = "; ".join([", ".join(parts), times] if times else [", ".join(parts)])
    # A name with capitals of its own (cuDNN) or other signs (aten::mm) stays as it is.
    first = sentence.partition(" ")[0]
    return (
        sentence[0].upper() + sentence[1:] if first.islower() and first.replace("-", "").isalpha() else sentence
    ) + "."


def _structure_words(found: Difference) -> list[str]:
    for story in (_backward, _fused_attention, _epilogue, _one_activity):
        words = story(found)
        if words:
            return [words]
    return _counts_words(found) or _range_words(found)


def _backward(found: Difference) -> str:
    """A backward pass that only one of the two runs."""
    words = {change.change for change in found.ranges if change.name.startswith(ENGINE)}
    if words not in ({"new"}, {"gone"}) or any(c.name.startswith(ENGINE) for c in found.ranges if c.name_after):
        return ""
    if _has_backward(found, "before") and _has_backward(found, "after"):
        return ""
    counts = ""
    if "kernels" in found.counts:
        ours, theirs = found.counts["kernels"]
        counts = f": {counted(ours.value, 'kernel')} a step became {amount_text(theirs.value)}"
    return f"a backward pass {'now runs' if words == {'new'} else 'no longer runs'}{counts}"


def _has_backward(found: Difference, side: str) -> bool:
    trace = found.before if side == "before" else found.after
    return any(name.startswith(ENGINE) for name in trace.strings)


def _one_activity(found: Difference) -> str:
    """A single kind of thing that is gone or new."""
    changes = [change for change in found.activities if change.change in ("gone", "new", "number")]
    others = [change for change in found.activities if change.change == "renamed"]
    if len(changes) != 1 or others:
        return ""
    (change,) = changes
    amount = abs(change.after - change.before)
    where = where_text(change.ops[:1])
    size = f" of {bytes_text(change.bytes)}" if change.bytes and change.kind == "memcpy" else ""
    label = change.label.partition(" (")[0] if change.kind != "kernel" else f"kernel ({change.label})"
    under = f" under {where}" if where else ""
    verb = "is" if amount == 1 else "are"
    word = "gone" if change.after < change.before else "new"
    return f"{number_words(amount)} {label}{size} a step{under} {verb} {word}"


def _epilogue(found: Difference) -> str:
    """An addition that went into a GEMM's epilogue."""
    gemm = next(
        (
            change
            for change in found.activities
            if change.role_after == "gemm"
            and change.ops_after[-1:]
            and change.ops_after[-1] in _ADDING_OPS
            and change.ops[-1:] != change.ops_after[-1:]
        ),
        None,
    )
    added = [change for change in found.activities if change.change == "gone" and change.ops[-1:] == ("aten::add",)]
    if gemm is None or not added:
        return ""
    op = gemm.ops_after[-1]
    copy = next(
        (c for c in found.activities if c.change == "new" and c.kind == "memcpy" and c.ops[-1:] == (op,)),
        None,
    )
    size = f" ({bytes_text(copy.bytes)})" if copy is not None and copy.bytes else ""
    first = f" after a copy{size} of what is added" if copy is not None else ""
    count = sum(change.before for change in added)
    kernels = "the add kernel" if count == 1 else f"{number_words(count)} add kernels"
    return f"{kernels} became the epilogue of the GEMM ({op}){first}"


def _fused_attention(found: Difference) -> str:
    """Attention that was several kernels and is one, or the other way round."""
    for word, opposite in (("new", "gone"), ("gone", "new")):
        fused = [c for c in found.activities if c.change == word and c.role in _ATTENTION]
        parts = [c for c in found.activities if c.change == opposite and c.kind == "kernel"]
        if not fused or not any(c.role == "softmax" for c in parts):
            continue
        number = sum(max(c.before, c.after) for c in fused)
        labels = list(dict.fromkeys(c.label for c in fused))
        kernels = "kernel" if number == 1 else "kernels"
        one = f"{number_words(number)} fused attention {kernels} ({labels[0]})"
        ours, theirs = found.counts["kernels"]
        counts = f"{counted(ours.value, 'kernel')} a step became {amount_text(theirs.value)}"
        return (
            f"{counts}: {one} instead of separate GEMMs and softmax"
            if word == "new"
            else (f"{counts}: separate GEMMs and softmax instead of {one}")
        )
    return ""


def _counts_words(found: Difference) -> list[str]:
    words = []
    for name, noun, plural in (
        ("kernels", "kernel", "kernels"),
        ("memcpys", "copy", "copies"),
        ("syncs", "sync", "syncs"),
    ):
        if name in found.counts:
            ours, theirs = found.counts[name]
            if ours.value != theirs.value:
                words.append(_number_words(ours.value, theirs.value, noun, plural))
    units = _units_words([c for c in found.activities if c.change == "renamed" and "unit" in c.facts])
    if units:
        words.append(units)
    fused = _inductor_words(found)
    if fused:
        words.append(fused)
    if not words:
        renamed = [c for c in found.activities if c.change == "renamed"]
        if renamed:
            words.append(_renamed_words(renamed[0]))
        moved = [c for c in found.activities if c.change in ("moved", "launch")]
        if moved and not renamed:
            words.append(_same_kernels(found, moved))
    return [word for word in words if word]


def _number_words(before: float, after: float, noun: str, plural: str) -> str:
    """``5 kernels a step became 20``, ``one copy a step is gone``."""
    if before and after:
        return f"{counted(before, noun, plural)} a step became {amount_text(after)}"
    number = before or after
    return (
        f"{number_words(number)} {noun if number == 1 else plural} a step {'is' if number == 1 else 'are'} "
        f"{'new' if after else 'gone'}"
    )


def _renamed_words(change: Change) -> str:
    if change.label != change.label_after:
        return f"{thing_text(change)} became {thing_text(change, after=True)}"
    facts = facts_text(change)
    told = facts if len(facts) <= _FACTS_ROOM else "its name says in what"
    return f"another {thing_text(change)} runs ({told})"


def _inductor_words(found: Difference) -> str:
    """Kernels that torch.compile fused."""
    fused = [c for c in found.activities if c.library_after == _INDUCTOR and c.change in ("new", "renamed")]
    fused = [c for c in fused if c.change == "new" or "library" in c.facts]
    new = sum(c.after for c in fused)
    gone = sum(c.before for c in found.activities if (c.change == "gone" and c.kind == "kernel") or c in fused)
    if not new or not gone:
        return ""
    return f"{number_words(gone)} kernel{'s' if gone != 1 else ''} fused into {number_words(new)} by torch.compile"


def _units_words(changes: Sequence[Change]) -> str:
    """``two GEMMs went from bf16 on tensor cores to fp32 on CUDA cores``."""
    if not changes:
        return ""
    first = changes[0]
    alike = [c for c in changes if c.facts["unit"] == first.facts["unit"] and c.role == first.role]
    number = sum(c.after for c in alike)
    noun = _NOUNS.get(first.role or "", "kernel") + ("" if number == 1 else "s")
    sides = []
    for side in (0, 1):
        dtype = first.facts.get("input_dtype", (None, None))[side]
        unit = UNIT_WORDS.get(first.facts["unit"][side], str(first.facts["unit"][side]))
        sides.append(f"{dtype} on {unit}" if dtype else unit)
    return f"{number_words(number)} {noun} went from {sides[0]} to {sides[1]}"


def _same_kernels(found: Difference, moved: Sequence[Change]) -> str:
    number = sum(change.after for change in moved)
    kernels = "the same kernel" if number == 1 else f"the same {number_words(number)} kernels"
    compiled = any(change.kind == "range" and change.change == "new" for change in found.ranges)
    if all(change.change == "launch" for change in moved):
        was, now = moved[0].launch or (None, None)
        return f"{kernels}, launched by {now} instead of {was}"
    after = {change.launch[1] for change in moved if change.launch is not None}
    if after and len(after) == 1 and str(next(iter(after))).startswith(tuple(GRAPH_LAUNCHES)):
        return f"{kernels}, now replayed by {next(iter(after))}"
    place = "from inside a compiled region" if compiled else "from another op"
    ops = found.counts.get("ops")
    shrunk = ""
    if ops is not None and ops[0].value != ops[1].value:
        shrunk = f": {counted(ops[0].value, 'op')} a step became {amount_text(ops[1].value)}"
    return f"{kernels}, now launched {place}{shrunk}"


def _range_words(found: Difference) -> list[str]:
    ops = found.counts.get("ops")
    if ops is not None and ops[0].value != ops[1].value:
        return [f"{counted(ops[0].value, 'op')} a step became {amount_text(ops[1].value)}"]
    first = found.ranges[0]
    if first.change == "renamed":
        return [f"{first.name} became {first.name_after}"]
    return [f"{first.name} is {'new' if first.change == 'new' else first.change}"]


def _time_words(found: Difference) -> str:
    words = []
    for time in found.step_times:
        if time.metric == "device_time":
            share = time.verdict.share
            if time.verdict.changed:
                span = f"device time {from_to_text(time.before.median, time.after.median)}"
                words.append(
                    f"{span} ({percent_text(share)}){_attributed(found, time.after.median - time.before.median)}"
                )
            elif time.verdict.word == "within noise":
                words.append("device time within noise")
        elif time.metric == "cpu_time" and time.verdict.changed:
            span = f"CPU time {from_to_text(time.before.median, time.after.median)}"
            words.append(f"{span} ({percent_text(time.verdict.share)})")
    return ", ".join(words)


def _attributed(found: Difference, total: float) -> str:
    """Which change the change of device time comes from."""
    changes = [change for change in found.activities if change.time_ns]
    if changes and total:
        first = changes[0]
        share = first.time_ns / total
        word = "the copy" if first.kind == "memcpy" else thing_text(first, after=first.change == "renamed")
        if _ALL[0] <= share <= _ALL[1]:
            return f": all of it is {word}"
        if _MOST[0] <= share <= _MOST[1]:
            return f": most of it is {word}"
    if not changes and found.kernel_times and total:
        slow = found.kernel_times[0]
        share = (slow.after.median - slow.before.median) / total
        if share >= _MOST[0]:
            return f": {'all' if share >= _ALL[0] else 'most'} of it is {slow.label}"
    return ""
