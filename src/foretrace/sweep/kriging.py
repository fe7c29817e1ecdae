"""Estimate a value between measured points, and how far off the estimate may be.

Ordinary kriging: neighboring points are alike, the more so the nearer they are; how alike is read off the points
themselves, by leaving out each in turn and looking at how far its own estimate would have been off.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erf, sqrt
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Estimate", "estimate"]

_REACH: Final = 4.0  # in doublings: beyond this distance two points say little about each other
_LEAST_SPREAD: Final = 0.02  # of values that are all alike: a neighbor may still differ by so much
_FEWEST: Final = 3  # points from which leaving one out says anything


@dataclass(frozen=True)
class Estimate:
    """A value that was not measured."""

    mean: float
    sd: float
    """Standard deviation: two times out of three the value lies within it."""

    def above(self, threshold: float) -> float:
        """The probability that the value is above a threshold."""
        if self.sd <= 0:
            return float(self.mean > threshold)
        return 0.5 * (1 + erf((self.mean - threshold) / (self.sd * sqrt(2))))


def estimate(
    points: NDArray[np.float64], values: NDArray[np.float64], at: NDArray[np.float64], noise: float
) -> Estimate:
    """The value at ``at`` from the values at ``points`` (a row each).

    ``noise`` is the standard deviation of each value by itself. There must be at least one point.
    """
    number = len(values)
    scale = max(float(np.std(values)), _LEAST_SPREAD)
    nugget = (max(noise, 1e-4) / scale) ** 2
    likeness = _likeness(points, points) + nugget * np.eye(number)
    inverse = np.linalg.inv(likeness)
    toward = _likeness(at[None], points)[0]
    ones = np.ones(number)
    total = float(ones @ inverse @ ones)
    level = float(ones @ inverse @ values) / total
    weights = inverse @ toward
    mean = level + float(weights @ (values - level))
    # The last part is for the level, which is itself estimated.
    variance = 1 + nugget - float(toward @ weights) + (1 - float(ones @ weights)) ** 2 / total
    if number >= _FEWEST:
        # Each value's own estimate from the others, in closed form.
        diagonal = np.diag(inverse)
        off = (inverse @ (values - level)) / diagonal
        scale = max(_LEAST_SPREAD, sqrt(float(np.mean(off**2 * diagonal))))
    return Estimate(mean, scale * sqrt(max(variance, 0.0)))


def _likeness(some: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.float64]:
    """Matern's function of the distance: smooth enough for times, and no smoother."""
    far = np.sqrt(3) / _REACH * np.linalg.norm(some[:, None, :] - others[None, :, :], axis=2)
    found: NDArray[np.float64] = (1 + far) * np.exp(-far)
    return found
