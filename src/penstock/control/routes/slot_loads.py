"""The load of each slot, smoothed over control steps: one step has few tuples of most slots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from penstock.control.control_step import ControlStep
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration

Floats = npt.NDArray[np.float64]
_PACE = 0.3
_LEAST = 1e-9  # how a load is spread stays known below that


class SlotLoads:
    """Seconds of work in a second by slot of each element that goes by key."""

    def __init__(self) -> None:
        self._by_element: dict[str, Floats] = {}

    def learn(self, observed: Sequence[Observation], period_s: float) -> dict[str, tuple[float, ...]]:
        """Takes the micro-batches of a step in, and gives seconds of work by slot for a step of that length.

        An element without tuples, or one whose tuples were not counted by slot, keeps what is known of it: its routes
        must not change for a quiet moment.
        """
        work_s = _work_s(observed)
        for element, known in self._by_element.items():
            if element not in work_s and known.max() > _LEAST and not _has_tuples(element, observed):
                self._by_element[element] = (1 - _PACE) * known
        for element, own_s in work_s.items():
            before, loads = self._by_element.get(element), own_s / period_s
            if before is not None and len(before) == len(loads):
                loads = before + _PACE * (loads - before)
            self._by_element[element] = loads
        return {element: tuple((loads * period_s).tolist()) for element, loads in self._by_element.items()}


def _has_tuples(element: str, observed: Sequence[Observation]) -> bool:
    return any(r.tuples_in for o in observed for r in o.replicas_by_element.get(element, ()))


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


def work_by_slot(step: ControlStep, configuration: Configuration) -> dict[str, tuple[float, ...]]:
    """Seconds of work in a step by slot, of elements without a route in one figure; none where slots are not known.

    Of slots that are spread over all replicas, every slot has a like part.
    """
    found: dict[str, tuple[float, ...]] = {}
    settings = {own.name: own for own in configuration.elements}
    for own in (element for element in step.elements if element.name in settings):
        route, spread = settings[own.name].route, set(settings[own.name].split)
        if not route:
            found[own.name] = (own.busy_s,)
        elif len(own.load_by_slot) == len(route) and sum(own.load_by_slot) > 0:
            scale = own.busy_s / sum(own.load_by_slot)
            part = scale * sum(own.load_by_slot[slot] for slot in spread) / len(route)
            found[own.name] = tuple(
                part + (0.0 if slot in spread else scale * load) for slot, load in enumerate(own.load_by_slot)
            )
    return found
