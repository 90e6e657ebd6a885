"""A share of all CPU that something costly and rare may spend."""

from __future__ import annotations


class Allowance:
    """Saves up `budget_ratio` of the work until it pays for once more, at the lowest price so far.

    The first `warm_up` times are free: they cost far more than later ones, as everything does then.
    """

    def __init__(self, budget_ratio: float = 0.001, warm_up: int = 0) -> None:
        self._budget_ratio, self._warm_up = budget_ratio, warm_up
        self._saved_s = 0.0
        self._price_s: float | None = None

    def is_enough(self, work_s: float) -> bool:
        """Puts the share of some more work by, and tells whether there is enough now."""
        self._saved_s += self._budget_ratio * work_s
        return self._warm_up > 0 or self._price_s is None or self._saved_s >= self._price_s

    def spend(self, cost_s: float) -> None:
        self._price_s = cost_s if self._price_s is None else min(self._price_s, cost_s)
        self._saved_s = 0.0 if self._warm_up > 0 else self._saved_s - cost_s
        self._warm_up -= 1
