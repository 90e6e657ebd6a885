"""Where chance comes from in simulated micro-batches: one stream of draws, or one for each moment."""

from __future__ import annotations

import zlib

import numpy as np

from penstock.simulate.events.kernel.random_draws import stream_seed

_USES = ("noise", "service", "stragglers", "selectivity", "batch")


class Chances:
    """Draws of a seed.

    `by_moment`: what befalls a task follows from the second in which its stage begins, which of that second's stages it
    is, and its number.  So policies that are compared meet the same slow tasks, though their micro-batches differ.

    >>> Chances(1).of("noise").random() == Chances(1).of("noise").random()
    True
    """

    def __init__(self, seed: int, *, by_moment: bool = False) -> None:
        self._seed, self._by_moment = stream_seed(seed, "tasks", "micro_batch"), by_moment
        self._one = np.random.default_rng(self._seed)
        self._stages: dict[str, tuple[int, int]] = {}
        self._key: tuple[int, int, int] = (0, 0, 0)

    def begin(self, element: str, at_s: float) -> None:
        """The tasks of a stage are drawn next."""
        if not self._by_moment:
            return
        second, (before, count) = int(at_s), self._stages.get(element, (-1, 0))
        self._stages[element] = (second, count + 1 if second == before else 0)
        self._key = (zlib.crc32(element.encode()), *self._stages[element])

    def of(self, use: str) -> np.random.Generator:
        """The draws for one use, a number for each task."""
        if not self._by_moment:
            return self._one
        return np.random.default_rng((self._seed, _USES.index(use), *self._key))
