"""What changed among ops and annotations: the outermost of what is gone or new, and what took whose place."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from foretrace.analysis.spelling import is_range
from foretrace.differences.change import Change

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from foretrace.differences.matching import Pair
    from foretrace.differences.side import Range

    Path = tuple[str, ...]

__all__ = ["left_out_changes", "range_changes"]


def range_changes(before: Mapping[Path, Range], after: Mapping[Path, Range], pairs: Sequence[Pair]) -> list[Change]:
    """Ops and annotations by path, in the order of the files.

    What lies inside something that is gone or new is told with it. Where the kernels of a gone op now come from a new
    one in the same place, the one took the other's place.
    """
    gone = {path: one for path, one in before.items() if path not in after}
    new = {path: one for path, one in after.items() if path not in before}
    top_gone, top_new = _outermost(gone), _outermost(new)
    inside_gone, inside_new = _inside(gone, top_gone), _inside(new, top_new)
    replaced, kept = _replaced(top_gone, top_new, pairs)
    changes = []
    for path in top_gone:
        there = replaced.get(path)
        change = _one_sided("gone", gone[path], inside_gone[path])
        if there is not None:
            change = Change(
                change="renamed",
                kind=change.kind,
                name=change.name,
                label=change.label,
                path=change.path,
                name_after=new[there].shown[-1],
                label_after=new[there].shown[-1],
                path_after=new[there].shown[:-1],
                before=change.before,
                after=new[there].count.value,
                inside=inside_gone[path],
                inside_after=inside_new[there],
                same_kernels=kept[path],
            )
        changes.append(change)
    taken = set(replaced.values())
    changes += [_one_sided("new", new[path], inside_new[path]) for path in top_new if path not in taken]
    return changes + _numbers(before, after)


def left_out_changes(before: Mapping[str, Range], after: Mapping[str, Range]) -> list[Change]:
    """Ranges that only one side has at all, which paths are compared without."""
    return [_one_sided(word, one, 0) for word, table in (("gone", before), ("new", after)) for one in table.values()]


def _kind(one: Range) -> str:
    if one.is_op:
        return "op"
    return "range" if is_range(one.shown[-1]) else "annotation"


def _one_sided(word: str, one: Range, inside: float) -> Change:
    gone = word == "gone"
    return Change(
        change=word,
        kind=_kind(one),
        name=one.shown[-1],
        label=one.shown[-1],
        path=one.shown[:-1],
        before=one.count.value if gone else 0,
        after=0 if gone else one.count.value,
        inside=inside if gone else 0,
        inside_after=0 if gone else inside,
    )


def _outermost(paths: Mapping[Path, Range]) -> list[Path]:
    return [path for path in paths if path[:-1] not in paths]


def _top(path: Path, tops: set[Path]) -> Path | None:
    """The one of ``tops`` that a path lies in or is."""
    return next((path[:cut] for cut in range(1, len(path) + 1) if path[:cut] in tops), None)


def _inside(paths: Mapping[Path, Range], tops: Iterable[Path]) -> dict[Path, float]:
    """How many ops a step ran inside each of ``tops``."""
    known = set(tops)
    totals: dict[Path, float] = dict.fromkeys(known, 0)
    for path, one in paths.items():
        top = _top(path, known)
        if top is not None and top != path:
            totals[top] += one.count.value
    return totals


def _replaced(
    gone: Sequence[Path], new: Sequence[Path], pairs: Sequence[Pair]
) -> tuple[dict[Path, Path], Counter[Path]]:
    """(gone -> new, how many activities of the gone one are unchanged).

    Both lie in one place, and activities of the one come from the other now.

    One new op may take the place of several.
    """
    olds, news = set(gone), set(new)
    votes: Counter[tuple[Path, Path]] = Counter()
    unchanged: Counter[tuple[Path, Path]] = Counter()
    for pair in pairs:
        old, there = _top(pair.before.path, olds), _top(pair.after.path, news)
        if old is not None and there is not None and old[:-1] == there[:-1]:
            votes[old, there] += 1
            unchanged[old, there] += not pair.renamed and pair.before.site.kind != "memset"
    result: dict[Path, Path] = {}
    for (old, there), _ in votes.most_common():
        result.setdefault(old, there)
    return result, Counter({old: unchanged[old, there] for old, there in result.items()})


def _numbers(before: Mapping[Path, Range], after: Mapping[Path, Range]) -> list[Change]:
    """Ops that both sides have, in other numbers; not those whose number follows from that of what is around them."""
    differing: dict[Path, float] = {}
    for path, ours in before.items():
        theirs = after.get(path)
        if theirs is None or _meet(ours, theirs):
            continue
        differing[path] = theirs.count.value / ours.count.value if ours.count.value else 0
    return [
        Change(
            change="number",
            kind=_kind(before[path]),
            name=before[path].shown[-1],
            label=before[path].shown[-1],
            path=before[path].shown[:-1],
            before=before[path].count.value,
            after=after[path].count.value,
        )
        for path, ratio in differing.items()
        if differing.get(path[:-1]) != ratio
    ]


def _meet(ours: Range, theirs: Range) -> bool:
    """Equal numbers, or numbers that vary over ranges that meet."""
    if ours.count.varies or theirs.count.varies:
        return ours.count.min <= theirs.count.max and theirs.count.min <= ours.count.max
    return ours.count.value == theirs.count.value
