"""Compare two folders of recordings: each variant that both hold, by its name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foretrace._version import __version__
from foretrace.capture.recording import read_recording
from foretrace.differences.compare import Difference, diff
from foretrace.errors import ForetraceError, MissingDataError
from foretrace.trace.load import load_trace
from foretrace.units import count_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from foretrace.trace.model import Trace

__all__ = ["FolderDifference", "VariantDifference", "diff_folders"]


@dataclass(frozen=True)
class VariantDifference:
    """One variant, before and after."""

    variant: str
    difference: Difference | None
    """None where one of its traces could not be read."""
    problem: str | None = None
    """Why not."""

    def to_json(self) -> dict[str, Any]:
        """The keys of ``variants[]``: those of a comparison, and the variant."""
        content = self.difference.to_json() if self.difference is not None else {}
        content.pop("schema", None)
        content.pop("foretrace", None)
        return {"variant": self.variant, "problem": self.problem, **content}


@dataclass(frozen=True)
class FolderDifference:
    """Two folders of recordings, compared."""

    variants: tuple[VariantDifference, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]

    @property
    def structure_changed(self) -> bool:
        """The structure of some variant changed, or variants came or went."""
        return bool(self.only_before or self.only_after) or any(
            one.difference is not None and one.difference.structure_changed for one in self.variants
        )

    @property
    def times_changed(self) -> bool:
        """Some time of some variant changed by more than noise."""
        return any(one.difference is not None and one.difference.times_changed for one in self.variants)

    @property
    def unread(self) -> tuple[VariantDifference, ...]:
        """The variants that could not be compared, so that nothing is known of them."""
        return tuple(one for one in self.variants if one.difference is None)

    @property
    def same(self) -> bool:
        """Nothing changed, and everything could be compared."""
        if self.only_before or self.only_after:
            return False
        return all(one.difference is not None and one.difference.same for one in self.variants)

    @property
    def summary(self) -> str:
        """How many variants changed, came, went, or could not be compared."""
        known = [one.difference for one in self.variants if one.difference is not None]
        if self.same:
            return f"No change in {count_text(len(known), 'variant')}."
        sentences = []
        if known:
            structure = sum(one.structure_changed for one in known)
            times = sum(one.times_changed for one in known)
            both = " that both hold" if self.only_before or self.only_after else ""
            sentences.append(
                f"Of {count_text(len(known), 'variant')}{both}, {structure or 'none'} changed in structure and "
                f"{times or 'none'} in time beyond noise."
            )
        for names, word in ((self.only_before, "gone"), (self.only_after, "new")):
            if names:
                sentences.append(f"{count_text(len(names), 'variant is', 'variants are')} {word}.")
        if self.unread:
            sentences.append(f"{count_text(len(self.unread), 'variant')} could not be compared.")
        return " ".join(sentences)

    def to_json(self) -> dict[str, Any]:
        """The JSON of ``diff`` for folders."""
        return {
            "schema": 1,
            "foretrace": __version__,
            "same": self.same,
            "variants": [one.to_json() for one in self.variants],
            "only_before": list(self.only_before),
            "only_after": list(self.only_after),
            "summary": self.summary,
        }


def diff_folders(
    before: Path,
    after: Path,
    *,
    load: Callable[[Path], Trace] = load_trace,
    progress: Callable[[str, int, int], None] | None = None,
) -> FolderDifference:
    """Compare the variants that both folders hold; of two folders with one trace each, those two.

    ``load`` reads a trace; ``progress`` is told (variant, number, how many).

    Raises:
        MissingDataError: a folder holds no traces, or they have no variant in common.
        TraceFormatError: a folder's ``attention.json`` is damaged.
    """
    ours, theirs = _traces(before), _traces(after)
    if len(ours) == len(theirs) == 1:
        theirs = dict(zip(ours, theirs.values(), strict=True))
    common = [variant for variant in ours if variant in theirs]
    if not common:
        raise MissingDataError(
            f"{before} and {after} have no variant in common: {_some(ours)} against {_some(theirs)}; "
            "compare two files, or name the traces alike."
        )
    found = []
    for at, variant in enumerate(common):
        if progress is not None:
            progress(variant, at, len(common))
        try:
            difference = diff(load(ours[variant]), load(theirs[variant]))
            found.append(VariantDifference(variant, difference))
        except ForetraceError as error:
            found.append(VariantDifference(variant, None, str(error)))
    return FolderDifference(
        variants=tuple(found),
        only_before=tuple(variant for variant in ours if variant not in theirs),
        only_after=tuple(variant for variant in theirs if variant not in ours),
    )


def _traces(folder: Path) -> dict[str, Path]:
    """Variant -> its trace, in the folder's order."""
    try:
        recording = read_recording(folder)
    except MissingDataError as error:
        raise MissingDataError(
            f"{folder} holds no traces to compare; give a folder of .json or .json.gz traces."
        ) from error
    return {record.variant: folder / record.trace for record in recording.variants if record.trace is not None}


def _some(names: dict[str, Path]) -> str:
    shown = list(names)[:4]
    return ", ".join(shown) + (", ..." if len(names) > len(shown) else "")
