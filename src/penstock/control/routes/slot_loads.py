"""The load of each slot, smoothed over control steps: one step has few tuples of most slots."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from penstock.control.control_step import ControlStep
from penstock.control.routes.slot_costs import SlotCosts
from penstock.measure.observation import Observation
from penstock.plan.configuration import Configuration

Floats = npt.NDArray[np.float64]
_PACE = 0.3
_LEAST = 1e-9  # how a load is spread stays known below that


class SlotLoads:
    """Seconds of work in a second by slot of each element that goes by key."""

    def __init__(self) -> None:
        self._by_element: dict[str, Floats] = {}
        self._costs: dict[str, SlotCosts] = {}

    def learn(
        self, observed: Sequence[Observation], period_s: float, configurations: Sequence[Configuration] = ()
    ) -> dict[str, tuple[float, ...]]:
        """Takes the micro-batches of a step in, and gives seconds of work by slot for a step of that length.

        `configurations` are those of the micro-batches: what a slot costs is learned from the replicas that served it;
        without them, all tuples of an element cost the same.  An element without tuples, or one whose tuples were not
        counted by slot, keeps what is known of it: its routes must not change for a pause.
        """
        for observation, configuration in zip(observed, configurations, strict=False):
            self._learn_costs(observation, configuration)
        work_s = self._work_s(observed)
        for element, known in self._by_element.items():
            if element not in work_s and known.max() > _LEAST and not _has_tuples(element, observed):
                self._by_element[element] = (1 - _PACE) * known
        for element, own_s in work_s.items():
            before, loads = self._by_element.get(element), own_s / period_s
            if before is not None and len(before) == len(loads):
                loads = before + _PACE * (loads - before)
            self._by_element[element] = loads
        return {element: tuple((loads * period_s).tolist()) for element, loads in self._by_element.items()}

    def _learn_costs(self, observation: Observation, configuration: Configuration) -> None:
        settings = {own.name: own for own in configuration.elements}
        for name, counts in observation.slot_tuples_by_element.items():
            if name in observation.slot_cpu_us_by_element:
                self._costs_of(name, len(counts)).learn_timed(counts, observation.slot_cpu_us_by_element[name])
            elif name in settings:
                self._costs_of(name, len(counts)).learn(
                    counts, settings[name], observation.replicas_by_element.get(name, ())
                )

    def _costs_of(self, element: str, slots: int) -> SlotCosts:
        known = self._costs.get(element)
        if known is None or len(known.weights) != slots:
            known = self._costs[element] = SlotCosts(slots)
        return known

    def _work_s(self, observed: Sequence[Observation]) -> dict[str, Floats]:
        """Of each micro-batch: a slot's tuples at what they cost."""
        found: dict[str, Floats] = {}
        for observation in observed:
            for name, counts in observation.slot_tuples_by_element.items():
                busy_s = sum(r.busy_s for r in observation.replicas_by_element.get(name, ()))
                before = found.get(name)
                if sum(counts) and (before is None or len(before) == len(counts)):
                    own = busy_s * self._costs_of(name, len(counts)).shares(counts)
                    found[name] = own if before is None else before + own
        return found


def _has_tuples(element: str, observed: Sequence[Observation]) -> bool:
    return any(r.tuples_in for o in observed for r in o.replicas_by_element.get(element, ()))


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
