"""The load of each slot, smoothed over control steps: one step has few tuples of most slots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from penstock.measure.observation import Observation

Floats = npt.NDArray[np.float64]
_PACE = 0.3


class SlotLoads:
    """Seconds of work in a second by slot of each element that goes by key."""

    def __init__(self) -> None:
        self._by_element: dict[str, Floats] = {}

    def learn(self, observed: Sequence[Observation], period_s: float) -> dict[str, tuple[float, ...]]:
        """Takes the micro-batches of a step in, and gives seconds of work by slot for a step of that length."""
        found = {}
        for element, work_s in _work_s(observed).items():
            known = self._by_element.get(element)
            loads = work_s / period_s
            if known is not None and len(known) == len(loads):
                loads = known + _PACE * (loads - known)
            self._by_element[element] = loads
            found[element] = tuple((loads * period_s).tolist())
        return found


def _work_s(observed: Sequence[Observation]) -> dict[str, Floats]:
    """Of each micro-batch: a slot's tuples at its element's mean cost."""
    found: dict[str, Floats] = {}
    for observation in observed:
        for name, counts in observation.slot_tuples_by_element.items():
            tuples, busy_s = sum(counts), sum(r.busy_s for r in observation.replicas_by_element.get(name, ()))
            before = found.get(name)
            if tuples and (before is None or len(before) == len(counts)):
                own = np.asarray(counts, np.float64) * (busy_s / tuples)
                found[name] = own if before is None else before + own
    return found
