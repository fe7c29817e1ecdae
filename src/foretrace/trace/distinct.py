"""Sets of numbers as ascending columns.

``np.unique`` without further questions, and what is made with it (``np.union1d``, ``np.isin``), loads numpy's masked
arrays first, a tenth of the time that reading a small trace takes; and it hashes, which is slow for many numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Number = TypeVar("Number", bound=np.generic)

__all__ = ["both", "distinct", "either", "is_among", "without"]


def distinct(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Each value once, ascending."""
    # Columns are mostly in runs, which a stable sort merges.
    ordered = np.sort(values, axis=None, kind="stable")
    fresh = np.ones(len(ordered), bool)
    fresh[1:] = ordered[1:] != ordered[:-1]
    return ordered[fresh]


def is_among(values: npt.NDArray[Number], others: npt.NDArray[Number] | Sequence[int]) -> npt.NDArray[np.bool_]:
    """Which of the values are among the others."""
    if not len(others):
        return np.zeros(len(values), bool)
    ordered = np.sort(others, kind="stable")
    at = np.searchsorted(ordered, values)
    result: npt.NDArray[np.bool_] = ordered[np.minimum(at, len(ordered) - 1)] == values
    return result


def either(one: npt.NDArray[Number], other: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """What is in one of two columns or in both."""
    return distinct(np.concatenate((one, other)))


def both(one: npt.NDArray[Number], other: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """What is in both of two columns."""
    return distinct(one[is_among(one, other)])


def without(one: npt.NDArray[Number], other: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """What is in one column and not in the other."""
    return distinct(one[~is_among(one, other)])
