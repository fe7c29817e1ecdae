"""What changed among kernels, copies and fills."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from foretrace.differences.change import Change

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from foretrace.differences.matching import Match, Pair
    from foretrace.differences.side import Place
    from foretrace.names.decoded import Decoded

__all__ = ["activity_changes"]

_FACTS: Final[tuple[str, ...]] = (
    "unit",
    "input_dtype",
    "accumulate_dtype",
    "output_dtype",
    "tile",
    "tile_k",
    "stages",
    "layout",
    "split_k",
    "cluster",
    "instruction",
    "library",
    "arch",
    "head_dim",
    "op",
    "fused_ops",
)


def activity_changes(found: Match, before: Sequence[Place], after: Sequence[Place]) -> list[Change]:
    """The changes, those that bear most on device time first."""
    changes = [_pair_change(pair) for pair in found.pairs if not pair.same]
    ours, theirs = _totals(before), _totals(after)
    numbers: dict[Any, Change] = {}
    for change, places, others in (("gone", found.gone, theirs), ("new", found.new, ours)):
        for place, amount in places:
            key = _key(place)
            if key in others:
                # Some of it is there on the other side: its number changed. Told once for all shapes.
                numbers.setdefault(key, _number_change(place, ours[key], theirs[key]))
            else:
                changes.append(_one_sided(change, place, amount))
    merged = _merged([*changes, *numbers.values()])
    return sorted(merged, key=lambda change: -abs(change.time_ns))


def _key(place: Place) -> tuple[Any, ...]:
    return (place.site.kind, place.key, place.path)


def _totals(places: Iterable[Place]) -> dict[Any, tuple[float, float]]:
    """(how many, how long) a step of all sites of one name at one path."""
    totals: dict[Any, tuple[float, float]] = defaultdict(lambda: (0, 0))
    for place in places:
        count, time = totals[_key(place)]
        totals[_key(place)] = (count + place.site.count.value, time + place.site.time_ns.median)
    return dict(totals)


def _time(place: Place, amount: float) -> float:
    count = place.site.count.value
    return place.site.time_ns.median * min(1.0, amount / count) if count else 0


def _number_change(place: Place, ours: tuple[float, float], theirs: tuple[float, float]) -> Change:
    return replace(
        _one_sided("number", place, 0),
        before=ours[0],
        after=theirs[0],
        time_before_ns=ours[1],
        time_after_ns=theirs[1],
    )


def _one_sided(change: str, place: Place, amount: float) -> Change:
    site = place.site
    gone = change == "gone"
    time = _time(place, amount)
    return Change(
        change=change,
        kind=site.kind,
        name=site.name,
        label=place.label,
        path=site.path,
        ops=place.ops,
        role=place.role,
        library_after=place.decoded.library if place.decoded is not None and not gone else None,
        before=amount if gone else 0,
        after=0 if gone else amount,
        time_before_ns=time if gone else 0,
        time_after_ns=0 if gone else time,
        bytes=site.bytes,
    )


def _pair_change(pair: Pair) -> Change:
    ours, theirs = pair.before, pair.after
    word = "renamed" if pair.renamed else "moved" if pair.moved else "launch"
    return Change(
        change=word,
        kind=ours.site.kind,
        name=ours.site.name,
        label=ours.label,
        path=ours.site.path,
        ops=ours.ops,
        role=ours.role,
        name_after=theirs.site.name,
        label_after=theirs.label,
        path_after=theirs.site.path,
        ops_after=theirs.ops,
        role_after=theirs.role,
        library_after=theirs.decoded.library if theirs.decoded is not None else None,
        before=min(pair.amount, ours.site.count.value),
        after=min(pair.amount, theirs.site.count.value),
        time_before_ns=_time(ours, pair.amount),
        time_after_ns=_time(theirs, pair.amount),
        bytes=ours.site.bytes,
        facts=_facts(ours.decoded, theirs.decoded) if pair.renamed else {},
        launch=(ours.site.launch, theirs.site.launch) if pair.relaunched else None,
        moved=pair.moved,
    )


def _facts(before: Decoded | None, after: Decoded | None) -> dict[str, tuple[Any, Any]]:
    if before is None or after is None:
        return {}
    found: dict[str, tuple[Any, Any]] = {}
    for name in _FACTS:
        if getattr(before, name) != getattr(after, name):
            found[name] = (_plain(getattr(before, name)), _plain(getattr(after, name)))
    return found


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _merged(changes: Iterable[Change]) -> list[Change]:
    """Changes that differ only in the shapes of their op, as one."""
    table: dict[Any, Change] = {}
    for change in changes:
        key = (
            *(change.change, change.kind, change.name, change.name_after),
            *(change.path, change.path_after, change.launch),
        )
        known = table.get(key)
        if known is None:
            table[key] = change
            continue
        table[key] = replace(
            known,
            before=known.before + change.before,
            after=known.after + change.after,
            time_before_ns=(known.time_before_ns or 0) + (change.time_before_ns or 0),
            time_after_ns=(known.time_after_ns or 0) + (change.time_after_ns or 0),
            bytes=known.bytes if known.bytes == change.bytes else None,
        )
    return list(table.values())
