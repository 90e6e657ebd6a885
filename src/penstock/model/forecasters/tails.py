"""How errors of forecasts are spread: as they were so far, and before any were seen as those of loads that jump."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Seven pieces of a distribution, finer where goals break: the probability of each.
CHANCES = np.array([0.5, 0.3413, 0.0919, 0.0441, 0.0166, 0.0046, 0.0015])
# Means of these pieces: of Student's t with four degrees of freedom, its variance brought to 1.
ASSUMED = np.array([-0.718, 0.357, 1.030, 1.609, 2.419, 3.605, 6.169])
_EDGES = np.concatenate([[0.0], np.cumsum(CHANCES)])
_EDGES[-1] = 1.0


@dataclass(frozen=True, slots=True)
class Tails:
    """The last `most` errors, in standard errors as they were known before; above 0 where more came than forecast.

    One error counts at most as `highest`; what is assumed counts as much as `assumed` of them.
    """

    most: int = 300
    highest: float = 8.0
    assumed: float = 60.0
    errors: tuple[float, ...] = ()

    def learn(self, error: float) -> Tails:
        bounded = min(max(error, -self.highest), self.highest)
        return replace(self, errors=(*self.errors, bounded)[-self.most :])

    def pieces(self) -> Floats:
        """The mean error of each piece, in standard errors.

        >>> [float(x) for x in Tails().pieces()] == [float(x) for x in ASSUMED]
        True
        """
        number = len(self.errors)
        if not number:
            return ASSUMED
        return (self.assumed * ASSUMED + number * piece_means(np.array(self.errors))) / (self.assumed + number)


def piece_means(values: Floats) -> Floats:
    """The means of the seven pieces of a sample; a value may lie in two of them."""
    sums = np.concatenate([[0.0], np.cumsum(np.sort(values))])
    below = np.interp(_EDGES * len(values), np.arange(len(sums)), sums)
    return np.asarray(np.diff(below) / (np.diff(_EDGES) * len(values)))
