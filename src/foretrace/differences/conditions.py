"""What differs before anything is compared: device, dtype, shapes, number of steps, and how it was recorded."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from foretrace.trace.distinct import distinct
from foretrace.units import count_text

if TYPE_CHECKING:
    from foretrace.differences.side import Side
    from foretrace.trace.model import Trace

__all__ = ["Condition", "conditions", "same_text"]

_FLOATS: Final = ("f64", "f32", "bf16", "f16", "f8e4m3", "f8e5m2")
# From this share of the ops that both sides have on, other shapes there are another input, not another algorithm.
_MOST: Final = 0.5
_UNNAMED: Final = "a device that the file does not name"


@dataclass(frozen=True)
class Condition:
    """Something that differs and bears on everything else."""

    code: str
    """``device``, ``devices``, ``dtype``, ``shapes``, ``steps``, ``stacks``, ``device-activity``, ..."""
    before: str
    after: str
    text: str

    def to_json(self) -> dict[str, Any]:
        """The keys of ``conditions[]``."""
        return dict(vars(self))


def conditions(before: Side, after: Side) -> tuple[list[Condition], list[str]]:
    """(what differs, what was found the same), in the order it matters."""
    found: list[Condition] = []
    same: list[str] = []
    devices = _devices(before.trace), _devices(after.trace)
    shapes = _shapes(before, after)
    # Shapes come with the dtype of any tensor, also of indices; what is held here is the one that is computed in.
    dtype = "floating-point dtype" if isinstance(shapes, Condition) else "dtype"
    for code, word, ours, theirs in (
        ("device", "device", *devices),
        ("dtype", dtype, _dtype(before), _dtype(after)),
    ):
        if ours is None or theirs is None or (code == "device" and devices == (_UNNAMED, _UNNAMED)):
            continue
        if ours == theirs:
            same.append(word)
        else:
            found.append(Condition(code, ours, theirs, f"Different {word}: {ours} -> {theirs}."))
    if isinstance(shapes, Condition):
        found.append(shapes)
    elif shapes:
        same.append("shapes")
    steps = [len(side.ground.timeline.used) for side in (before, after)]
    if steps[0] == steps[1]:
        same.append("number of steps")
    else:
        words = [count_text(number, "step") for number in steps]
        found.append(Condition("steps", words[0], words[1], f"Different number of steps: {words[0]} -> {words[1]}."))
    found += _recording(before.trace, after.trace)
    return found, same


def same_text(same: list[str]) -> str:
    """``Same device, dtype, shapes and number of steps.``."""
    if not same:
        return ""
    return "Same " + (", ".join(same[:-1]) + " and " + same[-1] if len(same) > 1 else same[0]) + "."


def _devices(trace: Trace) -> str | None:
    """The names of the devices that worked; one that the file does not list is of the only kind it lists."""
    if not trace.has_device_activity:
        return "CPU"
    listed = {device.id: device.name.strip() for device in trace.devices}
    kinds = set(listed.values())
    only = kinds.pop() if len(kinds) == 1 else ""
    worked = [int(number) for number in distinct(trace.activities.device)]
    names = Counter(listed.get(number, only) or _UNNAMED for number in worked)
    return " + ".join(f"{count} x {name}" if count > 1 else name for name, count in names.items())


def _tensors(text: str) -> list[str]:
    """``bf16[8,16]``, ``bool[16]``: the tensors of a text of shapes."""
    parts = text.split("], ")
    return [part if part.endswith("]") else part + "]" for part in parts if "[" in part]


def _short(text: str) -> str:
    """Shapes with equal neighbours counted: ``3 x bf16[8,16,1024,64]``."""
    runs = [(tensor, len(list(some))) for tensor, some in groupby(_tensors(text))]
    return ", ".join(f"{number} x {tensor}" if number > 1 else tensor for tensor, number in runs)


def _dtype(side: Side) -> str | None:
    """The floating-point dtype that goes in first."""
    dtypes = (tensor.partition("[")[0] for _, text in side.outer_inputs for tensor in _tensors(text))
    return next((dtype for dtype in dtypes if dtype in _FLOATS), None)


def _shapes(before: Side, after: Side) -> Condition | bool:
    """How the inputs differ; True where they are the same; False where that cannot be told."""
    if not (before.trace.has_shapes and after.trace.has_shapes):
        return False
    ours, theirs = before.outer_inputs, after.outer_inputs
    common, other, example = _compare_ops(ours, theirs)
    if common and other >= _MOST * common and example is not None:
        name, was, now = example
        return Condition("shapes", was, now, f"Different shapes: {name} {_short(was)} -> {_short(now)}.")
    if common:
        return True
    have = [{tensor for _, text in side for tensor in _tensors(text)} for side in (ours, theirs)]
    if not all(have):
        return False
    if have[0] & have[1]:
        return True
    was, now = ours[0][1], theirs[0][1]
    return Condition("shapes", was, now, f"Different shapes: the first op takes {_short(was)} -> {_short(now)}.")


def _compare_ops(
    ours: list[tuple[str, str]], theirs: list[tuple[str, str]]
) -> tuple[int, int, tuple[str, str, str] | None]:
    """(ops that both run, of these those with no input in common, the first of them)."""
    tables: list[dict[str, list[str]]] = []
    for side in (ours, theirs):
        table: dict[str, list[str]] = defaultdict(list)
        for name, text in side:
            if text:
                table[name].append(text)
        tables.append(table)
    common = [name for name in tables[0] if name in tables[1]]
    other = [name for name in common if not set(tables[0][name]) & set(tables[1][name])]
    example = (other[0], tables[0][other[0]][0], tables[1][other[0]][0]) if other else None
    return len(common), len(other), example


def _recording(before: Trace, after: Trace) -> list[Condition]:
    """What was recorded of one side only, and what that does to the comparison."""
    found = []
    for code, what, held, effect in (
        ("device-activity", "device activity", "has_device_activity", "kernels and device times cannot be compared"),
        ("shapes-recorded", "input shapes", "has_shapes", "ops are aligned by their path alone"),
        ("stacks", "Python frames", "has_stacks", "recording them slows the CPU, so CPU times do not compare"),
    ):
        ours, theirs = (bool(getattr(trace, held)) for trace in (before, after))
        if ours is not theirs:
            words = ["recorded" if has else "not recorded" for has in (ours, theirs)]
            side = "before" if ours else "after"
            found.append(Condition(code, words[0], words[1], f"Only {side} has {what}: {effect}."))
    return found
