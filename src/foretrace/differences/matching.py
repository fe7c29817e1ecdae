"""Which site of one trace is which of the other: the same, else moved, else under another name.

Sites are told to be the same in passes, from equal in everything to alike in what they do. Each pass looks only at
what the ones before it left, and pairs in the order of launch.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from foretrace.differences.side import Place

__all__ = ["Match", "Pair", "match"]

# What stands for one thing in a step, so that a kernel of the role in one trace is the one in the other although it
# has another name and another op. Elementwise kernels and copies are not: one of them is as good as any other.
_TELLING: Final = frozenset(
    {
        "gemm",
        "convolution",
        "attention_forward",
        "attention_backward",
        "attention_decode",
        "softmax",
        "normalization",
        "communication",
        "optimizer",
    }
)


@dataclass(frozen=True)
class Pair:
    """Activities that are one thing in both traces."""

    before: Place
    after: Place
    amount: float
    """How many a step."""

    @property
    def moved(self) -> bool:
        """Launched from another place."""
        return self.before.path != self.after.path

    @property
    def renamed(self) -> bool:
        """Another kernel does it."""
        return self.before.key != self.after.key

    @property
    def relaunched(self) -> bool:
        """Launched by another runtime call."""
        return self.before.site.launch != self.after.site.launch

    @property
    def same(self) -> bool:
        """No structural difference; the shapes may differ."""
        return not (self.moved or self.renamed or self.relaunched)


@dataclass(frozen=True)
class Match:
    """What corresponds to what."""

    pairs: tuple[Pair, ...]
    gone: tuple[tuple[Place, float], ...]
    """What nothing in the other trace corresponds to, and how many of it a step."""
    new: tuple[tuple[Place, float], ...]


def match(before: Sequence[Place], after: Sequence[Place]) -> Match:
    """Pair the sites of two traces."""
    sides = [[_Rest(place, place.site.count.value) for place in places] for places in (before, after)]
    pairs: list[Pair] = []
    for key in _PASSES:
        groups: dict[Hashable, tuple[list[_Rest], list[_Rest]]] = defaultdict(lambda: ([], []))
        for at, side in enumerate(sides):
            for rest in side:
                found = key(rest.place) if rest.left else None
                if found is not None:
                    groups[found][at].append(rest)
        for ours, theirs in groups.values():
            pairs.extend(_pair(ours, theirs))
    gone, new = (tuple((rest.place, rest.left) for rest in side if rest.left) for side in sides)
    return Match(tuple(pairs), gone, new)


@dataclass
class _Rest:
    """A site, and how many of it are not paired yet."""

    place: Place
    left: float


def _pair(ours: Sequence[_Rest], theirs: Sequence[_Rest]) -> Iterator[Pair]:
    """Pair the sites of one group, first with first, as many as both have."""
    waiting = iter(theirs)
    there = next(waiting, None)
    for here in ours:
        while there is not None and here.left:
            amount = min(here.left, there.left)
            if _alike(here.place, there.place):
                # A number that varies from step to step is the same where the ranges meet.
                amount = max(here.left, there.left)
            yield Pair(here.place, there.place, amount)
            here.left = max(0, here.left - amount)
            there.left = max(0, there.left - amount)
            if not there.left:
                there = next(waiting, None)
        if there is None:
            return


def _alike(before: Place, after: Place) -> bool:
    ours, theirs = before.site.count, after.site.count
    return (ours.varies or theirs.varies) and ours.min <= theirs.max and theirs.min <= ours.max


def _moved_copy(place: Place) -> Hashable:
    """A copy or fill is the same one elsewhere only if it moves as many bytes."""
    site = place.site
    return None if site.kind == "kernel" or site.bytes is None else (site.kind, place.key, site.bytes)


def _kernel(*parts: Callable[[Place], Hashable]) -> Callable[[Place], Hashable]:
    def key(place: Place) -> Hashable:
        return tuple(part(place) for part in parts) if place.site.kind == "kernel" else None

    return key


def _any(*parts: Callable[[Place], Hashable]) -> Callable[[Place], Hashable]:
    return lambda place: (place.site.kind, *(part(place) for part in parts))


def _role_in_op(place: Place) -> Hashable:
    """Under one op, a kernel of the same role; outside ops, every kernel that stands for one thing."""
    return place.role if place.site.in_op or place.role in _TELLING else place.key


def _name(place: Place) -> Hashable:
    return place.key


def _path(place: Place) -> Hashable:
    return place.path


def _shapes(place: Place) -> Hashable:
    return place.site.shapes


def _launch(place: Place) -> Hashable:
    return place.site.launch


def _op(place: Place) -> Hashable:
    return place.op


def _role(place: Place) -> Hashable:
    return place.role


def _telling_role(place: Place) -> Hashable:
    return place.role if place.role in _TELLING else None


_PASSES: Final[tuple[Callable[[Place], Hashable], ...]] = (
    _any(_name, _path, _shapes, _launch),
    _any(_name, _path, _launch),
    _any(_name, _path),
    _kernel(_name, _op, _shapes),
    _kernel(_role_in_op, _path, _shapes),
    _kernel(_role_in_op, _path),
    _kernel(_name, _op),
    _kernel(_name),
    lambda place: (place.op, key) if (key := _moved_copy(place)) is not None else None,
    _moved_copy,
    _kernel(_role, _op),
    lambda place: role if (role := _telling_role(place)) is not None and place.site.kind == "kernel" else None,
)
