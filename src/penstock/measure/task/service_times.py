"""Service times of tuples, from the times of their blocks."""

from __future__ import annotations


class ServiceTimes:
    """Sums over blocks: tuples k, seconds T, and T^2 / k."""

    __slots__ = ("_squares", "blocks", "seconds", "tuples")

    def __init__(self) -> None:
        self.blocks = self.tuples = 0
        self.seconds = self._squares = 0.0

    def add(self, tuples: int, elapsed_ns: int) -> None:
        """A block was taken through all operators, and timed."""
        self.blocks += 1
        if tuples:
            seconds = elapsed_ns * 1e-9
            self.tuples += tuples
            self.seconds += seconds
            self._squares += seconds * seconds / tuples

    @property
    def variance_s2(self) -> float | None:
        """The variance of one tuple's service time, None below two blocks.

        A block of k independent tuples of mean m and variance v takes T with mean k m and variance k v, so that v is
        the mean of (T - k m)^2 / k; with m = sum T / sum k the squares sum to (sum T^2 / k) - m sum T.
        """
        if self.blocks < 2 or not self.tuples:
            return None
        mean_s = self.seconds / self.tuples
        return max(0.0, self._squares - mean_s * self.seconds) / (self.blocks - 1)
